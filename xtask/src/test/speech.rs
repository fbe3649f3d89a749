//! What test programs say: the guest suite line by line, and cargo's test harness in its sums.

use super::exactness::Cell;
use super::table::{Totals, Verdict};

/// A line of the guest suite that means something.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// A test ended: `mapstorm-test NAME ok`, `… failed: REASON` or `… skipped: REASON`.
    Test {
        /// The test's name, one word.
        name: String,
        /// How it ended.
        verdict: Verdict,
    },
    /// How exact a count is: `mapstorm-exact MAP OPERATION SOURCE VERDICT`.
    Exact(Cell),
    /// The suite is complete: `mapstorm-test-end COUNT`.
    End(usize),
}

impl Said {
    /// The meaning of `line`; any other output has none.
    pub fn parse(line: &str) -> Option<Self> {
        if let Some(count) = line.strip_prefix("mapstorm-test-end ") {
            return count.trim().parse().ok().map(Self::End);
        }
        if let Some(cell) = line.strip_prefix("mapstorm-exact ") {
            return Cell::parse(cell).map(Self::Exact);
        }
        let (name, rest) = line.strip_prefix("mapstorm-test ")?.split_once(' ')?;
        let (word, reason) = rest.split_once(':').unwrap_or((rest, ""));
        let reason = reason.trim().to_owned();
        let verdict = match word.trim() {
            "ok" => Verdict::Passed,
            "failed" => Verdict::Failed(reason),
            "skipped" => Verdict::Skipped(reason),
            _ => return None,
        };
        Some(Self::Test {
            name: name.to_owned(),
            verdict,
        })
    }
}

/// The sum of all `test result:` lines in the output of `cargo test`.
pub fn cargo_totals(output: &str) -> Totals {
    let mut totals = Totals::default();
    for line in output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: "))
    {
        // `ok. 32 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`
        let count = |what: &str| -> usize {
            let words: Vec<&str> = line.split([' ', ';']).collect();
            let found = words.windows(2).find(|pair| pair.last() == Some(&what));
            found
                .and_then(|pair| pair.first()?.parse().ok())
                .unwrap_or(0)
        };
        totals.passed += count("passed");
        totals.failed += count("failed");
        totals.skipped += count("ignored");
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, verdict: Verdict) -> Option<Said> {
        Some(Said::Test {
            name: name.into(),
            verdict,
        })
    }

    #[test]
    fn lines_of_the_suite_are_understood() {
        assert_eq!(
            Said::parse("mapstorm-test exact ok"),
            test("exact", Verdict::Passed)
        );
        assert_eq!(
            Said::parse("mapstorm-test exact failed: pops: 3 of 4"),
            test("exact", Verdict::Failed("pops: 3 of 4".into()))
        );
        assert_eq!(
            Said::parse("mapstorm-test pop skipped: not traceable"),
            test("pop", Verdict::Skipped("not traceable".into()))
        );
        assert_eq!(Said::parse("mapstorm-test-end 3"), Some(Said::End(3)));
        let cell = "hash update program exact";
        assert_eq!(
            Said::parse(&format!("mapstorm-exact {cell}")),
            Cell::parse(cell).map(Said::Exact)
        );
    }

    #[test]
    fn other_output_means_nothing() {
        for line in [
            "",
            "mapstorm-test",
            "mapstorm-test x",
            "mapstorm-test x perhaps",
            "mapstorm-exact hash update",
            "x ok",
        ] {
            assert_eq!(Said::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn sums_of_cargo_are_added_up() {
        let output = "\
running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

test result: FAILED. 30 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
";
        assert_eq!(
            cargo_totals(output),
            Totals {
                passed: 32,
                failed: 2,
                skipped: 1
            }
        );
        assert_eq!(cargo_totals("error: could not compile"), Totals::default());
    }
}
