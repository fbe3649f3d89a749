//! How much longer the operations on one map took than in calm, in one window.
//!
//! That is told by medians, not by the sum of what single calls took: where CPUs are virtual, one may be taken
//! away for milliseconds in the middle of a call, and a few such calls would make a storm of a map that nobody
//! else touches. They do not move a median. A fight does, because all who fight wait; and only the whole window's
//! calls that have shifted together count, from `latency_shift` times the calm median on: caches, clock rates and
//! another mix of hits and misses shift a median, too, but not as far as queues do.
//!
//! Locks are not always fair. Test-and-set locks of virtual machines go to the CPU that has them in its cache, and a
//! CPU that fills its own lists under a lock needs it seldom: one CPU may make nearly all calls, none of them long, while the
//! others get a call through now and then (1,225,000 a second beside 1,600, drill of kind `lru` on 5.10). So each
//! CPU's own median counts as well, from `starved_shift` times the map's calm on: that much no other mix of calls does.

use mapstorm_abi::Op;

use super::{
    Change, ContentionThresholds, LatencyShift,
    calm::{Calm, ENOUGH, is_enough},
};
use crate::snapshot::Durations;

/// What a window's operations took above their calm medians.
#[derive(Debug, Default)]
pub(super) struct Excess {
    /// By CPU, seconds.
    pub(super) by_cpu: Vec<f64>,
    /// All of it; `None` where too few were timed.
    pub(super) all: Option<f64>,
    /// That of updates.
    pub(super) at_update: f64,
    /// The operation that lost most by it, else the most frequent.
    pub(super) latency: Option<LatencyShift>,
}

/// By how much calls took longer than in calm.
pub(super) struct Shift {
    median: f64,
    calm: f64,
    is_learnt: bool,
    /// All calls of the window together, seconds.
    pub(super) excess: f64,
}

/// CPUs that hardly get their calls through, while others do.
struct Starved {
    /// What each lost at least, seconds.
    by_cpu: Vec<f64>,
    cpus: u32,
    /// The least of their medians, nanoseconds.
    median: f64,
}

impl Excess {
    pub(super) fn of(
        change: &Change<'_>,
        calm: Option<&Calm>,
        thresholds: &ContentionThresholds,
    ) -> Self {
        let mut sum = Self::default();
        let mut worst = (0.0, 0);
        for (op, durations) in change.timed() {
            let learnt = calm.and_then(|calm| calm.median(op));
            let Some(shift) = Shift::of(&durations, learnt, thresholds) else {
                continue;
            };
            let starved = Starved::of(change, op, shift.calm, thresholds);
            let by_cpu = shared(&change.by_cpu(op), &shift, &starved);
            let excess: f64 = by_cpu.iter().sum();
            *sum.all.get_or_insert(0.0) += excess;
            if op == Op::Update {
                sum.at_update = excess;
            }
            sum.by_cpu.resize(sum.by_cpu.len().max(by_cpu.len()), 0.0);
            for (sum, excess) in sum.by_cpu.iter_mut().zip(by_cpu) {
                *sum += excess;
            }
            let rank = (excess, durations.count());
            if sum.latency.is_none() || rank > worst {
                worst = rank;
                sum.latency = Some(told(op, &shift, &starved));
            }
        }
        sum
    }
}

impl Shift {
    /// `None` where too few calls were timed to say.
    pub(super) fn of(
        durations: &Durations,
        learnt: Option<f64>,
        thresholds: &ContentionThresholds,
    ) -> Option<Self> {
        let median = durations.median_ns().filter(|_| is_enough(durations))?;
        let assumed = thresholds.calm_latency.as_nanos() as f64;
        let calm = learnt.unwrap_or(assumed);
        let least = learnt.map_or(assumed, |calm| calm * thresholds.latency_shift);
        let excess = if median > least { median - calm } else { 0.0 };
        Some(Self {
            median,
            calm,
            is_learnt: learnt.is_some(),
            excess: excess * durations.count() as f64 / 1e9,
        })
    }
}

impl Starved {
    fn of(change: &Change<'_>, op: Op, calm: f64, thresholds: &ContentionThresholds) -> Self {
        let mut starved = Self {
            by_cpu: Vec::new(),
            cpus: 0,
            median: f64::INFINITY,
        };
        for octaves in change.octaves(op) {
            let (calls, median) = (octaves.count(), octaves.median_floor_ns() as f64);
            let is_starved = calls >= ENOUGH && median >= calm * thresholds.starved_shift;
            starved.by_cpu.push(if is_starved {
                starved.cpus += 1;
                starved.median = starved.median.min(median);
                (median - calm) * calls as f64 / 1e9
            } else {
                0.0
            });
        }
        starved
    }

    fn all(&self) -> f64 {
        self.by_cpu.iter().sum()
    }
}

/// What each CPU lost: its share of the whole shift, by how many of the operations were its own, or what it lost for
/// itself, whichever is more.
fn shared(operations: &[u64], shift: &Shift, starved: &Starved) -> Vec<f64> {
    let all = operations.iter().sum::<u64>().max(1) as f64;
    let shares = operations.iter().map(|&n| shift.excess * n as f64 / all);
    let mut by_cpu: Vec<f64> = shares.collect();
    by_cpu.resize(by_cpu.len().max(starved.by_cpu.len()), 0.0);
    for (lost, starved) in by_cpu.iter_mut().zip(&starved.by_cpu) {
        *lost = lost.max(*starved);
    }
    by_cpu
}

/// The shift of all calls, or that of a few starved CPUs where that is most of it.
fn told(op: Op, shift: &Shift, starved: &Starved) -> LatencyShift {
    let is_of_few = starved.all() > shift.excess;
    let median = if is_of_few {
        starved.median
    } else {
        shift.median
    };
    LatencyShift {
        op: op.label().into(),
        median_ns: median.round() as u64,
        calm_ns: shift.calm.round() as u64,
        calm_is_learnt: shift.is_learnt,
        ratio: median / shift.calm.max(1.0),
        starved_cpus: is_of_few.then_some(starved.cpus),
    }
}
