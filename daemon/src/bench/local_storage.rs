//! `bench local-storage`: lookups in the running task's local storage, in up to a thousand maps in turn, and in a hash
//! for comparison. A task keeps the elements of sixteen maps at hand; of more, some are looked for in a list.

use mapstorm_abi::{
    Op, Outcome,
    workload::{Gets, Got, MAX_GETS, Target},
};

use super::{
    Bench, BenchError,
    fill::fill_by_program,
    producers::{Look, Turn},
    report::{Better, Case, Measure},
    watch::{Sight, operations, quantiles, share},
};
use crate::kernel::{
    KernelError,
    storage::{MAP_NAME, Storage},
    workload::Workload,
};

/// What is to be measured.
pub(super) struct Plan<'a> {
    pub(super) keys: &'a [u32],
    pub(super) maps: &'a [u32],
}

impl Plan<'_> {
    pub(super) fn turns(&self) -> usize {
        self.keys.len() + 2 * self.maps.len()
    }

    pub(super) fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        for &keys in self.keys {
            let case = control(bench, keys);
            match case {
                Err(BenchError::Kernel(error)) if error.is_out_of_memory() => {
                    bench.note(format!("hashmap control, num keys {keys}: {error}"));
                }
                case => bench.cases.extend(case?),
            }
        }
        for &maps in self.maps {
            for interleaved in [false, true] {
                let case = storage(bench, maps, interleaved);
                match case {
                    Err(BenchError::Kernel(error)) if error.is_unknown_storage() => {
                        bench.note(format!(
                            "this kernel has no local storage of tasks for raw tracepoints (5.13 and newer \
                             have): {error}"
                        ));
                        return Ok(());
                    }
                    case => bench.cases.extend(case?),
                }
            }
        }
        Ok(())
    }
}

/// Lookups in a hash of so many keys.
fn control(bench: &mut Bench<'_>, keys: u32) -> Result<Option<Case>, BenchError> {
    let name = format!("hashmap control, num keys {keys}");
    let mut workload = Workload::load(&[(Target::Churn, keys)], bench.possible)?;
    workload.prepare_gets()?;
    fill_by_program(&workload, Target::Churn, keys)?;
    let works = bench.cpus.iter().map(|&cpu| {
        let (workload, mut first) = (&workload, u64::from(cpu));
        let work = move || {
            workload.get(Gets {
                gets: MAX_GETS,
                first,
                of: keys.into(),
                interleaved: 0,
            })?;
            first = first.wrapping_add(MAX_GETS);
            Ok(Turn::Worked)
        };
        (cpu, work)
    });
    let got = |cpu| workload.got(cpu);
    let Some((measures, _)) = measure(bench, &name, works.collect(), got, Important::All)? else {
        return Ok(None);
    };
    let sight = bench.see(&[workload.map_id(Target::Churn)?]);
    let mut done = mapstorm_abi::workload::Tally::default();
    let tallies = workload.tallies(Target::Churn)?;
    tallies.iter().for_each(|tally| done.merge(tally));
    let map = Target::Churn.map();
    Ok(Some(Case {
        name,
        measures,
        operations: vec![operations(map, Op::Update, done.outcomes(), sight.as_ref())],
        watched: Vec::new(),
    }))
}

/// Lookups in so many maps of local storage.
fn storage(
    bench: &mut Bench<'_>,
    maps: u32,
    interleaved: bool,
) -> Result<Option<Case>, BenchError> {
    let order = if interleaved {
        "interleaved"
    } else {
        "sequential"
    };
    let name = format!("{order} get, num_maps {maps}");
    let storage = Storage::load(maps as usize, bench.possible)?;
    let of = u64::from(maps);
    let works = bench.cpus.iter().map(|&cpu| {
        let storage = &storage;
        let work = move || {
            storage.get(Gets {
                gets: MAX_GETS / of * of,
                first: 0,
                of,
                interleaved: interleaved.into(),
            })?;
            Ok(Turn::Worked)
        };
        (cpu, work)
    });
    let got = |cpu| storage.got(cpu);
    let measured = measure(bench, &name, works.collect(), got, Important::First)?;
    let Some((measures, done)) = measured else {
        return Ok(None);
    };
    if done.missed > 0 {
        bench.note(format!(
            "{name}: {} lookups found no element and could make none",
            done.missed
        ));
    }
    let sight = bench.see(&storage.ids()?);
    let mut made = [0; Outcome::COUNT];
    made[Outcome::Ok as usize] = of * bench.cpus.len() as u64;
    Ok(Some(Case {
        name,
        measures,
        operations: vec![operations(MAP_NAME, Op::Update, made, sight.as_ref())],
        watched: sight
            .map(|sight| watched(&sight, &done))
            .unwrap_or_default(),
    }))
}

/// What the probes tell of the lookups: all of them where one function does the quick way and the slow one (up to 6.8),
/// else those that the cache did not answer.
fn watched(sight: &Sight, done: &Got) -> Vec<super::Value> {
    let mut values = Vec::new();
    for (op, name) in [
        (Op::StorageCacheInsert, "share of lookups on the slow path"),
        (Op::StorageLookup, "share of lookups that were seen"),
    ] {
        if let Some(count) = sight.count(op) {
            values.push(share(name, count, done.gets));
        }
        if let Some(durations) = sight.durations(op) {
            values.extend(quantiles(op.label(), durations));
        }
    }
    values.extend(sight.waits(done.ns));
    values
}

/// Which lookups count as important.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Important {
    All,
    /// Those in the first map.
    First,
}

/// Lets all look up; what came of it in each interval, and in all.
fn measure<W>(
    bench: &Bench<'_>,
    name: &str,
    works: Vec<(u32, W)>,
    got: impl Fn(u32) -> Result<Got, KernelError>,
    important: Important,
) -> Result<Option<(Vec<Measure>, Got)>, BenchError>
where
    W: FnMut() -> Result<Turn, BenchError> + Send,
{
    let read = || -> Result<Vec<Got>, BenchError> {
        let counts = bench.cpus.iter().map(|&cpu| Ok(got(cpu)?));
        counts.collect()
    };
    let mut edges = Vec::new();
    bench.stage.drive(name, works, |look| {
        if look == Look::Edge {
            edges.push(read()?);
        }
        Ok(())
    })?;
    let all = read()?.into_iter().fold(Got::default(), sum);
    Ok(measures(&edges, important).map(|measures| (measures, all)))
}

fn sum(a: Got, b: Got) -> Got {
    Got {
        gets: a.gets + b.gets,
        important: a.important + b.important,
        missed: a.missed + b.missed,
        ns: a.ns + b.ns,
    }
}

/// Throughput and latency by interval: the CPUs' throughputs add up, their latencies are averaged.
fn measures(edges: &[Vec<Got>], important: Important) -> Option<Vec<Measure>> {
    let (mut hits, mut latencies, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for pair in edges.windows(2) {
        let [before, after] = pair else { continue };
        let spent: Vec<Got> = before.iter().zip(after).map(|(b, a)| a.since(b)).collect();
        let all = spent.iter().copied().fold(Got::default(), sum);
        if all.gets == 0 {
            continue;
        }
        // Lookups per microsecond are millions a second.
        let rate = |of: fn(&Got) -> u64| -> f64 {
            let rates = spent.iter().filter(|got| got.ns > 0);
            rates.map(|got| of(got) as f64 * 1e3 / got.ns as f64).sum()
        };
        hits.push(rate(|got| got.gets));
        first.push(match important {
            Important::All => rate(|got| got.gets),
            Important::First => rate(|got| got.important),
        });
        latencies.push(all.ns as f64 / all.gets as f64);
    }
    let unit = "M ops/s";
    (!hits.is_empty()).then(|| {
        vec![
            Measure::new("hits throughput", unit, Better::Higher, hits),
            Measure::new("hits latency", "ns/op", Better::Lower, latencies),
            Measure::new("important_hits throughput", unit, Better::Higher, first),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughputs_add_up_and_latencies_are_averaged() {
        let got = |gets, important, ns| Got {
            gets,
            important,
            missed: 0,
            ns,
        };
        let edges = [
            vec![got(0, 0, 0), got(0, 0, 0)],
            vec![got(1000, 100, 20_000), got(1000, 100, 60_000)],
        ];
        let measures = measures(&edges, Important::First).unwrap();
        let means: Vec<f64> = measures
            .iter()
            .map(|measure| measure.mean.round())
            .collect();
        assert_eq!(means, [67.0, 40.0, 7.0]);
        assert!(super::measures(&edges[..1], Important::All).is_none());
    }
}
