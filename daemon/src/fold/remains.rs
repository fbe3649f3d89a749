//! What remains of maps whose slots are others' now: counts that have left the tables, and maps that
//! are gone and stay for a while.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Live,
    rows::{add_row, described_by, pops_freelist},
};
use crate::{
    departed::{Departed, Totals},
    identity::MapId,
    kernel::Row,
    pops::PopSource,
    snapshot::{Durations, Forgotten, MapStats},
};

/// A map that is gone stays in the snapshot for this long, so that the last scrape sees its final
/// counts: twice the longest usual scrape interval. Its slots are free much earlier.
pub const KEPT: Duration = Duration::from_secs(120);

/// Maps that are gone and stay, at most; then the one that has been gone for longest leaves.
pub const GHOSTS: usize = 1024;

/// What maps have counted in slots and timings that they do not have any more.
#[derive(Debug, Default)]
pub(super) struct Remains {
    past: BTreeMap<MapId, MapStats>,
    /// The same of pops by CPU, for good: a host's sums keep what its dead maps have counted.
    cpu_pops: BTreeMap<u32, Durations>,
    /// Maps that have no rows any more, and since when, the oldest first.
    ghosts: VecDeque<(Instant, MapId)>,
    /// What has left for good, where someone wants to know.
    departed: Option<Departed>,
    forgotten: [u64; Forgotten::COUNT],
}

impl Remains {
    /// The same, which adds up by name what maps had counted that have left.
    pub(super) fn remembering(self) -> Self {
        let departed = Some(Departed::default());
        Self { departed, ..self }
    }

    /// Keeps counts that have left the tables.
    pub(super) fn keep(&mut self, row: Row, source: Option<PopSource>) {
        let pops = pops_freelist(row.counted, row.map_type, row.flags);
        let timed = source == Some(PopSource::Pop) && pops;
        if let Some(pops) = row.pop_durations.as_ref().filter(|_| timed) {
            self.cpu_pops.entry(row.cpu).or_default().merge(pops);
        }
        let past = self.past.entry(row.map_id);
        let past = past.or_insert_with(|| described_by(&row));
        add_row(past, row, source);
    }

    /// What a map has counted that has left the tables, if anything.
    pub(super) fn of(&self, id: MapId) -> Option<&MapStats> {
        self.past.get(&id)
    }

    /// All that the map has counted is in the past, as of `now`.
    pub(super) fn bury(&mut self, id: MapId, now: Instant) {
        self.ghosts.push_back((now, id));
    }

    /// Lets maps go, out of `maps` too, that have been gone for long enough, or of which there are too
    /// many.
    pub(super) fn forget(
        &mut self,
        now: Instant,
        live: &BTreeMap<MapId, Live>,
        maps: &mut BTreeMap<MapId, Arc<MapStats>>,
    ) {
        while let Some(&(since, id)) = self.ghosts.front() {
            let expired = now.saturating_duration_since(since) >= KEPT;
            if !expired && self.ghosts.len() <= GHOSTS {
                break;
            }
            self.ghosts.pop_front();
            if !live.contains_key(&id) {
                self.past.remove(&id);
                let left = maps.remove(&id);
                if let Some((departed, map)) = self.departed.as_mut().zip(left) {
                    departed.add(&map);
                }
            }
            let reason = if expired {
                Forgotten::Expired
            } else {
                Forgotten::Crowded
            };
            self.forgotten[reason as usize] += 1;
        }
    }

    /// What has left for good, by name and type; empty unless it is remembered.
    pub(super) fn departed(&self) -> Arc<Totals> {
        let departed = self.departed.as_ref();
        departed.map(Departed::totals).unwrap_or_default()
    }

    /// Maps that were let go, by [`Forgotten`].
    pub(super) fn forgotten(&self) -> [u64; Forgotten::COUNT] {
        self.forgotten
    }

    /// Pops by CPU, where they are timed: `now` those in the tables, and those that have left them.
    pub(super) fn cpu_pops(
        &self,
        mut now: BTreeMap<u32, Durations>,
        source: Option<PopSource>,
    ) -> BTreeMap<u32, Durations> {
        if source != Some(PopSource::Pop) {
            return BTreeMap::new();
        }
        for (&cpu, past) in &self.cpu_pops {
            now.entry(cpu).or_default().merge(past);
        }
        now
    }

    /// Maps with a past, and maps that are gone and stay.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.past.len(), self.ghosts.len())
    }
}
