//! The top callers of each map: how much of what was sampled lately each made.
//!
//! Weights halve in a minute of samples' time, so that who was busy an hour ago does not hide who is
//! now. A map keeps a bounded number of callers: the least of them gives way.

use std::{collections::BTreeMap, sync::Arc};

use mapstorm_abi::{Op, Outcome};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Caller, Sample};
use crate::identity::MapId;

/// Callers that a map keeps.
pub const MAX_CALLERS: usize = 16;
/// Maps that callers are kept of; the one whose last sample is the oldest gives way.
const MAX_MAPS: usize = 1024;
/// In which a weight halves, nanoseconds.
const HALF_LIFE_NS: f64 = 60e9;

/// A caller of one map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopCaller {
    /// Who.
    #[serde(flatten)]
    pub caller: Caller,
    /// Samples of its calls so far.
    pub samples: u64,
    /// Its share of the map's samples, 0 to 1, the newest weighing most.
    pub share: f64,
    /// The operation of its newest sample.
    #[serde(serialize_with = "op", deserialize_with = "op_of")]
    pub op: Op,
    /// How that ended.
    #[serde(serialize_with = "outcome", deserialize_with = "outcome_of")]
    pub outcome: Outcome,
    /// How long that took, nanoseconds; 0 when unknown.
    pub duration_ns: u64,
    /// The window in which that was seen.
    pub last_window: u64,
    /// The kernel's stack of that, addresses, the innermost first.
    #[serde(skip)]
    pub stack: Arc<[u64]>,
}

/// All callers, by map.
#[derive(Clone, Debug, Default)]
pub struct Callers {
    maps: BTreeMap<MapId, Arc<OfMap>>,
    /// Samples so far: of programs, of processes, of callers unknown.
    totals: [u64; 3],
}

#[derive(Clone, Debug, Default)]
struct OfMap {
    callers: Vec<Weighed>,
    /// What those weighed that gave way.
    others: f64,
    newest_ns: u64,
}

#[derive(Clone, Debug)]
struct Weighed {
    top: TopCaller,
    /// As of the map's newest sample.
    weight: f64,
}

impl Callers {
    /// Notes a sample of window `window`, made by `caller`.
    pub fn note(&mut self, caller: Caller, sample: &Sample, window: u64) {
        self.totals[place(&caller)] += 1;
        if !self.maps.contains_key(&sample.map) && self.maps.len() >= MAX_MAPS {
            let oldest = self.maps.iter().min_by_key(|(_, map)| map.newest_ns);
            let oldest = oldest.map(|(&id, _)| id);
            oldest.and_then(|id| self.maps.remove(&id));
        }
        let map = self.maps.entry(sample.map).or_default();
        Arc::make_mut(map).note(caller, sample, window);
    }

    /// The maps that callers are known of.
    pub fn maps(&self) -> impl Iterator<Item = MapId> {
        self.maps.keys().copied()
    }

    /// Forgets maps that are gone.
    pub fn retain(&mut self, is_there: impl Fn(MapId) -> bool) {
        self.maps.retain(|&id, _| is_there(id));
    }

    /// The callers of a map, the heaviest first.
    pub fn of(&self, map: MapId) -> Vec<TopCaller> {
        self.maps.get(&map).map_or_else(Vec::new, |map| map.top())
    }

    /// Samples so far by source: the labels and their counts.
    pub fn totals(&self) -> [(&'static str, u64); 3] {
        let [program, process, unknown] = self.totals;
        [
            ("program", program),
            ("process", process),
            ("unknown", unknown),
        ]
    }
}

impl OfMap {
    fn note(&mut self, caller: Caller, sample: &Sample, window: u64) {
        let passed = sample.time_ns.saturating_sub(self.newest_ns);
        let faded = f64::exp2(-(passed as f64) / HALF_LIFE_NS);
        self.newest_ns = self.newest_ns.max(sample.time_ns);
        self.others *= faded;
        for weighed in &mut self.callers {
            weighed.weight *= faded;
        }
        let newest = TopCaller {
            caller,
            samples: 1,
            share: 0.0,
            op: sample.op,
            outcome: sample.outcome,
            duration_ns: sample.duration_ns,
            last_window: window,
            stack: sample.stack.as_slice().into(),
        };
        let mut known = self.callers.iter_mut();
        if let Some(known) = known.find(|known| known.top.caller == newest.caller) {
            known.weight += 1.0;
            let samples = known.top.samples + 1;
            known.top = TopCaller { samples, ..newest };
            return;
        }
        if self.callers.len() >= MAX_CALLERS {
            self.evict();
        }
        self.callers.push(Weighed {
            top: newest,
            weight: 1.0,
        });
    }

    fn evict(&mut self) {
        let weights = self.callers.iter().map(|known| known.weight);
        let least = weights.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, weight)) = least {
            self.callers.swap_remove(index);
            self.others += weight;
        }
    }

    fn top(&self) -> Vec<TopCaller> {
        let all: f64 = self.callers.iter().map(|known| known.weight).sum();
        let all = all + self.others;
        let mut callers: Vec<_> = self.callers.iter().collect();
        callers.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let shared = |known: &Weighed| TopCaller {
            share: if all > 0.0 { known.weight / all } else { 0.0 },
            ..known.top.clone()
        };
        callers.into_iter().map(shared).collect()
    }
}

fn place(caller: &Caller) -> usize {
    match caller {
        Caller::Program { .. } => 0,
        Caller::Process { .. } => 1,
        Caller::Unknown => 2,
    }
}

fn op<S: Serializer>(op: &Op, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(op.label())
}

fn outcome<S: Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.label())
}

fn op_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Op, D::Error> {
    labelled(deserializer, &Op::ALL, Op::label)
}

fn outcome_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
    labelled(deserializer, &Outcome::ALL, Outcome::label)
}

/// That of `all` which has this label.
fn labelled<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    all: &[T],
    label: fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let word = String::deserialize(deserializer)?;
    let known = all.iter().copied().find(|&value| label(value) == word);
    known.ok_or_else(|| D::Error::custom(format_args!("unknown word: {word}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::caller::tests::sample;

    fn process(pid: u32) -> Caller {
        Caller::Process {
            pid,
            comm: "a".into(),
            cgroup: None,
        }
    }

    fn at(seconds: u64) -> Sample {
        let mut sample = sample(&[]);
        sample.time_ns = seconds * 1_000_000_000;
        sample
    }

    fn shares(callers: &Callers) -> Vec<(u32, u64, f64)> {
        let of = |top: &TopCaller| match top.caller {
            Caller::Process { pid, .. } => (pid, top.samples, top.share),
            _ => (0, top.samples, top.share),
        };
        callers.of(7).iter().map(of).collect()
    }

    #[test]
    fn shares_are_of_all_samples_and_the_heaviest_comes_first() {
        let mut callers = Callers::default();
        for pid in [1, 2, 2, 2] {
            callers.note(process(pid), &at(1), 5);
        }
        assert_eq!(shares(&callers), [(2, 3, 0.75), (1, 1, 0.25)]);
        assert_eq!(callers.of(8), []);
        assert_eq!(callers.totals()[1], ("process", 4));
    }

    #[test]
    fn who_was_busy_a_while_ago_fades() {
        let mut callers = Callers::default();
        for _ in 0..4 {
            callers.note(process(1), &at(0), 1);
        }
        callers.note(process(2), &at(120), 500);
        assert_eq!(shares(&callers), [(1, 4, 0.5), (2, 1, 0.5)]);
        callers.note(process(2), &at(60), 501);
        assert_eq!(shares(&callers)[0].0, 2, "a late sample is no new time");
    }

    #[test]
    fn a_thousand_callers_are_sixteen_and_what_gave_way_still_weighs() {
        let mut callers = Callers::default();
        for pid in 0..1000 {
            callers.note(process(pid), &at(1), 1);
            callers.note(process(7), &at(1), 1);
        }
        let shares = shares(&callers);
        assert_eq!(shares.len(), MAX_CALLERS);
        assert_eq!((shares[0].0, shares[0].1), (7, 1001));
        assert!((shares[0].2 - 1001.0 / 2000.0).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn maps_are_bounded_and_one_that_is_gone_is_forgotten() {
        let mut callers = Callers::default();
        for map in 1..=2000 {
            let mut sample = at(u64::from(map));
            sample.map = map;
            callers.note(Caller::Unknown, &sample, 1);
        }
        assert_eq!(callers.maps.len(), MAX_MAPS);
        assert_eq!(callers.of(2000).len(), 1);
        callers.retain(|map| map != 2000);
        assert!(callers.of(2000).is_empty());
    }

    #[test]
    fn json_names_the_source_and_no_address() {
        let mut callers = Callers::default();
        callers.note(process(1), &at(1), 5);
        let json = serde_json::to_value(callers.of(7)).unwrap();
        assert_eq!(
            json[0],
            serde_json::json!({
                "source": "process", "pid": 1, "comm": "a", "cgroup": null, "samples": 1,
                "share": 1.0, "op": "update", "outcome": "e2big", "duration_ns": 900,
                "last_window": 5
            })
        );
    }
}
