//! `bench compare`: two reports side by side, and whether what differs is more than noise.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{Better, CompareConfig, Measure, Report, stats::p_value};

/// Below this chance of being noise a difference is told to be one.
const SIGNIFICANT: f64 = 0.01;

/// Why two reports could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A file could not be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A file is no report.
    #[error(
        "{} is no report of a bench: {error}; make one with `mapstorm bench … --json > FILE`",
        path.display()
    )]
    NoReport {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// The reports are of different benches.
    #[error("{before} and {after} are different benches: there is nothing to compare")]
    Different {
        /// The one.
        before: String,
        /// The other.
        after: String,
    },
}

/// Two reports side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The bench.
    pub bench: String,
    /// Kernels of the two.
    pub kernels: [String; 2],
    /// Every measure that both have.
    pub rows: Vec<Row>,
    /// Measures that only one has, as `case: measure`.
    pub unmatched: Vec<String>,
    /// Is a measure worse by more than was to be borne, for certain?
    pub failed: bool,
}

/// One measure in both reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The case.
    pub case: String,
    /// The measure, and its unit.
    pub measure: String,
    /// Its unit.
    pub unit: String,
    /// Mean and standard deviation, earlier and later.
    pub before: [f64; 2],
    /// See `before`.
    pub after: [f64; 2],
    /// How many times the earlier mean the later is; `None` where the earlier is zero.
    pub ratio: Option<f64>,
    /// How likely so large a difference is by chance (Welch's t-test); `None` where a side has one sample only.
    pub p: Option<f64>,
    /// Better, worse, or nothing that can be told.
    pub verdict: Verdict,
    /// Is it worse by more than was to be borne, for certain?
    pub failed: bool,
}

/// What a difference comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// For certain.
    Better,
    /// For certain.
    Worse,
    /// It may be noise.
    Same,
}

/// Reads both reports and compares them.
///
/// # Errors
/// A file is no report, or they are of different benches.
pub fn compare(config: &CompareConfig) -> Result<Comparison, CompareError> {
    let (before, after) = (read(&config.before)?, read(&config.after)?);
    if before.bench != after.bench {
        return Err(CompareError::Different {
            before: before.bench,
            after: after.bench,
        });
    }
    Ok(side_by_side(&before, &after, config.fail_above))
}

fn read(path: &Path) -> Result<Report, CompareError> {
    let path = path.to_owned();
    match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| CompareError::NoReport { path, error })
        }
        Err(error) => Err(CompareError::Read { path, error }),
    }
}

fn side_by_side(before: &Report, after: &Report, fail_above: Option<f64>) -> Comparison {
    let (mut rows, mut unmatched) = (Vec::new(), Vec::new());
    for case in &before.cases {
        for measure in &case.measures {
            let later = after
                .case(&case.name)
                .and_then(|case| case.measure(&measure.name));
            match later {
                Some(later) => rows.push(Row::of(&case.name, measure, later, fail_above)),
                None => unmatched.push(format!("{}: {}", case.name, measure.name)),
            }
        }
    }
    for case in &after.cases {
        for measure in &case.measures {
            let earlier = before
                .case(&case.name)
                .and_then(|case| case.measure(&measure.name));
            if earlier.is_none() {
                unmatched.push(format!("{}: {}", case.name, measure.name));
            }
        }
    }
    Comparison {
        bench: before.bench.clone(),
        kernels: [before.kernel.clone(), after.kernel.clone()],
        failed: rows.iter().any(|row| row.failed),
        rows,
        unmatched,
    }
}

impl Row {
    fn of(case: &str, before: &Measure, after: &Measure, fail_above: Option<f64>) -> Self {
        let p = p_value(&before.samples, &after.samples);
        let is_certain = p.is_some_and(|p| p < SIGNIFICANT);
        let is_larger = after.mean > before.mean;
        let verdict = match before.better {
            _ if !is_certain => Verdict::Same,
            Better::Higher if is_larger => Verdict::Better,
            Better::Lower if !is_larger => Verdict::Better,
            _ => Verdict::Worse,
        };
        let worse = match before.better {
            Better::Higher => before.mean / after.mean,
            Better::Lower => after.mean / before.mean,
        };
        let failed = verdict == Verdict::Worse && fail_above.is_some_and(|most| worse > most);
        Self {
            case: case.to_owned(),
            measure: before.name.clone(),
            unit: before.unit.clone(),
            before: [before.mean, before.stddev],
            after: [after.mean, after.stddev],
            ratio: (before.mean != 0.0).then(|| after.mean / before.mean),
            p,
            verdict,
            failed,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = &self.kernels;
        writeln!(f, "{}: Linux {before} and {after}", self.bench)?;
        let mut of = None;
        for row in &self.rows {
            if of != Some(&row.case) {
                writeln!(f, "\n{}", row.case)?;
                of = Some(&row.case);
            }
            let number = |[mean, stddev]: [f64; 2]| format!("{mean:.2} ± {stddev:.2}");
            let ratio = row
                .ratio
                .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
            let p = row.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.4}"));
            let verdict = match (row.verdict, row.failed) {
                (_, true) => "worse, too much",
                (Verdict::Better, _) => "better",
                (Verdict::Worse, _) => "worse",
                (Verdict::Same, _) => "-",
            };
            let measure = format!("{} ({})", row.measure, row.unit);
            writeln!(
                f,
                "  {measure:36} {:>24} {:>24}  × {ratio:>7}  p {p:>6}  {verdict}",
                number(row.before),
                number(row.after),
            )?;
        }
        for unmatched in &self.unmatched {
            writeln!(f, "only in one of the two: {unmatched}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Case, *};

    fn report(cases: &[(&str, Better, &[f64])]) -> Report {
        let cases = cases.iter().map(|(name, better, samples)| Case {
            name: (*name).into(),
            measures: vec![Measure::new("rate", "k/s", *better, samples.to_vec())],
            ..Case::default()
        });
        Report {
            bench: "dump".into(),
            command: String::new(),
            version: "0".into(),
            kernel: "6.12".into(),
            possible_cpus: 4,
            cpus: vec![0],
            started: String::new(),
            interrupted: false,
            cases: cases.collect(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn what_is_worse_by_too_much_fails_and_noise_does_not() {
        let quiet: &[f64] = &[100.0, 101.0, 99.0, 100.0];
        let before = report(&[
            ("slower", Better::Higher, quiet),
            ("longer", Better::Lower, quiet),
            ("noisy", Better::Higher, &[100.0, 10.0, 200.0]),
            ("gone", Better::Higher, quiet),
        ]);
        let after = report(&[
            ("slower", Better::Higher, &[50.0, 51.0, 49.0]),
            ("longer", Better::Lower, &[50.0, 51.0, 49.0]),
            ("noisy", Better::Higher, &[60.0, 5.0, 100.0]),
            ("new", Better::Higher, quiet),
        ]);
        let told = side_by_side(&before, &after, Some(1.5));
        let verdicts: Vec<_> = told
            .rows
            .iter()
            .map(|row| (row.verdict, row.failed))
            .collect();
        assert_eq!(
            verdicts,
            [
                (Verdict::Worse, true),
                (Verdict::Better, false),
                (Verdict::Same, false)
            ]
        );
        assert!(told.failed);
        assert_eq!(told.unmatched, ["gone: rate", "new: rate"]);
        assert_eq!(told.rows[0].ratio, Some(0.5));
        for borne in [None, Some(3.0)] {
            assert!(!side_by_side(&before, &after, borne).failed);
        }
    }

    #[test]
    fn a_report_is_the_same_as_itself() {
        let one = report(&[("a", Better::Higher, &[1.0, 2.0, 3.0])]);
        let told = side_by_side(&one, &one, Some(1.01));
        assert!(!told.failed && told.unmatched.is_empty());
        assert_eq!(told.rows[0].verdict, Verdict::Same);
        assert!(
            told.to_string().contains("×   1.000  p 1.0000  -\n"),
            "{told}"
        );
    }
}
