//! `bench full-update`: every CPU updates a full preallocated map with a key of its own, which needs a free element
//! and finds none; beside it the same with a map that is half full, where each update finds one and gives it back.

use mapstorm_abi::{
    Op,
    workload::{MAX_LOOPS, Run, Tally, Target},
};

use super::{
    Bench, BenchError,
    fill::fill,
    producers::{Look, Turn},
    report::{Better, Case, Measure},
    watch::{operations, quantiles, share},
};
use crate::kernel::workload::Workload;

/// What is to be measured.
pub(super) struct Plan {
    pub(super) max_entries: u32,
    /// Updates between two looks at the clock.
    pub(super) loops: u64,
}

/// One of the two cases.
#[derive(Clone, Copy)]
struct Half {
    name: &'static str,
    target: Target,
    /// [`Run::delete`].
    delete: u64,
    /// Is there an element for every entry, or for every second?
    is_full: bool,
}

const CASES: [Half; 2] = [
    // No update goes in.
    Half {
        name: "full",
        target: Target::Full,
        delete: 0,
        is_full: true,
    },
    // Each goes in, and is deleted again.
    Half {
        name: "half_full",
        target: Target::Churn,
        delete: 1,
        is_full: false,
    },
];

impl Plan {
    pub(super) fn turns(&self) -> usize {
        CASES.len()
    }

    pub(super) fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let least = bench.cpus.len() as u64 * 2;
        if u64::from(self.max_entries) < least {
            return Err(BenchError::TooSmall {
                max_entries: self.max_entries,
                what: format!("a half-full map for {} CPUs", bench.cpus.len()),
                least,
            });
        }
        for half in CASES {
            if let Some(case) = self.case(bench, half)? {
                bench.cases.push(case);
            }
        }
        Ok(())
    }

    fn case(&self, bench: &mut Bench<'_>, half: Half) -> Result<Option<Case>, BenchError> {
        let &Self { max_entries, loops } = self;
        let Half {
            name,
            target,
            delete,
            is_full,
        } = half;
        let workload = Workload::load(&[(target, max_entries)], bench.possible)?;
        let taken = if is_full {
            max_entries
        } else {
            max_entries / 2
        };
        let mut done = fill(&workload, target, 0..taken)?;
        let works = bench.cpus.iter().map(|&cpu| {
            let (workload, stop) = (&workload, bench.stage.stop);
            let run = Run {
                loops: MAX_LOOPS,
                first_key: u64::from(max_entries) + u64::from(cpu),
                key_mask: 0,
                flags: 0,
                delete,
            };
            let work = move || {
                let mut left = loops;
                while left > 0 && !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let loops = left.min(MAX_LOOPS);
                    workload.run(target, Run { loops, ..run })?;
                    left -= loops;
                }
                Ok(Turn::Worked)
            };
            (cpu, work)
        });
        let mut edges = Vec::new();
        bench.stage.drive(name, works.collect(), |look| {
            if look == Look::Edge {
                edges.push(workload.tallies(target)?);
            }
            Ok(())
        })?;
        let tallies = workload.tallies(target)?;
        let mut worked = Tally::default();
        tallies.iter().for_each(|tally| worked.merge(tally));
        done.merge(&worked);
        let Some(measures) = measures(&bench.cpus, &edges) else {
            return Ok(None);
        };
        let sight = bench.see(&[workload.map_id(target)?]);
        let mut watched = Vec::new();
        if let Some(sight) = &sight {
            if let Some((what, pops)) = sight.pops() {
                watched.extend(quantiles(what, pops));
                let share_of = format!("share of the time in {what}s");
                watched.push(share(&share_of, pops.sum_ns, worked.ns));
            }
            if let Some(updates) = sight.durations(Op::Update) {
                watched.extend(quantiles("update", updates));
            }
            watched.extend(sight.waits(worked.ns));
        }
        let map = target.map();
        let mut counted = vec![operations(map, Op::Update, done.outcomes(), sight.as_ref())];
        if delete != 0 {
            let deletes = done.delete_outcomes();
            counted.push(operations(map, Op::Delete, deletes, sight.as_ref()));
        }
        Ok(Some(Case {
            name: name.to_owned(),
            measures,
            operations: counted,
            watched,
        }))
    }
}

/// Updates per second of the time that a CPU spent at them: the CPUs' mean first, then each CPU's own.
fn measures(cpus: &[u32], edges: &[Vec<Tally>]) -> Option<Vec<Measure>> {
    let rate = |cpu: u32, pair: &[Vec<Tally>]| -> Option<f64> {
        let [before, after] = pair else { return None };
        let spent = after.get(cpu as usize)?.since(before.get(cpu as usize)?);
        (spent.ns > 0).then(|| spent.total() as f64 * 1e9 / spent.ns as f64)
    };
    // A CPU that did not get through a batch in an interval has no rate in it.
    let of = |cpu: u32| {
        edges
            .windows(2)
            .filter_map(move |pair| rate(cpu, pair))
            .collect()
    };
    let by_cpu: Vec<(u32, Vec<f64>)> = cpus.iter().map(|&cpu| (cpu, of(cpu))).collect();
    let means = edges.windows(2).filter_map(|pair| {
        let rates: Vec<f64> = cpus.iter().filter_map(|&cpu| rate(cpu, pair)).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    });
    let means: Vec<f64> = means.collect();
    if means.is_empty() {
        return None;
    }
    let unit = "events/s";
    let mut measures = vec![Measure::new("average", unit, Better::Higher, means)];
    for (cpu, rates) in by_cpu.into_iter().filter(|(_, rates)| !rates.is_empty()) {
        let name = format!("cpu {cpu}");
        measures.push(Measure::new(name, unit, Better::Higher, rates));
    }
    Some(measures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(updates: u64, ns: u64) -> Tally {
        let mut tally = Tally {
            ns,
            ..Tally::default()
        };
        tally.updates[0] = updates;
        tally
    }

    #[test]
    fn rates_are_of_the_time_spent_and_a_cpu_that_rested_has_none() {
        let edges = [
            vec![tally(0, 0), tally(0, 0)],
            vec![tally(1000, 1_000_000), tally(0, 0)],
            vec![tally(3000, 2_000_000), tally(500, 1_000_000)],
        ];
        let measures = measures(&[0, 1], &edges).unwrap();
        assert_eq!(measures[0].samples, [1e6, 1.25e6]);
        assert_eq!(measures[1].samples, [1e6, 2e6]);
        assert_eq!(measures[2].samples, [5e5]);
        assert!(super::measures(&[0], &edges[..1]).is_none());
    }
}
