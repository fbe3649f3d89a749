//! Folds the rows of every CPU into one snapshot: counters merged by map and operation, the host's
//! inventory beside them. Pure, but for the memory of which maps were there.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use mapstorm_abi::{
    Op, Outcome,
    slot::{NAME_LEN, POP_EMPTY, POP_OK},
};

use crate::{
    identity::{MapId, MapType, printable_name},
    kernel::{CpuRow, MapIdentity, Row},
    pops::PopSource,
    snapshot::{Durations, MapStats, OpStats, PopStats, Snapshot},
};

/// A map that is gone stays in the snapshot for this long, so that the last scrape sees its final
/// counts: twice the longest usual scrape interval.
pub const KEPT: Duration = Duration::from_secs(120);

/// The host's inventory as it was last read.
#[derive(Clone, Debug)]
pub struct Listing {
    /// When it was read.
    pub read: Instant,
    /// The maps that were there.
    pub maps: BTreeMap<MapId, MapIdentity>,
}

/// The state between two snapshots.
#[derive(Debug)]
pub struct Fold {
    pops: Option<PopSource>,
    presence: BTreeMap<MapId, Presence>,
    departed: BTreeSet<MapId>,
    /// Pops by CPU of departed maps: a host's sums keep what its dead maps have counted.
    departed_pops: BTreeMap<u32, Durations>,
}

/// A sign of life of one map.
#[derive(Clone, Copy, Debug)]
struct Presence {
    events: u64,
    seen: Instant,
}

impl Fold {
    /// A fold that has seen nothing; `pops` is where the numbers about pops come from.
    pub fn new(pops: Option<PopSource>) -> Self {
        Self {
            pops,
            presence: BTreeMap::new(),
            departed: BTreeSet::new(),
            departed_pops: BTreeMap::new(),
        }
    }

    /// One snapshot of `rows` and `cpus` as of `now`; number, time and misses are the caller's to
    /// fill in. Without a `listing` no map is ever known to be gone.
    pub fn fold(
        &mut self,
        rows: impl IntoIterator<Item = Row>,
        cpus: impl IntoIterator<Item = CpuRow>,
        listing: Option<&Listing>,
        now: Instant,
    ) -> Snapshot {
        let leaving = self.leaving(listing);
        let mut still_there = BTreeSet::new();
        let mut snapshot = Snapshot {
            cpu_pops: self.departed_pops.clone(),
            ..Snapshot::default()
        };
        for row in rows {
            let (id, departed) = (row.map_id, self.departed.contains(&row.map_id));
            if !departed {
                self.count_cpu_pops(&row, leaving.contains(&id), &mut snapshot.cpu_pops);
            }
            if departed || leaving.contains(&id) {
                still_there.insert(id);
                continue;
            }
            let map = snapshot.maps.entry(id);
            let map = map
                .or_insert_with(|| described(row.map_type, row.max_entries, row.flags, &row.name));
            match row.op {
                Op::Update => add_update(map, row, self.pops),
            }
        }
        self.departed = still_there;
        self.look(&snapshot, listing, now);
        for (&id, map) in listing.iter().flat_map(|listing| &listing.maps) {
            let entry = snapshot.maps.entry(id);
            entry.or_insert_with(|| described(map.map_type, map.max_entries, map.flags, &map.name));
        }
        for cpu in cpus {
            add(&mut snapshot.lost, cpu.lost);
            add(&mut snapshot.host.updates, cpu.host_updates);
            add(&mut snapshot.host.pops, cpu.host_pops);
        }
        snapshot
    }

    /// Maps that have left the snapshot while their slots are still taken: free for the asking.
    pub fn departed(&self) -> &BTreeSet<MapId> {
        &self.departed
    }

    /// Maps that have been gone for long enough, as of when the inventory was read: one that
    /// cannot be read any more lets nothing age.
    fn leaving(&self, listing: Option<&Listing>) -> BTreeSet<MapId> {
        let Some(listing) = listing else {
            return BTreeSet::new();
        };
        let gone = self.presence.iter().filter(|(id, presence)| {
            let absent = listing.read.saturating_duration_since(presence.seen);
            !listing.maps.contains_key(id) && absent >= KEPT
        });
        gone.map(|(&id, _)| id).collect()
    }

    /// Adds a row's pops to its CPU's, and to what stays when the map is `leaving`.
    fn count_cpu_pops(&mut self, row: &Row, leaving: bool, cpus: &mut BTreeMap<u32, Durations>) {
        let timed = self.pops == Some(PopSource::Pop) && pops_freelist(row);
        let Some(pops) = row.pop_durations.as_ref().filter(|_| timed) else {
            return;
        };
        cpus.entry(row.cpu).or_default().merge(pops);
        if leaving {
            self.departed_pops.entry(row.cpu).or_default().merge(pops);
        }
    }

    /// Notes which maps give a sign of life: in the inventory, new, or with counters that moved.
    fn look(&mut self, snapshot: &Snapshot, listing: Option<&Listing>, now: Instant) {
        self.presence.retain(|id, _| snapshot.maps.contains_key(id));
        for (&id, map) in &snapshot.maps {
            let (events, seen) = (map.events(), now);
            let presence = self.presence.entry(id).or_insert(Presence { events, seen });
            let listed = listing.is_some_and(|listing| listing.maps.contains_key(&id));
            if listed || presence.events != events {
                *presence = Presence { events, seen };
            }
        }
    }
}

/// A map of which nothing is counted yet.
fn described(kind: u32, max_entries: u32, flags: u32, name: &[u8; NAME_LEN]) -> MapStats {
    MapStats {
        name: printable_name(name),
        kind: MapType(kind),
        max_entries,
        flags,
        entries: None,
        update: None,
        pops: None,
    }
}

fn pops_freelist(row: &Row) -> bool {
    MapType(row.map_type).pops_freelist(row.flags)
}

/// Adds one CPU's updates, and the pops inside them.
fn add_update(map: &mut MapStats, row: Row, source: Option<PopSource>) {
    let exhausted = row.outcomes[Outcome::E2big as usize];
    let update = map.update.get_or_insert_with(OpStats::default);
    add(&mut update.outcomes, row.outcomes);
    if exhausted > 0 {
        let (by_cpu, cpu) = (&mut update.exhausted_by_cpu, row.cpu as usize);
        by_cpu.resize(by_cpu.len().max(cpu + 1), 0);
        by_cpu[cpu] += exhausted;
    }
    merge(&mut update.durations, row.durations);
    let Some(source) = source.filter(|_| map.kind.pops_freelist(map.flags)) else {
        return;
    };
    let pops = map.pops.get_or_insert_with(PopStats::default);
    if source == PopSource::Derived {
        pops.empty += exhausted;
        return;
    }
    *pops.ok.get_or_insert(0) += row.pops[POP_OK];
    pops.empty += row.pops[POP_EMPTY];
    match source {
        PopSource::Alloc => merge(&mut pops.alloc, row.pop_durations),
        _ => merge(&mut pops.durations, row.pop_durations),
    }
}

fn add<const N: usize>(sums: &mut [u64; N], more: [u64; N]) {
    for (sum, n) in sums.iter_mut().zip(more) {
        *sum += n;
    }
}

fn merge(sum: &mut Option<Durations>, more: Option<Durations>) {
    match (sum, more) {
        (Some(sum), Some(more)) => sum.merge(&more),
        (sum @ None, more) => *sum = more,
        (Some(_), None) => {}
    }
}

#[cfg(test)]
mod tests;
