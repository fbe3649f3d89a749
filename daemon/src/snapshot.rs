//! What one sample of the kernel's tables says, folded over CPUs: immutable, shared by every
//! reader. All counts are totals since the probes were armed; readers take differences.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use mapstorm_abi::{
    Lost, Outcome,
    bucket::{BOUNDS_NS, BUCKETS},
};

use crate::identity::{MapId, MapType};

/// One sample of everything the probes have counted.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Number of the sample window that ended with this snapshot; the first is 1.
    pub window: u64,
    /// When the sample was taken, wall clock.
    pub taken: Option<SystemTime>,
    /// Time since the previous sample, monotonic; zero for the first.
    pub elapsed: Duration,
    /// Every map of the host's inventory or seen by a probe, by id; see [`Fold`](crate::fold::Fold)
    /// for how long one that is gone stays.
    pub maps: BTreeMap<MapId, MapStats>,
    /// Freelist pops by the CPU they ran on, where pops are timed.
    pub cpu_pops: BTreeMap<u32, Durations>,
    /// Counts of all maps together, where no probe can tell them apart.
    pub host: HostStats,
    /// Events or timings lost, by [`Lost`].
    pub lost: [u64; Lost::COUNT],
    /// Runs that the kernel skipped because the program was running on that CPU already.
    pub misses: BTreeMap<&'static str, u64>,
}

/// Counts without a map, by programs only: they mean something where a return probe is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// Finished updates by [`Outcome`].
    pub updates: [u64; Outcome::COUNT],
    /// Pops that returned an element, and pops that found none.
    pub pops: [u64; 2],
}

/// What is known of one map.
#[derive(Clone, Debug)]
pub struct MapStats {
    /// The map's name, escaped so that distinct names stay distinct.
    pub name: String,
    /// Its type.
    pub kind: MapType,
    /// `max_entries` as the map was created.
    pub max_entries: u32,
    /// `map_flags` as the map was created.
    pub flags: u32,
    /// Elements in the map now, where the plan can tell; `None` is "unknown", never a guess.
    pub entries: Option<u64>,
    /// Updates; `None` while no probe has seen one, be it that there was none or that none can be
    /// seen: nothing is published then, not even a zero.
    pub update: Option<OpStats>,
    /// Freelist pops, where the plan can see them (directly or through `alloc_htab_elem`).
    pub pops: Option<PopStats>,
}

impl MapStats {
    /// Share of `max_entries` in use, 0 to 1; `None` where the entries are unknown. Entries are
    /// summed over CPUs that go on counting, so the sum may pass `max_entries` by a few.
    pub fn fill(&self) -> Option<f64> {
        let entries = self.entries.filter(|_| self.max_entries > 0)?;
        Some((entries as f64 / f64::from(self.max_entries)).min(1.0))
    }

    /// Finished updates by [`Outcome`]; empty where none was seen.
    pub fn update_outcomes(&self) -> &[u64] {
        self.update.as_ref().map_or(&[], |update| &update.outcomes)
    }

    /// Updates refused because the map was exhausted, by CPU; empty where none was.
    pub fn exhausted_by_cpu(&self) -> &[u64] {
        let update = self.update.as_ref();
        update.map_or(&[], |update| &update.exhausted_by_cpu)
    }

    /// Finished updates with this outcome; 0 where none was seen.
    pub fn updates(&self, outcome: Outcome) -> u64 {
        let update = self.update.as_ref();
        update.map_or(0, |update| update.count(outcome))
    }

    /// All that was counted on the map: it moves while the map is in use.
    pub fn events(&self) -> u64 {
        let pops = self.pops.as_ref();
        let pops = pops.map_or(0, |pops| pops.ok.unwrap_or(0) + pops.empty);
        self.update_outcomes().iter().sum::<u64>() + pops
    }
}

/// One operation on one map.
#[derive(Clone, Debug, Default)]
pub struct OpStats {
    /// Finished operations by [`Outcome`].
    pub outcomes: [u64; Outcome::COUNT],
    /// Durations of those that were timed.
    pub durations: Option<Durations>,
    /// Updates refused because the map was exhausted (`e2big`), by CPU; empty when none was.
    pub exhausted_by_cpu: Vec<u64>,
}

impl OpStats {
    /// Finished operations with this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }
}

/// Freelist pops of one map.
#[derive(Clone, Debug, Default)]
pub struct PopStats {
    /// Pops that returned an element; `None` where only the empty ones can be told, from refused
    /// updates.
    pub ok: Option<u64>,
    /// Pops that found every list empty.
    pub empty: u64,
    /// How long they took, where pops themselves are timed (6.12 and older).
    pub durations: Option<Durations>,
    /// How long `alloc_htab_elem` took, where only that can be hooked (6.13 and newer); not a pop.
    pub alloc: Option<Durations>,
}

/// Durations in the buckets of [`mapstorm_abi::bucket`]. The count is derived, never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durations {
    /// Events per bucket, the last is above every bound.
    pub buckets: Box<[u64; BUCKETS]>,
    /// Sum of the durations, nanoseconds.
    pub sum_ns: u64,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            sum_ns: 0,
        }
    }
}

impl Durations {
    /// Events timed.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Adds the events of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (sum, n) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *sum += n;
        }
        self.sum_ns += other.sum_ns;
    }

    /// Upper bound, in nanoseconds, of the bucket that holds the `q`-quantile (0 ≤ q ≤ 1): no more
    /// than a quarter octave above the true value. `None` when nothing was timed; `u64::MAX` above
    /// the last bound.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((count as f64 * q).ceil() as u64).clamp(1, count);
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|&n| {
            seen += n;
            seen >= rank
        })?;
        Some(BOUNDS_NS[bucket])
    }
}
