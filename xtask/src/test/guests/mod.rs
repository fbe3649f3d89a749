//! The guest suite on every kernel of the matrix, in as few boots as possible, as many of them at
//! once as there are processors.

mod boot;
mod pool;
mod suites;
mod tally;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::exactness::Record;
use super::table::Table;
use crate::artifacts::Binaries;
use crate::kernels::catalog;
use crate::process;
use boot::{Boot, Outcome};
use pool::Voice;
use suites::{SUITES, Suite};

/// The programs and wishes that all boots share.
pub(super) struct Plan<'a> {
    /// Static binaries.
    pub(super) binaries: &'a Binaries,
    /// The suite's own program.
    pub(super) program: PathBuf,
    /// Only tests whose names contain this.
    pub(super) filter: Option<&'a str>,
    /// Guests to run at once.
    pub(super) jobs: usize,
}

impl Plan<'_> {
    /// The words that choose a suite's tests.
    fn choice(&self, suite: &Suite) -> Vec<String> {
        let filter = self.filter.unwrap_or_default();
        ["--suite", suite.name, "--filter", filter]
            .map(str::to_owned)
            .to_vec()
    }

    /// How many tests there are of this choice: the suite's program is static, and tells it here as
    /// well as in a guest.
    fn tests(&self, suite: &Suite) -> Result<usize> {
        let mut list = Command::new(&self.program);
        list.args(self.choice(suite)).arg("--list");
        let names = process::capture(&mut list).context("the suite does not list its tests")?;
        Ok(names.lines().count())
    }
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

/// What all guests together found.
#[derive(Default)]
pub(super) struct Found {
    /// Every test's result.
    pub(super) table: Table,
    /// How exact the counts are.
    pub(super) record: Record,
}

/// Runs every suite that has tests on each of `eras` and returns the results, kernel by kernel.
///
/// # Errors
/// The suite's program cannot say what it has.
pub(super) fn run(plan: &Plan<'_>, eras: &[&'static str]) -> Result<Found> {
    let boots = boots(plan, eras)?;
    let wide = boots.iter().map(|boot| boot.name().chars().count()).max();
    let (begun, started) = (AtomicUsize::new(0), Instant::now());
    let outcomes = pool::run(plan.jobs, &boots, |_, boot| {
        let nth = begun.fetch_add(1, Ordering::Relaxed) + 1;
        let minutes = started.elapsed().as_secs_f64() / 60.0;
        let progress = format!("boot {nth} of {}, after {minutes:.1} min", boots.len());
        let voice = Voice::new(&boot.name(), wide.unwrap_or(0));
        boot.run(plan, &voice, &progress)
    });
    Ok(tabulate(&boots, outcomes, eras))
}

/// The boots in the order in which they begin.
fn boots(plan: &Plan<'_>, eras: &[&'static str]) -> Result<Vec<Boot>> {
    let mut boots = Vec::new();
    for suite in &SUITES {
        let tests = plan.tests(suite)?;
        let chosen = eras.iter().filter(|era| tests > 0 && suite.runs_on(era));
        boots.extend(chosen.map(|era| Boot { era, suite, tests }));
    }
    Ok(boots)
}

/// All results, kernel by kernel, and then how the suites themselves did.
fn tabulate(boots: &[Boot], outcomes: Vec<Outcome>, eras: &[&'static str]) -> Found {
    let mut ended: Vec<_> = boots.iter().zip(outcomes).collect();
    ended.sort_by_key(|(boot, _)| eras.iter().position(|era| *era == boot.era));
    let mut found = Found::default();
    for (boot, outcome) in &mut ended {
        for (test, verdict) in &outcome.said.results {
            found.table.add(test, boot.era, verdict.clone());
        }
        for cell in outcome.said.cells.drain(..) {
            found.record.add(boot.era, cell);
        }
    }
    for (boot, outcome) in ended {
        let suite = format!("suite {}", boot.suite.name);
        let (verdict, seconds) = (outcome.verdict, outcome.seconds);
        found.table.add_timed(&suite, boot.era, verdict, seconds);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::tally::Tally;
    use super::*;
    use crate::test::table::Verdict;

    #[test]
    fn kernels_are_selected_in_the_order_of_the_matrix() {
        assert_eq!(
            select(&["7.3".into(), "5.10".into()]).unwrap(),
            ["5.10", "7.3"]
        );
        assert_eq!(select(&[]).unwrap().len(), catalog::ERAS.len());
        assert!(select(&["4.4".into()]).is_err());
    }

    #[test]
    fn results_stand_kernel_by_kernel_whatever_the_order_of_the_boots() {
        let boot = |era, suite: usize| Boot {
            era,
            suite: &SUITES[suite],
            tests: 1,
        };
        let outcome = |test: &str, seconds| {
            let mut said = Tally::default();
            said.results.push((test.to_owned(), Verdict::Passed));
            let verdict = Verdict::Passed;
            Outcome {
                said,
                verdict,
                seconds,
            }
        };
        let boots = [boot("5.10", 0), boot("7.3", 0), boot("5.10", 1)];
        let outcomes = vec![outcome("a", 61.4), outcome("a", 2.0), outcome("b", 3.0)];
        let text = tabulate(&boots, outcomes, &["5.10", "7.3"]).table.render();
        let first: Vec<_> = text.lines().map(|line| line[..7].trim_end()).collect();
        assert_eq!(first, ["test", "a", "b", "suite d", "suite s"]);
        assert!(text.contains("✓ 61 s"), "{text}");
    }
}
