//! The checks that need no guest: format, lints, unit tests.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::exactness;
use super::speech;
use super::table::{Totals, Verdict};
use crate::artifacts::{self, Profile};
use crate::process;
use crate::setup::{self, Purpose};

/// What the checks have come to so far.
#[derive(Default)]
pub(super) struct Checks {
    /// How many ended how; each unit test is one.
    pub(super) totals: Totals,
    /// Names of the steps that failed.
    pub(super) failed: Vec<String>,
}

impl Checks {
    /// Runs `work`, says how it went and how long it took, and counts it.
    pub(super) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<Verdict>) {
        let mut counted = Totals::default();
        counted.count(&self.announce(name, work));
        self.totals.add(counted);
    }

    /// As [`step`](Self::step), without counting.
    fn announce(&mut self, name: &str, work: impl FnOnce() -> Result<Verdict>) -> Verdict {
        println!("── {name}");
        let started = Instant::now();
        let verdict = work().unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")));
        let seconds = started.elapsed().as_secs_f64();
        match &verdict {
            Verdict::Passed => println!("   ok, {seconds:.1} s"),
            Verdict::Skipped(reason) => println!("   skipped: {reason}"),
            Verdict::Failed(reason) => {
                println!("   FAILED, {seconds:.1} s: {reason}");
                self.failed.push(name.to_owned());
            }
        }
        verdict
    }
}

/// Every check without a guest. Each runs whatever became of the others.
pub(super) fn run(quick: bool, checks: &mut Checks) {
    checks.step("format", || {
        check(process::cargo().args(["fmt", "--all", "--check"]))
    });
    checks.step("lints, host", || {
        let mut clippy = process::cargo();
        clippy.args(["clippy", "--quiet", "--workspace", "--all-targets"]);
        check(
            clippy
                .env_remove("MAPSTORM_BPF_DIR")
                .args(["--", "--deny", "warnings"]),
        )
    });
    checks.step("lints, BPF", lint_bpf);
    if !quick {
        checks.step("lints, daemon with its objects", lint_with_objects);
    }
    unit_tests(checks);
    checks.step("the README's table of limits", exactness::check_readme);
}

/// The daemon as it ships. Apart from the host's build, where it has only a stub: neither undoes
/// the other.
fn lint_with_objects() -> Result<Verdict> {
    // What runs in guests only is no test for cargo, so `--all-targets` leaves it out.
    let in_guests = ["--test", "guest", "--test", "overhead"];
    for targets in [&["--all-targets"][..], &in_guests] {
        let mut clippy = artifacts::static_cargo("clippy", Profile::Guest)?;
        clippy
            .args(["--quiet", "--package", "mapstorm"])
            .args(targets);
        check(clippy.args(["--", "--deny", "warnings"]))?;
    }
    Ok(Verdict::Passed)
}

fn check(command: &mut Command) -> Result<Verdict> {
    process::run(command).map(|()| Verdict::Passed)
}

fn lint_bpf() -> Result<Verdict> {
    let toolchain = setup::ensure(&[Purpose::Bpf, Purpose::BpfLints])?;
    if !toolchain.has_clippy() {
        let remedy = "rustup component add clippy";
        return Ok(Verdict::Skipped(format!(
            "{} has no clippy: {remedy}",
            toolchain.name
        )));
    }
    let mut clippy = toolchain.cargo("clippy")?;
    check(clippy.args(["--quiet", "--lib", "--bins", "--", "--deny", "warnings"]))
}

/// `cargo test`, each of its tests counted.
fn unit_tests(checks: &mut Checks) {
    let mut counted = Totals::default();
    let verdict = checks.announce("unit tests", || {
        let mut tests = process::cargo();
        tests.args(["test", "--quiet", "--workspace", "--no-fail-fast"]);
        tests
            .env_remove("MAPSTORM_BPF_DIR")
            .stderr(Stdio::inherit());
        let output = tests.output().context("cannot start cargo")?;
        let text = String::from_utf8_lossy(&output.stdout);
        counted = speech::cargo_totals(&text);
        if !output.status.success() {
            bail!("{}\n{}", process::line(&tests), text.trim());
        }
        println!("   {}", counted.line());
        Ok(Verdict::Passed)
    });
    if matches!(verdict, Verdict::Failed(_)) {
        // A build that fails has no test that failed, and is no pass.
        counted.failed = counted.failed.max(1);
    }
    checks.totals.add(counted);
}
