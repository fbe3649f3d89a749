//! `bench dump`: time to read a whole hash by system call, in batches, which hold one bucket's lock after the other,
//! and element by element, which holds none.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use mapstorm_abi::{
    Op, Outcome,
    workload::{Tally, Target},
};

use super::{
    Bench, BenchError,
    fill::fill_by_program,
    producers::{Look, Turn},
    report::{Better, Case, Measure},
    watch::{operations, quantiles},
};
use crate::kernel::{Dump, Dumped, workload::Workload};

/// The map that is read.
const TARGET: Target = Target::Churn;

/// What is to be measured.
pub(super) struct Plan<'a> {
    pub(super) max_entries: u32,
    pub(super) entries: &'a [u32],
    pub(super) batch: u32,
}

/// Dumps, and the time they took.
#[derive(Default)]
struct Sum {
    dumps: AtomicU64,
    ns: AtomicU64,
    elements: AtomicU64,
    ok: AtomicU64,
    last: AtomicU64,
    short: AtomicU64,
}

impl Plan<'_> {
    pub(super) fn turns(&self) -> usize {
        2 * self.entries.len()
    }

    pub(super) fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        for &entries in self.entries {
            if entries > self.max_entries {
                return Err(BenchError::TooSmall {
                    max_entries: self.max_entries,
                    what: format!("--entries {entries}"),
                    least: entries.into(),
                });
            }
        }
        for &entries in self.entries {
            if let Some(case) = self.case(bench, entries)? {
                bench.cases.push(case);
            }
        }
        Ok(())
    }

    fn case(&self, bench: &mut Bench<'_>, entries: u32) -> Result<Option<Case>, BenchError> {
        let workload = Workload::load(&[(TARGET, self.max_entries)], bench.possible)?;
        fill_by_program(&workload, TARGET, entries)?;
        let map = workload.fd(TARGET)?;
        let batch = if self.batch == 0 {
            self.max_entries
        } else {
            self.batch
        };
        let (batches, singles) = (Sum::default(), Sum::default());
        let name = format!("{entries} elements");
        let in_batches = bench.cpus.iter().map(|&cpu| {
            let (mut dump, sum) = (Dump::new(map, batch as usize), &batches);
            (cpu, move || sum.add(|| dump.in_batches()))
        });
        let in_batches = measure(bench, &name, "batches", in_batches.collect(), &batches)?;
        let one_by_one = bench.cpus.iter().map(|&cpu| {
            let (dump, sum) = (Dump::new(map, 1), &singles);
            (cpu, move || sum.add(|| dump.one_by_one()))
        });
        let one_by_one = measure(bench, &name, "one by one", one_by_one.collect(), &singles)?;
        for (how, sum) in [("in batches", &batches), ("one by one", &singles)] {
            let (dumps, elements) = (get(&sum.dumps), get(&sum.elements));
            if dumps * u64::from(entries) != elements {
                bench.note(format!(
                    "{name}: {dumps} dumps {how} read {elements} elements"
                ));
            }
        }
        let measures: Vec<Measure> = [in_batches, one_by_one].into_iter().flatten().collect();
        if measures.is_empty() {
            return Ok(None);
        }
        let sight = bench.see(&[workload.map_id(TARGET)?]);
        let mut filled = Tally::default();
        let tallies = workload.tallies(TARGET)?;
        tallies.iter().for_each(|tally| filled.merge(tally));
        let mut done = [0; Outcome::COUNT];
        done[Outcome::Ok as usize] = get(&batches.ok);
        done[Outcome::Enoent as usize] = get(&batches.last);
        done[Outcome::Other as usize] = get(&batches.short);
        let map = TARGET.map();
        let watched = sight
            .as_ref()
            .and_then(|sight| sight.durations(Op::LookupBatch));
        Ok(Some(Case {
            name,
            measures,
            operations: vec![
                operations(map, Op::LookupBatch, done, sight.as_ref()),
                operations(map, Op::Update, filled.outcomes(), sight.as_ref()),
            ],
            watched: watched.map(|d| quantiles("batch", d)).unwrap_or_default(),
        }))
    }
}

impl Sum {
    fn add(
        &self,
        dump: impl FnOnce() -> Result<Dumped, crate::kernel::KernelError>,
    ) -> Result<Turn, BenchError> {
        let start = Instant::now();
        let dumped = dump()?;
        let ns = start.elapsed().as_nanos() as u64;
        for (sum, n) in [
            (&self.ns, ns),
            (&self.dumps, 1),
            (&self.elements, dumped.elements),
            (&self.ok, dumped.batches_ok),
            (&self.last, dumped.batches_last),
            (&self.short, dumped.batches_short),
        ] {
            sum.fetch_add(n, Ordering::Relaxed);
        }
        Ok(Turn::Worked)
    }
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Microseconds per dump, by interval; `None` where no interval saw one end.
fn measure<W>(
    bench: &Bench<'_>,
    name: &str,
    how: &str,
    works: Vec<(u32, W)>,
    sum: &Sum,
) -> Result<Option<Measure>, BenchError>
where
    W: FnMut() -> Result<Turn, BenchError> + Send,
{
    let mut edges = Vec::new();
    bench
        .stage
        .drive(&format!("{name}, {how}"), works, |look| {
            if look == Look::Edge {
                edges.push([get(&sum.dumps), get(&sum.ns)]);
            }
            Ok(())
        })?;
    let times = edges.windows(2).filter_map(|pair| {
        let [[dumps, ns], [dumps_after, ns_after]] = pair else {
            return None;
        };
        let dumps = dumps_after - dumps;
        (dumps > 0).then(|| (ns_after - ns) as f64 / dumps as f64 / 1e3)
    });
    let times: Vec<f64> = times.collect();
    Ok((!times.is_empty()).then(|| Measure::new(how, "µs/dump", Better::Lower, times)))
}
