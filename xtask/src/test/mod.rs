//! `cargo xtask test`: every check, then the guest suite on every kernel, then one line of totals.

pub mod exactness;
mod guests;
mod site;
pub mod speech;
mod steps;
pub mod table;

use std::num::NonZeroUsize;
use std::thread;
use std::time::Instant;

use anyhow::Result;

use crate::artifacts::{self, Profile};
use crate::cli;
use crate::kernels;
use crate::setup::{self, Purpose};
use exactness::Record;
use guests::Found;
use steps::Checks;
use table::Verdict;

/// The step that has a guest and a browser.
const PAGE: &str = "the page of a guest in Chromium";

/// Runs what `arguments` ask for and returns the exit status: 0 when nothing failed.
///
/// # Errors
/// A kernel is not in the matrix, or set-up fails.
pub fn run(arguments: &cli::Test) -> Result<u8> {
    let eras = guests::select(&arguments.kernel)?;
    setup::ensure(&[Purpose::Bpf, Purpose::BpfLints, Purpose::Terminal])?;
    let mut checks = Checks::default();
    if arguments.filter.is_none() {
        steps::run(arguments.quick, &mut checks);
        site::run(&mut checks);
    }
    if !arguments.quick {
        let found = in_guests(arguments, &eras, &mut checks);
        checks.totals.add(found.table.totals());
        conclude(arguments, &found.record, &eras, &mut checks);
        println!("\n{}", found.table.render());
    }
    if !checks.failed.is_empty() {
        println!("failed steps: {}\n", checks.failed.join("; "));
    }
    println!("{}", checks.totals.line());
    Ok(u8::from(checks.totals.failed > 0))
}

/// Builds what guests run and runs it; without a build there is nothing to run.
fn in_guests(arguments: &cli::Test, eras: &[&'static str], checks: &mut Checks) -> Found {
    let mut built = None;
    checks.step("build for the guests", || {
        setup::ensure(&[Purpose::Guests])?;
        let binaries = artifacts::build_binaries(Profile::Guest)?;
        built = Some((binaries, artifacts::build_guest_suite(Profile::Guest)?));
        Ok(Verdict::Passed)
    });
    let Some((binaries, program)) = built else {
        return Found::default();
    };
    if arguments
        .filter
        .as_deref()
        .map_or(eras.contains(&kernels::DEFAULT), |words| {
            words.split(',').any(|word| PAGE.contains(word))
        })
    {
        checks.step(PAGE, || site::of_a_guest(&binaries));
    }
    let jobs = arguments
        .jobs
        .or_else(|| thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    let plan = guests::Plan {
        binaries: &binaries,
        program,
        filter: arguments.filter.as_deref(),
        jobs,
    };
    let mut found = Found::default();
    let started = Instant::now();
    checks.step(&format!("guests, {jobs} at once"), || {
        found = guests::run(&plan, eras)?;
        Ok(Verdict::Passed)
    });
    println!(
        "   guests took {:.1} min",
        started.elapsed().as_secs_f64() / 60.0
    );
    found
}

/// Compares how exact the counts are with what is on record, wherever that was found out.
fn conclude(arguments: &cli::Test, record: &Record, eras: &[&'static str], checks: &mut Checks) {
    let eras: Vec<_> = match &arguments.filter {
        None => eras.to_vec(),
        Some(_) => eras
            .iter()
            .copied()
            .filter(|era| record.knows(era))
            .collect(),
    };
    if !eras.is_empty() {
        checks.step("how exact the counts are", || {
            exactness::conclude(record, &eras, arguments.bless)
        });
    }
}
