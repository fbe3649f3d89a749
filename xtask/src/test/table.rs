//! Results of the guest suite as a table: a row for each test, a column for each kernel.

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It held.
    Passed,
    /// It did not, for this reason.
    Failed(String),
    /// It does not apply there, for this reason.
    Skipped(String),
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Checks that held.
    pub passed: usize,
    /// Checks that did not.
    pub failed: usize,
    /// Checks that did not apply.
    pub skipped: usize,
}

impl Totals {
    /// Counts one more.
    pub fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(_) => self.skipped += 1,
        }
    }

    /// Adds what another count came to.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// The last line of a test run.
    pub fn line(self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// What one test did on one kernel.
struct Cell {
    test: String,
    kernel: String,
    verdict: Verdict,
    /// How long it took, where that is told.
    seconds: Option<f64>,
}

/// All results, in the order in which they came.
#[derive(Default)]
pub struct Table {
    cells: Vec<Cell>,
}

impl Table {
    /// Adds a result.
    pub fn add(&mut self, test: &str, kernel: &str, verdict: Verdict) {
        self.push(test, kernel, verdict, None);
    }

    /// Adds a result whose time is shown.
    pub fn add_timed(&mut self, test: &str, kernel: &str, verdict: Verdict, seconds: f64) {
        self.push(test, kernel, verdict, Some(seconds));
    }

    fn push(&mut self, test: &str, kernel: &str, verdict: Verdict, seconds: Option<f64>) {
        self.cells.push(Cell {
            test: test.to_owned(),
            kernel: kernel.to_owned(),
            verdict,
            seconds,
        });
    }

    /// How many results ended how.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.cells
            .iter()
            .for_each(|cell| totals.count(&cell.verdict));
        totals
    }

    /// The table, then the reasons of failures, then those of skips; nothing without results.
    pub fn render(&self) -> String {
        let mut text = self.grid();
        let reason = |cell: &Cell| match &cell.verdict {
            Verdict::Failed(reason) => Some((true, reason.clone())),
            Verdict::Skipped(reason) => Some((false, reason.clone())),
            Verdict::Passed => None,
        };
        for (is_failure, title) in [(true, "failed:"), (false, "skipped:")] {
            let mut title = Some(title);
            for cell in &self.cells {
                let Some((_, why)) = reason(cell).filter(|(failed, _)| *failed == is_failure)
                else {
                    continue;
                };
                if let Some(title) = title.take() {
                    text += &format!("\n{title}\n");
                }
                text += &format!("  {} on {}: {why}\n", cell.test, cell.kernel);
            }
        }
        text
    }

    fn grid(&self) -> String {
        let (tests, kernels) = (
            self.names(|cell| &cell.test),
            self.names(|cell| &cell.kernel),
        );
        let Some(wide) = tests.iter().map(|test| test.chars().count()).max() else {
            return String::new();
        };
        let row = |first: &str, cell: &dyn Fn(&str) -> String| {
            let cells = kernels
                .iter()
                .map(|kernel| format!("  {:^7}", cell(kernel)));
            format!("{first:wide$}{}", cells.collect::<String>())
                .trim_end()
                .to_owned()
                + "\n"
        };
        let mut text = row("test", &str::to_owned);
        text.extend(
            tests
                .iter()
                .map(|test| row(test, &|kernel| self.mark(test, kernel))),
        );
        text
    }

    /// The sign for one cell, and its time; a test that never ran there has none.
    fn mark(&self, test: &str, kernel: &str) -> String {
        let of_cell = |cell: &&Cell| cell.test == test && cell.kernel == kernel;
        let Some(cell) = self.cells.iter().find(of_cell) else {
            return String::new();
        };
        let sign = match cell.verdict {
            Verdict::Passed => "✓",
            Verdict::Failed(_) => "✗",
            Verdict::Skipped(_) => "–",
        };
        let time = cell.seconds.map(|seconds| format!(" {seconds:.0} s"));
        sign.to_owned() + time.as_deref().unwrap_or_default()
    }

    /// Different names in order of appearance.
    fn names<'a>(&'a self, of: impl Fn(&'a Cell) -> &'a String) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.cells.iter().map(|cell| of(cell).as_str()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_tests_columns_are_kernels_reasons_follow() {
        let mut table = Table::default();
        table.add("exact-pops", "5.10", Verdict::Passed);
        table.add("nested", "5.10", Verdict::Failed("3 of 4 seen".into()));
        table.add(
            "exact-pops",
            "7.3",
            Verdict::Skipped("freelist not traceable".into()),
        );
        table.add_timed("suite x", "7.3", Verdict::Passed, 207.6);
        let expected = "\
test         5.10      7.3
exact-pops     ✓        –
nested         ✗
suite x              ✓ 208 s

failed:
  nested on 5.10: 3 of 4 seen

skipped:
  exact-pops on 7.3: freelist not traceable
";
        assert_eq!(table.render(), expected);
        assert_eq!(table.totals().line(), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn no_results_make_no_table() {
        assert_eq!(Table::default().render(), "");
    }
}
