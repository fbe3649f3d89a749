//! mapstorm's own probes beside a bench: what they saw of its maps.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use mapstorm_abi::{LockClass, Lost, Op, Outcome};

use super::{
    BenchError,
    report::{Operations, Value},
};
use crate::{
    config::ServeConfig,
    facts::{Facts, Roots},
    fold::Fold,
    identity::MapId,
    kernel::{Armed, Attached},
    pops::PopSource,
    preflight::{Attempt, Preflight},
    snapshot::{Durations, MapStats, Snapshot},
};

/// Probes that count.
pub(super) struct Watch {
    armed: Armed,
    fold: Fold,
}

/// What the probes saw of some maps of one name, from their creation on.
pub(super) struct Sight {
    stats: MapStats,
    /// Why something is missing from it.
    pub(super) losses: Vec<String>,
}

impl Watch {
    /// Attaches all that this kernel takes.
    pub(super) fn start() -> Result<Self, BenchError> {
        let facts = Facts::gather(&Roots::default(), &[]).map_err(BenchError::Machine)?;
        let preflight = Preflight::new(facts, ServeConfig::default().probe_memory, false)?;
        let Attempt { statuses, attached } = preflight.attach()?;
        let Some(attached) = attached.filter(Attached::observable) else {
            return Err(BenchError::Blind(statuses));
        };
        let fold = Fold::new(PopSource::of(&statuses));
        Ok(Self {
            armed: attached.arm(),
            fold,
        })
    }

    /// What was counted on these maps so far; `None` where nothing was.
    pub(super) fn see(&mut self, maps: &[MapId]) -> Option<Sight> {
        let now = Instant::now();
        let harvest = self.armed.harvest(&BTreeSet::new(), now);
        let snapshot = self.fold.fold(harvest, None, now);
        let mut seen = maps.iter().filter_map(|id| snapshot.maps.get(id));
        let mut stats = MapStats::clone(seen.next()?);
        seen.for_each(|more| stats.absorb(more));
        let losses = losses(&snapshot, &self.armed.misses());
        Some(Sight { stats, losses })
    }
}

/// In words, what the probes did not count or time since they were armed.
fn losses(snapshot: &Snapshot, misses: &BTreeMap<&'static str, u64>) -> Vec<String> {
    let lost = Lost::ALL.into_iter().zip(snapshot.lost);
    let lost = lost.map(|(why, n)| (format!("mapstorm_events_lost_total{{{}}}", why.label()), n));
    let missed = misses
        .iter()
        .map(|(probe, &n)| (format!("mapstorm_probe_misses_total{{{probe}}}"), n));
    lost.chain(missed)
        .filter(|(_, n)| *n > 0)
        .map(|(what, n)| format!("{what} {n}"))
        .collect()
}

impl Sight {
    /// What was seen of one operation, by outcome; `None` where no probe saw any.
    fn seen(&self, op: Op) -> Option<BTreeMap<String, u64>> {
        self.stats
            .ops
            .get(&op)
            .map(|stats| by_label(stats.outcomes))
    }

    /// How long one operation took.
    pub(super) fn durations(&self, op: Op) -> Option<&Durations> {
        self.stats.ops.get(&op)?.durations.as_ref()
    }

    /// Operations of a kind that were seen.
    pub(super) fn count(&self, op: Op) -> Option<u64> {
        self.stats.ops.get(&op).map(|stats| stats.total())
    }

    /// Pops, or the allocations around them where only those are timed, and the word for it.
    pub(super) fn pops(&self) -> Option<(&'static str, &Durations)> {
        let pops = self.stats.pops.as_ref()?;
        let timed = pops.durations.as_ref().map(|durations| ("pop", durations));
        timed.or_else(|| Some(("alloc", pops.alloc.as_ref()?)))
    }

    /// Time waited for each place of locks, as a share of `worked_ns`.
    pub(super) fn waits(&self, worked_ns: u64) -> Vec<Value> {
        let named = LockClass::ALL.into_iter().filter_map(|class| {
            let waited = self.stats.locks.get(&class)?.durations.as_ref()?;
            let name = format!("share of the time in waits for {} locks", class.label());
            Some(share(&name, waited.sum_ns, worked_ns))
        });
        named.collect()
    }
}

/// Median, 99th percentile and number of what was timed.
pub(super) fn quantiles(name: &str, durations: &Durations) -> Vec<Value> {
    let at = |q| durations.quantile_ns(q).map_or(f64::NAN, |ns| ns as f64);
    let mean = durations.sum_ns as f64 / durations.count().max(1) as f64;
    vec![
        Value::new(&format!("{name} p50"), "ns", at(0.5)),
        Value::new(&format!("{name} p99"), "ns", at(0.99)),
        Value::new(&format!("{name} mean"), "ns", mean),
        Value::new(&format!("{name}s timed"), "", durations.count() as f64),
    ]
}

/// `part` of `whole`, both nanoseconds.
pub(super) fn share(name: &str, part: u64, whole: u64) -> Value {
    Value::new(name, "%", 100.0 * part as f64 / whole.max(1) as f64)
}

/// What was done, beside what was seen of it.
pub(super) fn operations(
    map: &str,
    op: Op,
    done: [u64; Outcome::COUNT],
    sight: Option<&Sight>,
) -> Operations {
    Operations {
        map: map.to_owned(),
        op: op.label().to_owned(),
        done: by_label(done),
        seen: sight.and_then(|sight| sight.seen(op)),
    }
}

/// Counts by the label of their outcome, without zeros.
fn by_label(outcomes: [u64; Outcome::COUNT]) -> BTreeMap<String, u64> {
    let named = Outcome::ALL.into_iter().zip(outcomes);
    named
        .filter(|(_, n)| *n > 0)
        .map(|(outcome, n)| (outcome.label().to_owned(), n))
        .collect()
}
