//! The report for people, in the shape of the kernel's own benchmark (`hash_map_full_perf`), and the
//! exact totals.

use std::fmt::{self, Write as _};

use mapstorm_abi::Outcome;

use super::report::{Counts, CpuReport, DrillMap, Report};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for CpuReport {
            cpu,
            events_per_second,
            ..
        } in &self.cpus
        {
            let kind = self.kind;
            writeln!(
                f,
                "{cpu}:hash_map_{kind}_perf {events_per_second} events per sec"
            )?;
        }
        let average = self.average_events_per_second;
        writeln!(f, "average {average} events per sec")?;
        let Counts {
            updates,
            refused,
            outcomes,
            deletes,
            ..
        } = self.total;
        let refusals = [Outcome::E2big, Outcome::Enomem];
        let word = refusals.into_iter().filter(|o| outcomes[*o as usize] > 0);
        let word: Vec<_> = word.map(Outcome::label).collect();
        let word = if word.is_empty() {
            "none".to_owned()
        } else {
            word.join(" or ")
        };
        let (fill, calm) = (self.fill.updates, self.calm.updates);
        write!(
            f,
            "updates {updates}, refused {refused} ({word}), other {}",
            other(&outcomes)
        )?;
        for (what, n) in [
            ("deletes", deletes),
            ("calm updates", calm),
            ("fill updates", fill),
        ] {
            if n > 0 {
                write!(f, ", {what} {n}")?;
            }
        }
        writeln!(f)?;
        let DrillMap {
            id,
            name,
            max_entries,
        } = self.map;
        let via = self.via;
        writeln!(f, "map {id} {name}, max_entries {max_entries}, via {via}")?;
        let [started, ended] = [self.started, self.ended].map(humantime::format_rfc3339_millis);
        let early = if self.interrupted {
            " (ended early)"
        } else {
            ""
        };
        writeln!(f, "from {started} to {ended}{early}")
    }
}

/// How many ended otherwise than refused for want of room, and how.
fn other(outcomes: &[u64; Outcome::COUNT]) -> String {
    let others = Outcome::ALL
        .into_iter()
        .filter(|o| !matches!(o, Outcome::E2big | Outcome::Enomem));
    let mut total = 0;
    let mut words = String::new();
    for outcome in others {
        let n = outcomes[outcome as usize];
        if n > 0 {
            total += n;
            let comma = if words.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _written = write!(words, "{comma}{} {n}", outcome.label());
        }
    }
    if words.is_empty() {
        total.to_string()
    } else {
        format!("{total} ({words})")
    }
}

#[cfg(test)]
mod tests {
    use super::{super::report::tests::report, *};
    use crate::config::DrillKind;

    #[test]
    fn the_text_is_that_of_the_kernels_benchmark_and_exact_totals() {
        let expected = "\
0:hash_map_full_perf 3000000 events per sec
3:hash_map_full_perf 2000 events per sec
average 1501000 events per sec
updates 8000, refused 7990 (e2big), other 10 (ebusy 10)
map 42 drill_full, max_entries 1000, via program
from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:02.500Z
";
        assert_eq!(report(DrillKind::Full).to_string(), expected);
        let early = Report {
            interrupted: true,
            ..report(DrillKind::Full)
        };
        assert!(early.to_string().ends_with("(ended early)\n"));
    }
}
