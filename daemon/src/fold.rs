//! Folds the rows of every CPU into one snapshot: counters merged by map and operation, the host's
//! inventory beside them. Pure, but for the memory of which maps were there and what they counted.

mod remains;
mod rows;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use mapstorm_abi::Lost;

use crate::{
    fill::{self, Books},
    identity::MapId,
    kernel::{Harvest, MapIdentity, Row},
    memory::Memory,
    occupancy,
    pops::PopSource,
    snapshot::{MapStats, Snapshot},
};
use remains::Remains;
pub use remains::{GHOSTS, KEPT};
use rows::{add, add_row, described, described_by};

/// The host's inventory as it was last read.
#[derive(Clone, Debug)]
pub struct Listing {
    /// When it was read.
    pub read: Instant,
    /// The maps that were there.
    pub maps: BTreeMap<MapId, MapIdentity>,
}

/// The state between two snapshots.
#[derive(Debug, Default)]
pub struct Fold {
    pops: Option<PopSource>,
    /// How this kernel tells a map's memory.
    memory: Option<Memory>,
    /// Books of elements, where the kernel does not count them and they can be kept.
    books: Option<Books>,
    /// What was lost and missed so far that books depend on.
    unseen: u64,
    /// The same, as of the fold before.
    unseen_before: u64,
    /// The maps as last published.
    maps: BTreeMap<MapId, Arc<MapStats>>,
    /// Maps with rows in the tables.
    live: BTreeMap<MapId, Live>,
    /// What has left the tables.
    remains: Remains,
    /// Maps with rows that are gone from the host.
    gone: BTreeSet<MapId>,
    /// When the inventory was read that is in `maps`.
    listed: Option<Instant>,
    /// Have updates been refused, since the last fold, by a map that had room as it was listed?
    outrun: bool,
}

/// A sign of life of one map.
#[derive(Clone, Copy, Debug)]
struct Live {
    events: u64,
    /// When its counters last moved.
    moved: Instant,
}

impl Fold {
    /// A fold that has seen nothing; `pops` is where the numbers about pops come from.
    pub fn new(pops: Option<PopSource>) -> Self {
        Self {
            pops,
            ..Self::default()
        }
    }

    /// The same, which tells maps' memory by this kernel's formula.
    pub fn telling(self, memory: Option<Memory>) -> Self {
        Self { memory, ..self }
    }

    /// The same, which keeps books of elements.
    pub fn keeping(self, books: Option<Books>) -> Self {
        Self { books, ..self }
    }

    /// The same, which adds up by name what maps had counted that have left.
    pub fn remembering(self) -> Self {
        Self {
            remains: self.remains.remembering(),
            ..self
        }
    }

    /// Takes in how many runs of probes the kernel has skipped.
    pub fn note_misses(&mut self, misses: &BTreeMap<&'static str, u64>) {
        self.unseen = fill::missed(misses);
    }

    /// The snapshot after `harvest`, as of `now`; number, time and misses are the caller's to fill
    /// in. Without a `listing` no map is ever known to be gone.
    pub fn fold(&mut self, harvest: Harvest, listing: Option<&Listing>, now: Instant) -> Snapshot {
        self.outrun = false;
        let mut lost = [0; Lost::COUNT];
        for cpu in &harvest.cpus {
            add(&mut lost, cpu.lost);
        }
        if let Some(listing) = listing {
            self.begin_books(listing);
        }
        self.distrust(self.unseen + fill::uncounted(&lost), now);
        for row in harvest.left {
            self.remains.keep(row, self.pops);
        }
        self.count(harvest.rows, now);
        for id in harvest.buried {
            self.bury(id, now);
        }
        if let Some(listing) = listing {
            self.list(listing);
        }
        self.remains.forget(now, &self.live, &mut self.maps);
        let mut snapshot = Snapshot {
            maps: self.maps.clone(),
            cpu_pops: self.remains.cpu_pops(harvest.cpu_pops, self.pops),
            room: harvest.room,
            lost,
            departed: self.remains.departed(),
            forgotten: self.remains.forgotten(),
            memory: listing.and_then(|_| Some(self.memory.as_ref()?.quality())),
            ..Snapshot::default()
        };
        for cpu in harvest.cpus {
            add(&mut snapshot.host.updates, cpu.host_updates);
            add(&mut snapshot.host.pops, cpu.host_pops);
            snapshot.samples_due += cpu.samples_due;
        }
        snapshot
    }

    /// Is the inventory too old for what was counted since: has a map refused updates that had room
    /// as it was listed?
    pub fn is_outrun(&self) -> bool {
        self.outrun
    }

    /// Takes a newer inventory into a snapshot just folded.
    pub fn relist(&mut self, listing: Option<&Listing>, snapshot: &mut Snapshot) {
        if let Some(listing) = listing {
            self.list(listing);
            snapshot.maps.clone_from(&self.maps);
        }
    }

    /// Maps with rows that the host has no more: the rows are free for the asking.
    pub fn gone(&self) -> &BTreeSet<MapId> {
        &self.gone
    }

    fn begin_books(&mut self, listing: &Listing) {
        if let Some(books) = &mut self.books {
            books.begin(listing.maps.keys().copied());
        }
    }

    /// Closes the books when something was not counted that they depend on.
    fn distrust(&mut self, unseen: u64, now: Instant) {
        let before = std::mem::replace(&mut self.unseen_before, unseen);
        let Some(books) = self.books.as_mut().filter(|_| unseen != before) else {
            return;
        };
        books.miss(now);
        let kept = |map: &MapStats| map.entries.is_some() && map.kind.pops_freelist(map.flags);
        for map in self.maps.values_mut().filter(|map| kept(map)) {
            Arc::make_mut(map).entries = None;
        }
    }

    /// Counts anew the maps of these rows, which are all the rows that they have.
    fn count(&mut self, rows: Vec<Row>, now: Instant) {
        let mut counted = BTreeMap::<MapId, MapStats>::new();
        for row in rows {
            let map = counted.entry(row.map_id).or_insert_with(|| {
                let past = self.remains.of(row.map_id);
                past.cloned().unwrap_or_else(|| described_by(&row))
            });
            add_row(map, row, self.pops);
        }
        for (id, map) in counted {
            let (events, moved) = (map.events(), now);
            let live = self.live.entry(id).or_insert(Live { events, moved });
            if live.events != events {
                *live = Live { events, moved };
                self.gone.remove(&id);
            }
            self.publish(id, map);
        }
    }

    /// All that the map has counted is in the past.
    fn bury(&mut self, id: MapId, now: Instant) {
        self.live.remove(&id);
        self.gone.remove(&id);
        if let Some(past) = self.remains.of(id) {
            self.publish(id, past.clone());
            if let Some(map) = self.maps.get_mut(&id) {
                Arc::make_mut(map).entries = None;
            }
            self.remains.bury(id, now);
        }
    }

    /// Publishes a map with new counts; what the inventory says of it stays.
    fn publish(&mut self, id: MapId, counted: MapStats) {
        let listed = self.maps.get(&id);
        self.outrun |= listed.is_some_and(|listed| occupancy::is_outrun(listed, &counted));
        let entries = match &mut self.books {
            Some(books) if counted.kind.pops_freelist(counted.flags) => {
                books.turn(id, counted.max_entries, fill::totals(&counted))
            }
            _ => listed.and_then(|listed| listed.entries),
        };
        let map = MapStats {
            entries,
            listed: listed.and_then(|listed| listed.listed),
            ..counted
        };
        self.maps.insert(id, Arc::new(map));
    }

    /// Takes in an inventory that was not taken in yet. A map that it does not have is gone if its
    /// counters have stood still since before it was read: until then the map may be newer.
    fn list(&mut self, listing: &Listing) {
        if self.listed.replace(listing.read) == Some(listing.read) {
            return;
        }
        for (&id, map) in &listing.maps {
            self.maps.entry(id).or_insert_with(|| {
                let map = described(map.map_type, map.max_entries, map.flags, &map.name);
                Arc::new(map)
            });
        }
        let (live, remains) = (&self.live, &self.remains);
        let counted = |id: &MapId| live.contains_key(id) || remains.of(*id).is_some();
        self.maps
            .retain(|id, _| listing.maps.contains_key(id) || counted(id));
        for (id, map) in &mut self.maps {
            let books = self.books.as_mut();
            let books = books.filter(|_| map.kind.pops_freelist(map.flags));
            let kept = books.and_then(|books| books.entries(*id, map.max_entries));
            occupancy::tell(map, listing.maps.get(id), self.memory.as_ref(), kept);
        }
        if let Some(books) = &mut self.books {
            books.listed(listing.read, |id| self.maps.contains_key(&id));
        }
        for (&id, live) in &self.live {
            if listing.maps.contains_key(&id) {
                self.gone.remove(&id);
            } else if live.moved < listing.read {
                self.gone.insert(id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
