//! `bench htab-mem`: operations per second on a hash and the memory it takes, with elements allocated before and as they
//! come, in three patterns of use. An operation is 64 elements, as in the kernel's benchmark of this name.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use mapstorm_abi::{
    Op,
    workload::{DELETE_ONLY, MAX_LOOPS, Run, Tally, Target},
};

use super::{
    Bench, BenchError,
    config::UseCase,
    memory::Account,
    producers::{Look, Turn},
    report::{Better, Case, Measure},
    watch::{operations, quantiles},
};
use crate::{
    kernel::workload::Workload,
    work::{Ring, Work},
};

/// Elements of one operation.
const BATCH: u64 = 64;
const MIB: f64 = (1 << 20) as f64;

/// What is to be measured.
pub(super) struct Plan<'a> {
    pub(super) use_cases: &'a [UseCase],
    pub(super) preallocated: &'a [bool],
    pub(super) max_entries: u32,
}

impl Plan<'_> {
    pub(super) fn turns(&self) -> usize {
        self.use_cases.len() * self.preallocated.len()
    }

    pub(super) fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let least = bench.cpus.len() as u64 * MAX_LOOPS;
        if u64::from(self.max_entries) < least {
            return Err(BenchError::TooSmall {
                max_entries: self.max_entries,
                what: format!("a part of the map for each of {} CPUs", bench.cpus.len()),
                least,
            });
        }
        for &preallocated in self.preallocated {
            for &use_case in self.use_cases {
                if let Some(case) = self.case(bench, use_case, preallocated)? {
                    bench.cases.push(case);
                }
            }
        }
        Ok(())
    }

    fn case(
        &self,
        bench: &mut Bench<'_>,
        use_case: UseCase,
        preallocated: bool,
    ) -> Result<Option<Case>, BenchError> {
        let (target, how) = if preallocated {
            (Target::Churn, "preallocated")
        } else {
            (Target::NoPrealloc, "not preallocated")
        };
        let name = format!("{} {how}", use_case.label());
        let cpus = use_case.producers(&bench.cpus).to_vec();
        let cpus = cpus.as_slice();
        if cpus.is_empty() {
            bench.note(format!(
                "{name}: takes two CPUs; choose more with --cpus or --producers"
            ));
            return Ok(None);
        }
        let (account, why) = Account::open();
        if let Some(why) = why {
            bench.note(format!(
                "memory is what the map's descriptor tells (memlock): {why}"
            ));
        }
        let workload = Workload::load(&[(target, self.max_entries)], bench.possible)?;
        account.made()?;
        let counts: Vec<AtomicU64> = cpus.iter().map(|_| AtomicU64::new(0)).collect();
        let works = use_case.works(cpus, self.max_entries);
        let works = works.into_iter().zip(&counts).zip(cpus);
        let works = works.map(|((mut steps, count), &cpu)| {
            let workload = &workload;
            let work = move || {
                let Some(run) = steps.next() else {
                    return Ok(Turn::Waits);
                };
                workload.run(target, run)?;
                steps.done(&run);
                count.fetch_add(run.loops / BATCH, Ordering::Relaxed);
                Ok(Turn::Worked)
            };
            (cpu, work)
        });
        let map = workload.fd(target)?;
        let (mut edges, mut memory) = (Vec::new(), Vec::new());
        bench.stage.drive(&name, works.collect(), |look| {
            if look == Look::Edge {
                let done = counts
                    .iter()
                    .map(|count| count.load(Ordering::Relaxed))
                    .sum();
                edges.push((Instant::now(), done));
            }
            memory.push(account.bytes(map)? as f64 / MIB);
            Ok(())
        })?;
        let Some(rates) = rates(&edges, cpus.len()) else {
            return Ok(None);
        };
        let peak = memory.iter().copied().fold(0.0, f64::max);
        let mut done = Tally::default();
        let tallies = workload.tallies(target)?;
        tallies.iter().for_each(|tally| done.merge(tally));
        let sight = bench.see(&[workload.map_id(target)?]);
        let mut watched = Vec::new();
        if let Some(sight) = &sight {
            for op in [Op::Update, Op::Delete] {
                let durations = sight.durations(op);
                watched.extend(durations.into_iter().flat_map(|d| quantiles(op.label(), d)));
            }
            watched.extend(sight.waits(done.ns));
        }
        let map = target.map();
        let mut counted = vec![operations(map, Op::Update, done.outcomes(), sight.as_ref())];
        if use_case != UseCase::Overwrite {
            let deletes = done.delete_outcomes();
            counted.push(operations(map, Op::Delete, deletes, sight.as_ref()));
        }
        let of_memory = |name: &str, samples| {
            let name = format!("{name} ({})", account.label());
            Measure::new(name, "MiB", Better::Lower, samples)
        };
        Ok(Some(Case {
            name,
            measures: vec![
                Measure::new("per-prod-op", "k/s", Better::Higher, rates),
                of_memory("avg mem", memory),
                of_memory("peak mem", vec![peak]),
            ],
            operations: counted,
            watched,
        }))
    }
}

/// Thousands of operations per second and producer, by interval.
fn rates(edges: &[(Instant, u64)], producers: usize) -> Option<Vec<f64>> {
    let rates = edges.windows(2).filter_map(|pair| {
        let [(begin, before), (end, after)] = pair else {
            return None;
        };
        let seconds = end.duration_since(*begin).as_secs_f64();
        Some((after - before) as f64 / seconds / producers as f64 / 1e3)
    });
    let rates: Vec<f64> = rates.collect();
    (!rates.is_empty()).then_some(rates)
}

impl UseCase {
    /// Of these CPUs those that work: in pairs where one gives to the other.
    fn producers(self, cpus: &[u32]) -> &[u32] {
        match self {
            Self::AddDelOnDiffCpu => &cpus[..cpus.len() / 2 * 2],
            _ => cpus,
        }
    }

    /// What each of them does, on a part of the map of its own or its pair's.
    fn works(self, cpus: &[u32], max_entries: u32) -> Vec<Steps> {
        let part = u64::from(max_entries) / cpus.len() as u64 / MAX_LOOPS * MAX_LOOPS;
        let own = |place: u64, deletes| Steps::Own {
            first: place * part,
            keys: part,
            at: 0,
            deletes,
            delete: false,
        };
        let places = 0..cpus.len() as u64;
        match self {
            Self::Overwrite => places.map(|place| own(place, false)).collect(),
            Self::BatchAddBatchDel => places.map(|place| own(place, true)).collect(),
            Self::AddDelOnDiffCpu => places
                .step_by(2)
                .flat_map(|place| {
                    let ring = Arc::new(Ring::new(place * part, 2 * part));
                    let works = [Work::Insert(Arc::clone(&ring)), Work::Delete(vec![ring])];
                    works.map(Steps::Shared)
                })
                .collect(),
        }
    }
}

/// One CPU's work, batch by batch.
enum Steps {
    /// On keys of its own, round and round; each batch deleted again where it `deletes`.
    Own {
        first: u64,
        keys: u64,
        at: u64,
        deletes: bool,
        delete: bool,
    },
    /// On keys that it shares with another CPU.
    Shared(Work),
}

impl Steps {
    /// The next batch; `None` while another CPU is to come first.
    fn next(&self) -> Option<Run> {
        match self {
            Self::Own {
                first, at, delete, ..
            } => Some(Run {
                loops: BATCH,
                first_key: first + at,
                key_mask: BATCH - 1,
                flags: 0,
                delete: if *delete { DELETE_ONLY } else { 0 },
            }),
            Self::Shared(work) => work.next(MAX_LOOPS),
        }
    }

    /// Notes that it is done.
    fn done(&mut self, run: &Run) {
        match self {
            Self::Own {
                keys,
                at,
                deletes,
                delete,
                ..
            } => {
                let goes_on = !*deletes || *delete;
                *delete = *deletes && !*delete;
                if goes_on {
                    *at = (*at + BATCH) % *keys;
                }
            }
            Self::Shared(work) => work.done(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Lets all work in turn on a map of which only the keys are known; how many elements were in it at most.
    fn play(use_case: UseCase, cpus: &[u32], max_entries: u32) -> usize {
        let mut works = use_case.works(cpus, max_entries);
        let (mut map, mut most) = (BTreeSet::new(), 0);
        for _ in 0..500 {
            for steps in &mut works {
                let Some(run) = steps.next() else { continue };
                for turn in 0..run.loops {
                    let key = run.first_key + (turn & run.key_mask);
                    if run.delete == DELETE_ONLY {
                        assert!(map.remove(&key), "{use_case:?}: {key} was not there");
                    } else {
                        let is_new = map.insert(key);
                        assert!(is_new || use_case == UseCase::Overwrite, "{key}");
                    }
                }
                steps.done(&run);
                most = most.max(map.len());
            }
        }
        most
    }

    #[test]
    fn every_use_case_keeps_to_the_map_and_deletes_only_what_is_there() {
        for cpus in [&[0, 1][..], &[0, 1, 2, 3], &[0, 2, 3, 5, 9]] {
            for use_case in UseCase::ALL {
                let cpus = use_case.producers(cpus);
                let most = play(use_case, cpus, 4096);
                assert!((64..=4096).contains(&most), "{use_case:?} {cpus:?}: {most}");
            }
            assert!(play(UseCase::BatchAddBatchDel, cpus, 4096) <= cpus.len() * 64);
        }
        assert!(UseCase::AddDelOnDiffCpu.producers(&[3]).is_empty());
    }
}
