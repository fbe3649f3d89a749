//! How much was done on one map, and how long it took.

use std::time::Duration;

use mapstorm_abi::{Op, Outcome};

use super::Rate;
use crate::snapshot::{Durations, MapStats, OpStats};

/// Events by bucket, only those that are not 0, by the bucket's index.
pub type Sparse = Vec<(u8, u64)>;

/// What was done on one map, or on several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// How much.
    pub tally: Tally,
    /// Durations of timed freelist pops.
    pub pop: Sparse,
    /// Durations of timed updates.
    pub update: Sparse,
}

/// How much was done, and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Finished operations.
    pub operations: u64,
    /// Finished updates.
    pub updates: u64,
    /// Operations that were refused.
    pub rejects: u64,
    /// How long those took that were timed, nanoseconds; `None` when none was.
    pub busy_ns: Option<u64>,
}

impl Moved {
    /// What was done on a map from `before` to `now`; `None` is a map that was not there.
    pub fn between(before: Option<&MapStats>, now: &MapStats) -> Self {
        let timed = |of: fn(&MapStats) -> Option<&Durations>| sparse(before.and_then(of), of(now));
        Self {
            tally: Tally::between(before, now),
            pop: timed(|map| map.pops.as_ref()?.durations.as_ref()),
            update: timed(|map| map.ops.get(&Op::Update)?.durations.as_ref()),
        }
    }

    /// Adds what `other` did.
    pub fn add(&mut self, other: &Self) {
        self.tally.add(&other.tally);
        add(&mut self.pop, &other.pop);
        add(&mut self.update, &other.update);
    }
}

impl Tally {
    /// What was done on a map from `before` to `now`.
    pub fn between(before: Option<&MapStats>, now: &MapStats) -> Self {
        let mut tally = Self::default();
        for (op, stats) in &now.ops {
            let earlier = before.and_then(|before| before.ops.get(op));
            let count =
                |of: &dyn Fn(&OpStats) -> u64| of(stats).saturating_sub(earlier.map_or(0, of));
            let finished = count(&OpStats::total);
            tally.operations += finished;
            if *op == Op::Update {
                tally.updates += finished;
            }
            tally.rejects += count(&rejects);
            let timed = |stats: &OpStats| stats.durations.as_ref().map_or(0, |timed| timed.sum_ns);
            let busy = count(&timed);
            if busy > 0 {
                *tally.busy_ns.get_or_insert_default() += busy;
            }
        }
        tally
    }

    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.updates += other.updates;
        self.rejects += other.rejects;
        if let Some(busy) = other.busy_ns {
            *self.busy_ns.get_or_insert_default() += busy;
        }
    }

    /// What maps are ranked by: time where it is known, else how much was done.
    pub fn cost(&self) -> (u64, u64) {
        (self.busy_ns.unwrap_or(0), self.operations)
    }

    /// The same per second, done in `elapsed`, which is not zero.
    pub fn rate(&self, elapsed: Duration) -> Rate {
        let seconds = elapsed.as_secs_f64();
        let per_second = |count: u64| count as f64 / seconds;
        Rate {
            operations: per_second(self.operations),
            updates: per_second(self.updates),
            rejects: per_second(self.rejects),
            busy: self.busy_ns.map(|busy| busy as f64 / 1e9 / seconds),
        }
    }
}

/// Operations that were refused, whatever the reason.
fn rejects(stats: &OpStats) -> u64 {
    let refused = Outcome::ALL.iter().filter(|outcome| outcome.is_reject());
    refused.map(|&outcome| stats.count(outcome)).sum()
}

/// What came into a histogram.
pub(super) fn sparse(before: Option<&Durations>, now: Option<&Durations>) -> Sparse {
    let Some(now) = now else {
        return Sparse::new();
    };
    let counts = now.buckets.iter().enumerate().map(|(index, &count)| {
        let earlier = before.map_or(0, |before| before.buckets[index]);
        (index as u8, count.saturating_sub(earlier))
    });
    counts.filter(|&(_, count)| count > 0).collect()
}

/// Adds `more` to `sum`.
pub(super) fn add(sum: &mut Sparse, more: &Sparse) {
    for &(index, count) in more {
        match sum.binary_search_by_key(&index, |&(index, _)| index) {
            Ok(at) => sum[at].1 += count,
            Err(at) => sum.insert(at, (index, count)),
        }
    }
}
