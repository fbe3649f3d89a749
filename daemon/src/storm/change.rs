//! What happened to one map within one window: the difference of two snapshots.

use std::time::Duration;

use mapstorm_abi::Outcome;

use crate::{identity::MapId, snapshot::MapStats};

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
        let before = self.before.map_or(&[][..], MapStats::exhausted_by_cpu);
        let grown = |(cpu, &now): (usize, &u64)| now > before.get(cpu).copied().unwrap_or(0);
        let cpus = self.map.exhausted_by_cpu().iter().enumerate();
        cpus.filter(|&cpu| grown(cpu)).count() as u32
    }

    /// `count` events of the window, per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }
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
    use super::*;
    use crate::{identity::MapType, snapshot::OpStats};

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
            update: Some(update),
            pops: None,
        }
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
