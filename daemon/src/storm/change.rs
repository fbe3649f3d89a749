//! What happened to one map within one window: the difference of two snapshots.

use std::time::Duration;

use mapstorm_abi::{LockClass, Op, Outcome};

use crate::{
    identity::MapId,
    snapshot::{Durations, MapStats, Octaves, OpStats},
};

/// Operations whose durations tell of a fight: those of one element under its bucket's lock. How long
/// a batch takes is a matter of its size, and local storage has no buckets of the map's own to wait
/// for.
const FOUGHT: [Op; 3] = [Op::Update, Op::Delete, Op::LookupAndDelete];

/// One map's window: its counters at both ends. The window is never empty in time.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The map's id.
    pub id: MapId,
    /// The map at the window's end.
    pub map: &'a MapStats,
    before: Option<&'a MapStats>,
    seconds: f64,
}

impl<'a> Change<'a> {
    /// The window of map `id` that ended with `map`. Everything counted is new where the map was
    /// not there `before`, or was another map. `None` for a window of no time.
    pub fn new(
        id: MapId,
        before: Option<&'a MapStats>,
        map: &'a MapStats,
        elapsed: Duration,
    ) -> Option<Self> {
        (!elapsed.is_zero()).then(|| Self {
            id,
            map,
            before: before.filter(|before| is_same(before, map)),
            seconds: elapsed.as_secs_f64(),
        })
    }

    /// Updates that ended with `outcome` in the window.
    pub fn updates(&self, outcome: Outcome) -> u64 {
        let before = self.before.map_or(0, |before| before.updates(outcome));
        self.map.updates(outcome).saturating_sub(before)
    }

    /// CPUs on which updates were refused by exhaustion in the window.
    pub fn exhausted_cpus(&self) -> u32 {
        self.cpus(MapStats::exhausted_by_cpu)
    }

    /// CPUs on which updates were refused for want of memory in the window.
    pub fn starved_cpus(&self) -> u32 {
        self.cpus(MapStats::starved_by_cpu)
    }

    fn cpus(&self, by_cpu: fn(&MapStats) -> &[u64]) -> u32 {
        let before = self.before.map_or(&[][..], by_cpu);
        let grown = grown(by_cpu(self.map), before);
        grown.filter(|&n| n > 0).count() as u32
    }

    /// Operations on single elements that were timed in the window, and how long they took.
    pub fn timed(&self) -> impl Iterator<Item = (Op, Durations)> {
        FOUGHT.into_iter().filter_map(|op| {
            let now = self.map.ops.get(&op)?.durations.as_ref()?;
            let before = self.before_of(op).and_then(|op| op.durations.as_ref());
            let window = now.since(before);
            (window.count() > 0).then_some((op, window))
        })
    }

    /// Operations of the window by CPU.
    pub fn by_cpu(&self, op: Op) -> Vec<u64> {
        let by_cpu = |of: Option<&'a OpStats>| of.map_or(&[][..], |of| &of.by_cpu);
        let now = by_cpu(self.map.ops.get(&op));
        grown(now, by_cpu(self.before_of(op))).collect()
    }

    /// How long the operations of the window took on each CPU.
    pub fn octaves(&self, op: Op) -> Vec<Octaves> {
        let by_cpu = |of: Option<&'a OpStats>| of.map_or(&[][..], |of| &of.octaves_by_cpu);
        let now = by_cpu(self.map.ops.get(&op)).iter();
        let before = by_cpu(self.before_of(op)).iter().copied();
        now.zip(before.chain(std::iter::repeat(Octaves::default())))
            .map(|(now, before)| now.since(&before))
            .collect()
    }

    /// Pops of the window that were timed; where only the allocation around a pop can be timed, that.
    /// Neither waits for a bucket's lock.
    pub fn pops(&self) -> Option<Durations> {
        let now = self.map.pops.as_ref()?;
        let before = self.before.and_then(|map| map.pops.as_ref());
        let (now, before) = match &now.durations {
            Some(now) => (now, before.and_then(|pops| pops.durations.as_ref())),
            None => (
                now.alloc.as_ref()?,
                before.and_then(|pops| pops.alloc.as_ref()),
            ),
        };
        Some(now.since(before))
    }

    /// Time waited in the window for locks of a class, by CPU, nanoseconds.
    pub fn waited_ns(&self, class: LockClass) -> Vec<u64> {
        let waited = |map: &'a MapStats| {
            let locks = map.locks.get(&class);
            locks.map_or(&[][..], |locks| &locks.waited_ns_by_cpu)
        };
        let before = self.before.map_or(&[][..], waited);
        grown(waited(self.map), before).collect()
    }

    /// Waits for locks of a class that ended in the window.
    pub fn waits(&self, class: LockClass) -> u64 {
        let count = |map: &'a MapStats| -> u64 {
            map.locks
                .get(&class)
                .map_or(0, |locks| locks.outcomes.iter().sum())
        };
        let before = self.before.map_or(0, count);
        count(self.map).saturating_sub(before)
    }

    /// Operations of the window on single elements.
    pub fn operations(&self) -> u64 {
        { FOUGHT.into_iter() }
            .map(|op| self.by_cpu(op).iter().sum::<u64>())
            .sum()
    }

    fn before_of(&self, op: Op) -> Option<&'a OpStats> {
        self.before.and_then(|before| before.ops.get(&op))
    }

    /// Length of the window, seconds; above 0.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// `count` events of the window, per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
}

/// By how much each count has grown; a CPU that was not there before counts from zero.
fn grown(now: &[u64], before: &[u64]) -> impl Iterator<Item = u64> {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    now.iter()
        .zip(before)
        .map(|(&now, before)| now.saturating_sub(before))
}

/// Is `now` the map that `before` was? Ids are reused, counters of one map only grow.
pub(super) fn is_same(before: &MapStats, now: &MapStats) -> bool {
    let identity = |map: &MapStats| (map.kind, map.max_entries, map.flags);
    let grew = |a: &[u64], b: &[u64]| {
        let b = b.iter().copied().chain(std::iter::repeat(0));
        a.iter().zip(b).all(|(&a, b)| a <= b)
    };
    identity(before) == identity(now)
        && before.name == now.name
        && grew(before.update_outcomes(), now.update_outcomes())
        && grew(before.exhausted_by_cpu(), now.exhausted_by_cpu())
}

#[cfg(test)]
pub(super) mod tests {
    use mapstorm_abi::bucket;

    use super::*;
    use crate::identity::MapType;

    /// A preallocated hash of 1,000 entries, refused this often per CPU.
    pub(in crate::storm) fn map(exhausted_by_cpu: &[u64], entries: Option<u64>) -> MapStats {
        let mut update = OpStats {
            exhausted_by_cpu: exhausted_by_cpu.to_vec(),
            ..OpStats::default()
        };
        update.outcomes[Outcome::E2big as usize] = exhausted_by_cpu.iter().sum();
        MapStats {
            name: "flows".to_owned(),
            kind: MapType::HASH,
            max_entries: 1000,
            flags: 0,
            entries,
            listed: None,
            ops: [(Op::Update, update)].into(),
            pops: None,
            locks: Default::default(),
        }
    }

    /// The same map, not refused, with updates on CPUs of so many nanoseconds each: (CPU, ns, calls).
    pub(in crate::storm) fn timed(calls: &[(usize, u64, u64)]) -> MapStats {
        let mut map = map(&[], Some(500));
        let update = map.ops.get_mut(&Op::Update).unwrap();
        for &(cpu, ns, calls) in calls {
            let durations = update.durations.get_or_insert_default();
            durations.buckets[bucket::index(ns)] += calls;
            durations.sum_ns += ns * calls;
            update.by_cpu.resize(update.by_cpu.len().max(cpu + 1), 0);
            update.by_cpu[cpu] += calls;
            let mut of_cpu = Durations::default();
            of_cpu.buckets[bucket::index(ns)] = calls;
            update.octaves_on(cpu).add(&of_cpu);
            update.outcomes[Outcome::Ok as usize] += calls;
        }
        map
    }

    #[test]
    fn differences_are_taken_per_cpu_and_a_new_cpu_counts_from_zero() {
        let (before, now) = (map(&[5, 7], None), map(&[5, 9, 1], None));
        let change = Change::new(1, Some(&before), &now, Duration::from_millis(500)).unwrap();
        assert_eq!(change.updates(Outcome::E2big), 3);
        assert_eq!(change.exhausted_cpus(), 2);
        assert_eq!(change.per_second(3), 6.0);
    }

    #[test]
    fn a_counter_that_went_back_is_another_map_and_starts_from_zero() {
        let (before, now) = (map(&[500], None), map(&[4], None));
        let change = Change::new(1, Some(&before), &now, Duration::from_secs(1)).unwrap();
        assert_eq!(change.updates(Outcome::E2big), 4);
        assert!(!is_same(&before, &now));
        assert!(is_same(&now, &now));
    }

    #[test]
    fn a_window_of_no_time_is_no_window() {
        assert!(Change::new(1, None, &map(&[9], None), Duration::ZERO).is_none());
    }
}
