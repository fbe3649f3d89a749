//! What a suite in a guest has said so far, and whether that was all.

use anyhow::{Result, bail};

use crate::test::exactness::Cell;
use crate::test::speech::Said;
use crate::test::table::Verdict;
use crate::vm::Ending;

/// What a suite has said so far.
#[derive(Default)]
pub(super) struct Tally {
    /// Each test's result, in the order in which they ran.
    pub(super) results: Vec<(String, Verdict)>,
    end: Option<usize>,
    /// What it said of how exact the counts are.
    pub(super) cells: Vec<Cell>,
}

impl Tally {
    /// Notes what was said.
    pub(super) fn hear(&mut self, said: Said) {
        match said {
            Said::Test { name, verdict } => self.results.push((name, verdict)),
            Said::Exact(cell) => self.cells.push(cell),
            Said::End(count) => self.end = Some(count),
        }
    }

    /// Whether the suite came to its proper end after all of `expected` tests: no result may be
    /// missing unnoticed.
    pub(super) fn check(&self, ending: Ending, expected: usize) -> Result<()> {
        let tests = self.results.len();
        let failed = |(_, verdict): &&(String, Verdict)| matches!(verdict, Verdict::Failed(_));
        let failures = self.results.iter().filter(failed).count();
        match self.end {
            None => bail!("the suite ended early, {ending:?}, after {tests} of {expected} tests"),
            Some(count) if count != tests || count != expected => bail!(
                "the suite says it ran {count} tests, {tests} were heard, and it has {expected}"
            ),
            Some(_) if (failures == 0) != (ending == Ending::Exited(0)) => {
                bail!("{failures} tests failed, and yet the suite ended with {ending:?}")
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
        let said = lines.iter().filter_map(|line| Said::parse(line));
        said.for_each(|said| tally.hear(said));
        tally
    }

    #[test]
    fn a_missing_end_a_wrong_count_and_a_silent_failure_are_failures() {
        let (good, bad) = (Ending::Exited(0), Ending::Exited(1));
        let test = "mapstorm-test a ok";
        let one = [test, "mapstorm-test-end 1"];
        assert!(tally(&one).check(good, 1).is_ok());
        assert!(tally(&[test]).check(good, 1).is_err());
        assert!(
            tally(&[test, "mapstorm-test-end 2"])
                .check(good, 2)
                .is_err()
        );
        assert!(tally(&one).check(good, 2).is_err());
        assert!(tally(&one).check(bad, 1).is_err());
        let failed = ["mapstorm-test a failed: why", "mapstorm-test-end 1"];
        assert!(tally(&failed).check(bad, 1).is_ok());
        assert!(tally(&failed).check(good, 1).is_err());
    }
}
