//! `cargo xtask test`: every check, then the guest suite on every kernel, then one line of totals.

mod guests;
pub mod speech;
mod steps;
pub mod table;

use anyhow::Result;

use crate::artifacts::{self, Profile};
use crate::cli;
use crate::setup::{self, Purpose};
use steps::Checks;
use table::{Table, Verdict};

/// Runs what `arguments` ask for and returns the exit status: 0 when nothing failed.
///
/// # Errors
/// A kernel is not in the matrix, or set-up fails.
pub fn run(arguments: &cli::Test) -> Result<u8> {
    let eras = guests::select(&arguments.kernel)?;
    setup::ensure(&[Purpose::Bpf, Purpose::BpfLints])?;
    let mut checks = Checks::default();
    if arguments.filter.is_none() {
        steps::run(arguments.quick, &mut checks);
    }
    if !arguments.quick {
        let table = in_guests(arguments.filter.as_deref(), &eras, &mut checks);
        checks.totals.add(table.totals());
        println!("\n{}", table.render());
    }
    if !checks.failed.is_empty() {
        println!("failed steps: {}\n", checks.failed.join("; "));
    }
    println!("{}", checks.totals.line());
    Ok(u8::from(checks.totals.failed > 0))
}

/// Builds what guests run and runs it; without a build there is nothing to run.
fn in_guests(filter: Option<&str>, eras: &[&'static str], checks: &mut Checks) -> Table {
    let mut built = None;
    checks.step("build for the guests", || {
        setup::ensure(&[Purpose::Guests])?;
        let binaries = artifacts::build_binaries(Profile::Guest)?;
        built = Some((binaries, artifacts::build_guest_suite(Profile::Guest)?));
        Ok(Verdict::Passed)
    });
    let Some((binaries, program)) = built else {
        return Table::default();
    };
    guests::run(
        &guests::Plan {
            binaries: &binaries,
            program,
            filter,
        },
        eras,
    )
}
