//! The report for people, in the shapes of the kernel's own benchmarks where they have one; its last line is for scripts.

use std::fmt::{self, Write as _};

use super::{Case, Measure, Operations, Report, Value};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bench,
            kernel,
            possible_cpus,
            cpus,
            ..
        } = self;
        let (workers, s) = (cpus.len(), if cpus.len() == 1 { "" } else { "s" });
        writeln!(
            f,
            "{bench} on Linux {kernel}, {workers} CPU{s} of {possible_cpus} possible"
        )?;
        for case in &self.cases {
            match bench.as_str() {
                "full-update" => full_update(f, case)?,
                "htab-mem" => htab_mem(f, case)?,
                _ => any(f, case)?,
            }
            counts(f, case)?;
        }
        if let [full, half] = self.cases.as_slice()
            && bench == "full-update"
            && let ([full, ..], [half, ..]) = (&full.measures[..], &half.measures[..])
        {
            let times = half.mean / full.mean;
            writeln!(
                f,
                "\na half-full map takes {times:.2} times as many updates a second"
            )?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        if self.interrupted {
            writeln!(f, "note: ended early")?;
        }
        writeln!(f, "\n{}", last_line(self))
    }
}

/// The case's most telling numbers in one line, for scripts: words without spaces.
fn last_line(report: &Report) -> String {
    let mut line = report.bench.clone();
    for case in &report.cases {
        if let [first, ..] = &case.measures[..] {
            let name = case.name.replace([',', ' '], "_").replace("__", "_");
            // Writing to a string cannot fail.
            let _written = write!(
                line,
                " {name}={}±{}",
                round(first.mean),
                round(first.stddev)
            );
        }
    }
    line
}

fn full_update(f: &mut fmt::Formatter<'_>, case: &Case) -> fmt::Result {
    writeln!(f, "\n{}", case.name)?;
    for measure in &case.measures {
        if let Some(cpu) = measure.name.strip_prefix("cpu ") {
            let name = format!("{cpu}:hash_map_{}_perf", case.name);
            writeln!(f, "{name} {:.0} events per sec", measure.mean)?;
        }
    }
    if let Some(Measure { mean, stddev, .. }) = case.measure("average") {
        writeln!(f, "average {mean:.0} ± {stddev:.0} events per sec")?;
    }
    Ok(())
}

fn htab_mem(f: &mut fmt::Formatter<'_>, case: &Case) -> fmt::Result {
    write!(f, "\n{:<32}", case.name)?;
    for (n, measure) in case.measures.iter().enumerate() {
        let Measure {
            name,
            unit,
            mean,
            stddev,
            samples,
            ..
        } = measure;
        write!(f, "{} {name}: {mean:.2}", if n == 0 { "" } else { "," })?;
        if samples.len() > 1 {
            write!(f, " ± {stddev:.2}")?;
        }
        write!(f, "{unit}")?;
    }
    writeln!(f)
}

fn any(f: &mut fmt::Formatter<'_>, case: &Case) -> fmt::Result {
    writeln!(f, "\n{}", case.name)?;
    for measure in &case.measures {
        let Measure {
            name,
            unit,
            mean,
            stddev,
            ..
        } = measure;
        writeln!(f, "  {name}: {} ± {} {unit}", round(*mean), round(*stddev))?;
    }
    Ok(())
}

/// What the probes saw, and whether it is what was done.
fn counts(f: &mut fmt::Formatter<'_>, case: &Case) -> fmt::Result {
    for Operations {
        map,
        op,
        done,
        seen,
    } in &case.operations
    {
        let Some(seen) = seen else { continue };
        let total: u64 = done.values().sum();
        if seen == done {
            writeln!(f, "  the probes saw all {total} of {op} on {map}")?;
        } else {
            writeln!(
                f,
                "  the probes saw {seen:?} of {op} on {map}, not {done:?}"
            )?;
        }
    }
    for Value { name, unit, value } in &case.watched {
        writeln!(f, "  {name}: {} {unit}", round(*value))?;
    }
    Ok(())
}

/// A number with four digits that say something.
fn round(value: f64) -> String {
    match value.abs() {
        a if a >= 1000.0 => format!("{value:.0}"),
        a if a >= 100.0 => format!("{value:.1}"),
        a if a >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::Better, *};

    fn report(bench: &str, cases: Vec<Case>) -> Report {
        Report {
            bench: bench.into(),
            command: format!("mapstorm bench {bench}"),
            version: "0".into(),
            kernel: "6.12".into(),
            possible_cpus: 8,
            cpus: vec![0, 3],
            started: String::new(),
            interrupted: false,
            cases,
            notes: vec!["one thing".into()],
        }
    }

    #[test]
    fn full_update_has_the_shape_of_the_kernels() {
        let case = |name: &str, rate: f64, seen: u64| {
            let count = |n| BTreeMap::from([("e2big".to_owned(), n)]);
            Case {
                name: name.into(),
                measures: vec![
                    Measure::new(
                        "average",
                        "events/s",
                        Better::Higher,
                        vec![rate, rate + 2.0],
                    ),
                    Measure::new("cpu 3", "events/s", Better::Higher, vec![rate]),
                ],
                operations: vec![Operations {
                    map: "drill_full".into(),
                    op: "update".into(),
                    done: count(10),
                    seen: Some(count(seen)),
                }],
                watched: vec![Value::new("pop p50", "ns", 716.0)],
            }
        };
        let cases = vec![case("full", 1000.0, 10), case("half_full", 2000.0, 9)];
        let text = report("full-update", cases).to_string();
        assert_eq!(
            text,
            "\
full-update on Linux 6.12, 2 CPUs of 8 possible

full
3:hash_map_full_perf 1000 events per sec
average 1001 ± 1 events per sec
  the probes saw all 10 of update on drill_full
  pop p50: 716.0 ns

half_full
3:hash_map_half_full_perf 2000 events per sec
average 2001 ± 1 events per sec
  the probes saw {\"e2big\": 9} of update on drill_full, not {\"e2big\": 10}
  pop p50: 716.0 ns

a half-full map takes 2.00 times as many updates a second
note: one thing

full-update full=1001±1.414 half_full=2001±1.414
"
        );
    }

    #[test]
    fn htab_mem_has_the_shape_of_the_kernels() {
        let case = Case {
            name: "overwrite preallocated".into(),
            measures: vec![
                Measure::new("per-prod-op", "k/s", Better::Higher, vec![191.0, 192.0]),
                Measure::new("peak mem (memcg)", "MiB", Better::Lower, vec![1.49]),
            ],
            ..Case::default()
        };
        let text = report("htab-mem", vec![case]).to_string();
        let line = "overwrite preallocated           per-prod-op: 191.50 ± 0.71k/s, peak mem (memcg): 1.49MiB\n";
        assert!(text.contains(line), "{text}");
        assert!(
            text.ends_with("\nhtab-mem overwrite_preallocated=191.5±0.707\n"),
            "{text}"
        );
    }
}
