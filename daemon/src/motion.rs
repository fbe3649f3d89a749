//! What happened between two snapshots: how much was done on each map, and how long it took. The last
//! minute of it is kept, so that who starts to look sees where it came from.
//!
//! Bounded however many maps there are: histograms are kept of the maps that cost most, and of those
//! with an open storm.

mod moved;
mod pace;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, SystemTime},
};

pub use moved::{Moved, Sparse, Tally};
pub use pace::{Pace, Rate, Recent};

use crate::{identity::MapId, snapshot::Snapshot};

/// Maps whose histograms a motion keeps, those with a storm not counted.
pub const MAPS_KEPT: usize = 64;
/// CPUs whose pops it keeps.
pub const CPUS_KEPT: usize = 128;
/// Windows that are kept.
pub const WINDOWS_KEPT: usize = 240;

/// What happened in one sample window, or in several that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// Number of the last window.
    pub window: u64,
    /// How many windows it is the sum of.
    pub windows: u64,
    /// When the last one ended, wall clock.
    pub taken: Option<SystemTime>,
    /// How long they took together.
    pub elapsed: Duration,
    /// Maps on which something happened.
    pub moved: usize,
    /// All maps together.
    pub host: Moved,
    /// The maps that cost most, by id.
    pub maps: BTreeMap<MapId, Moved>,
    /// Timed pops by CPU, the busiest CPUs.
    pub cpus: BTreeMap<u32, Sparse>,
}

/// The last motions, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<VecDeque<Arc<Motion>>>);

impl Motion {
    /// What happened from `before` to `now`, which follows it. The maps that `keep` names are kept whatever
    /// they cost.
    pub fn between(before: &Snapshot, now: &Snapshot, keep: impl Fn(MapId) -> bool) -> Self {
        let mut motion = Self {
            window: now.window,
            windows: 1,
            taken: now.taken,
            elapsed: now.elapsed,
            ..Self::default()
        };
        for (&id, map) in &now.maps {
            let earlier = before.maps.get(&id);
            // A map that has not changed is the very same.
            if earlier.is_some_and(|earlier| Arc::ptr_eq(earlier, map)) {
                continue;
            }
            let moved = Moved::between(earlier.map(|earlier| &**earlier), map);
            if moved.tally.operations > 0 {
                motion.host.add(&moved);
                motion.maps.insert(id, moved);
            }
        }
        for (&cpu, pops) in &now.cpu_pops {
            let pops = moved::sparse(before.cpu_pops.get(&cpu), Some(pops));
            if !pops.is_empty() {
                motion.cpus.insert(cpu, pops);
            }
        }
        motion.moved = motion.maps.len();
        motion.bound(keep);
        motion
    }

    /// The sum of motions that follow each other; `None` of none.
    fn sum<'a>(
        motions: impl Iterator<Item = &'a Self>,
        keep: impl Fn(MapId) -> bool,
    ) -> Option<Self> {
        let sum = motions.cloned().reduce(|mut sum, next| {
            sum.window = next.window;
            sum.windows += next.windows;
            sum.taken = next.taken;
            sum.elapsed += next.elapsed;
            sum.moved = sum.moved.max(next.moved);
            sum.host.add(&next.host);
            for (id, moved) in &next.maps {
                sum.maps.entry(*id).or_default().add(moved);
            }
            for (cpu, pops) in &next.cpus {
                moved::add(sum.cpus.entry(*cpu).or_default(), pops);
            }
            sum
        });
        sum.map(|mut sum| {
            sum.moved = sum.moved.max(sum.maps.len());
            sum.bound(keep);
            sum
        })
    }

    /// Leaves out the maps that cost least, and the idlest CPUs.
    fn bound(&mut self, keep: impl Fn(MapId) -> bool) {
        if self.maps.len() > MAPS_KEPT {
            let mut ranks: Vec<_> = { &self.maps }
                .iter()
                .map(|(&id, moved)| (Reverse(moved.tally.cost()), id))
                .collect();
            ranks.sort_unstable();
            for (_, id) in ranks.drain(MAPS_KEPT..).filter(|&(_, id)| !keep(id)) {
                self.maps.remove(&id);
            }
        }
        if self.cpus.len() > CPUS_KEPT {
            let mut ranks: Vec<_> = { &self.cpus }
                .iter()
                .map(|(&cpu, pops)| (Reverse(pops.iter().map(|pair| pair.1).sum::<u64>()), cpu))
                .collect();
            ranks.sort_unstable();
            for (_, cpu) in ranks.drain(CPUS_KEPT..) {
                self.cpus.remove(&cpu);
            }
        }
    }
}

impl History {
    /// The history with one more motion, without the oldest when there are too many.
    #[must_use]
    pub fn with(&self, motion: Motion) -> Self {
        let old = self.0.len().saturating_sub(WINDOWS_KEPT - 1);
        let kept = self.0.iter().skip(old).cloned();
        Self(Arc::new(kept.chain([Arc::new(motion)]).collect()))
    }

    /// The motions, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Motion> {
        self.0.iter().map(|motion| &**motion)
    }

    /// The sum of what happened after window `after`, as far back as it is kept; `None` when nothing
    /// came after it.
    pub fn since(&self, after: u64, keep: impl Fn(MapId) -> bool) -> Option<Motion> {
        let first = self.0.partition_point(|motion| motion.window <= after);
        Motion::sum(self.iter().skip(first), keep)
    }
}

#[cfg(test)]
mod tests;
