//! `bench overhead`: instructions per update without and with the daemon.
//!
//! The guest has one processor whose time counts instructions (`-icount shift=0`), so that a
//! nanosecond is an instruction and the same program gives the same number in every run, however
//! busy this machine is. It counts instructions and not time: locked operations, cache misses and
//! clock reads look cheap.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::artifacts::{self, Profile};
use crate::cli::BenchOverhead;
use crate::kernels;
use crate::vm::{Cpus, Guest, GuestFile, Line};

/// What begins a line of results.
const MARK: &str = "mapstorm-bench ";

/// One measurement, as the guest prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row {
    /// Release of the guest's kernel.
    kernel: String,
    /// What the loop does.
    case: String,
    /// Instructions per turn of the loop.
    instructions_without: f64,
    /// The same while the daemon watches.
    instructions_with: f64,
    /// The difference.
    instructions_added: f64,
}

/// Measures on each kernel and prints what was found.
///
/// # Errors
/// A build fails, or a guest ends without its measurements.
pub fn run(arguments: &BenchOverhead) -> Result<()> {
    let binaries = artifacts::build_binaries(Profile::Release)?;
    let program = artifacts::build_test("overhead", Profile::Release)?;
    for era in &arguments.kernel {
        let guest = Guest {
            cpus: Cpus::all_online(1),
            icount: true,
            files: vec![
                GuestFile::program(binaries.mapstorm(), "mapstorm"),
                GuestFile::program(program.clone(), "overhead"),
            ],
            ..Guest::new(kernels::resolve(era)?, binaries.guest_init())
        };
        let rows = measure(&guest, era)?;
        if arguments.json {
            for row in &rows {
                println!("{}", serde_json::to_string(row)?);
            }
        } else {
            print!("{}", table(&rows));
        }
    }
    Ok(())
}

/// Boots the guest and collects its measurements; all else it says goes to standard error.
fn measure(guest: &Guest, era: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut bad = None;
    let ending = guest.run(&["/bin/overhead".to_owned()], |line| {
        let Line::Command(text) = line else { return };
        match text.strip_prefix(MARK).map(serde_json::from_str) {
            Some(Ok(row)) => rows.push(row),
            Some(Err(error)) => bad = Some(format!("{error}: {text}")),
            None => eprintln!("{era}: {text}"),
        }
    })?;
    if let Some(bad) = bad {
        bail!("the guest {era} printed a measurement that cannot be read: {bad}");
    }
    if ending.code() != 0 || rows.is_empty() {
        bail!(
            "the guest {era} ended with status {} and {} measurements",
            ending.code(),
            rows.len()
        );
    }
    Ok(rows)
}

/// The measurements of one kernel as a table.
fn table(rows: &[Row]) -> String {
    let kernel = rows.first().map_or("", |row| row.kernel.as_str());
    let mut text = format!(
        "{kernel}: instructions per turn, one CPU, deterministic clock\n{:32} {:>9} {:>9} {:>9}\n",
        "", "without", "with", "added"
    );
    for row in rows {
        text += &format!(
            "{:32} {:>9.1} {:>9.1} {:>9.1}\n",
            row.case, row.instructions_without, row.instructions_with, row.instructions_added
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_its_kernel_and_shows_every_case() {
        let row = |case: &str| Row {
            kernel: "6.12.1".into(),
            case: case.into(),
            instructions_without: 375.0,
            instructions_with: 1371.5,
            instructions_added: 996.5,
        };
        let text = table(&[row("refused"), row("insert")]);
        assert!(text.starts_with("6.12.1:"), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.contains("996.5"), "{text}");
    }
}
