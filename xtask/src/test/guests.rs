//! The guest suite on every kernel of the matrix, in as few boots as possible.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};

use super::speech::Said;
use super::table::{Table, Verdict};
use crate::artifacts::Binaries;
use crate::kernels::{self, catalog};
use crate::paths;
use crate::vm::{Cpus, Ending, Guest, GuestFile, Line};

/// A suite of the guest program, and the machine it wants.
struct Suite {
    /// What the program calls it.
    name: &'static str,
    /// The kernels it runs on; empty means all.
    kernels: &'static [&'static str],
    cpus: Cpus,
    /// Parameters for the kernel.
    append: &'static [&'static str],
}

/// Every boot of the matrix. A suite that wants another machine gets a line of its own.
const SUITES: [Suite; 4] = [
    DEFAULT,
    Suite {
        name: "possible_cpus",
        kernels: &["5.10", "6.12"],
        cpus: Cpus {
            online: 2,
            possible: 8,
        },
        ..DEFAULT
    },
    Suite {
        name: "lockdown",
        kernels: &["6.12"],
        append: &["lockdown=confidentiality"],
        ..DEFAULT
    },
    Suite {
        name: "attach",
        kernels: &["5.10", "6.12", "7.3"],
        cpus: Cpus::all_online(2),
        ..DEFAULT
    },
];

/// Everything that needs no machine of its own, on every kernel.
const DEFAULT: Suite = Suite {
    name: "default",
    kernels: &[],
    cpus: Cpus::all_online(4),
    append: &[],
};

/// The programs and wishes that all boots share.
pub(super) struct Plan<'a> {
    /// Static binaries.
    pub(super) binaries: &'a Binaries,
    /// The suite's own program.
    pub(super) program: PathBuf,
    /// Only tests whose names contain this.
    pub(super) filter: Option<&'a str>,
}

/// The kernels that `names` select from the matrix; all when nothing is said.
///
/// # Errors
/// A name is not in the matrix.
pub(super) fn select(names: &[String]) -> Result<Vec<&'static str>> {
    let all = catalog::ERAS.iter().map(|era| era.name);
    if let Some(name) = names.iter().find(|name| catalog::Era::find(name).is_none()) {
        bail!(
            "no kernel {name} in the matrix: give one of {}",
            catalog::names()
        );
    }
    Ok(all
        .filter(|era| names.is_empty() || names.iter().any(|name| name == era))
        .collect())
}

/// Runs every suite on each of `eras` and returns the results.
pub(super) fn run(plan: &Plan<'_>, eras: &[&'static str]) -> Table {
    let mut table = Table::default();
    for era in eras {
        for suite in &SUITES {
            if suite.kernels.is_empty() || suite.kernels.contains(era) {
                boot(plan, era, suite, &mut table);
            }
        }
    }
    table
}

/// One boot. That it ran to its end is a result, too.
fn boot(plan: &Plan<'_>, era: &str, suite: &Suite, table: &mut Table) {
    let log = paths::target()
        .join("guest-logs")
        .join(format!("{era}-{}.log", suite.name));
    println!(
        "── guest {era}, suite {} (console in {})",
        suite.name,
        log.display()
    );
    let started = Instant::now();
    let verdict = match converse(plan, era, suite, &log, table) {
        Ok(()) => Verdict::Passed,
        Err(error) => {
            println!("   FAILED: {error:#}");
            let text = format!("{error:#}");
            Verdict::Failed(text.lines().next().unwrap_or_default().to_owned())
        }
    };
    println!("   {:.1} s", started.elapsed().as_secs_f64());
    table.add(&format!("suite {}", suite.name), era, verdict);
}

/// Boots the guest and notes what the suite says.
fn converse(
    plan: &Plan<'_>,
    era: &str,
    suite: &Suite,
    log: &Path,
    table: &mut Table,
) -> Result<()> {
    let guest = Guest {
        cpus: suite.cpus,
        append: suite
            .append
            .iter()
            .map(|parameter| (*parameter).to_owned())
            .collect(),
        files: vec![
            GuestFile::program(plan.binaries.mapstorm(), "mapstorm"),
            GuestFile::program(plan.program.clone(), "guest-suite"),
        ],
        log: Some(log.to_path_buf()),
        ..Guest::new(kernels::resolve(era)?, plan.binaries.guest_init())
    };
    let mut command: Vec<String> = [
        "/bin/guest-suite",
        "--mapstorm",
        "/bin/mapstorm",
        "--suite",
        suite.name,
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(filter) = plan.filter {
        command.extend(["--filter".to_owned(), filter.to_owned()]);
    }
    let mut tally = Tally::default();
    let mut since = Instant::now();
    let ending = guest.run(&command, |line| {
        let Line::Command(text) = line else { return };
        if let Some(said) = Said::parse(text) {
            let seconds = since.elapsed().as_secs_f64();
            since = Instant::now();
            tally.hear(said, |name, verdict| {
                println!("   {:9} {name} ({seconds:.1} s)", word(&verdict));
                table.add(name, era, verdict);
            });
        }
    })?;
    tally.check(ending)
}

/// A verdict as one word.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "ok",
        Verdict::Failed(_) => "FAILED",
        Verdict::Skipped(_) => "skipped",
    }
}

/// What a suite has said so far.
#[derive(Default)]
struct Tally {
    tests: usize,
    failures: usize,
    end: Option<usize>,
}

impl Tally {
    /// Counts what was said and passes a test's result on.
    fn hear(&mut self, said: Said, mut on_test: impl FnMut(&str, Verdict)) {
        match said {
            Said::Test { name, verdict } => {
                self.tests += 1;
                self.failures += usize::from(matches!(verdict, Verdict::Failed(_)));
                on_test(&name, verdict);
            }
            Said::End(count) => self.end = Some(count),
        }
    }

    /// Whether the suite came to its proper end: no result may be missing unnoticed.
    fn check(&self, ending: Ending) -> Result<()> {
        match self.end {
            None => bail!(
                "the suite ended early, {ending:?}, after {} tests",
                self.tests
            ),
            Some(count) if count != self.tests => {
                bail!(
                    "the suite says it ran {count} tests, {} were heard",
                    self.tests
                )
            }
            Some(_) if self.failures == 0 && ending != Ending::Exited(0) => {
                bail!("no test failed, and yet the suite ended with {ending:?}")
            }
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        for said in lines.iter().filter_map(|line| Said::parse(line)) {
            tally.hear(said, |_, _| {});
        }
        tally
    }

    #[test]
    fn a_missing_end_a_wrong_count_and_a_silent_failure_are_failures() {
        let (good, bad) = (Ending::Exited(0), Ending::Exited(1));
        let test = "mapstorm-test a ok";
        assert!(tally(&[test, "mapstorm-test-end 1"]).check(good).is_ok());
        assert!(tally(&[test]).check(good).is_err());
        assert!(tally(&[test, "mapstorm-test-end 2"]).check(good).is_err());
        assert!(tally(&[test, "mapstorm-test-end 1"]).check(bad).is_err());
        let failed = "mapstorm-test a failed: why";
        assert!(tally(&[failed, "mapstorm-test-end 1"]).check(bad).is_ok());
    }

    #[test]
    fn kernels_are_selected_in_the_order_of_the_matrix() {
        assert_eq!(
            select(&["7.3".into(), "5.10".into()]).unwrap(),
            ["5.10", "7.3"]
        );
        assert_eq!(select(&[]).unwrap().len(), catalog::ERAS.len());
        assert!(select(&["4.4".into()]).is_err());
    }
}
