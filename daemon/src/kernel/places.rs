//! Which slots are taken, and whose counters have moved: what a sample has to read, and what not.

use std::{
    collections::HashMap,
    mem::{offset_of, size_of},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use mapstorm_abi::{
    CpuState, Outcome, Slot,
    slot::{KEY_EMPTY, KEY_TOMBSTONE},
};

use super::{table::Table, tables::slot_at};
use crate::identity::MapId;

/// A map is read for this long after its counters last moved. A program adds to a histogram after it
/// has counted, and may have been kept from its CPU in between.
pub(super) const FRESH: Duration = Duration::from_secs(2);

/// Words of counters in a slot.
const WORDS: usize = (size_of::<Slot>() - offset_of!(Slot, outcomes)) / 8;

/// A slot that is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Which one.
    pub(super) slot: u32,
    /// Its key.
    pub(super) key: u64,
    /// Finished operations when last looked at.
    pub(super) operations: u64,
    /// All its counters together, likewise.
    sum: u64,
}

/// The slots of one CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    /// Those that are taken, by slot.
    pub(super) places: Vec<Place>,
    /// When any of its counters last moved.
    pub(super) moved: Option<Instant>,
    /// Slots that were given back.
    freed: u32,
}

/// The slots of all CPUs.
#[derive(Debug)]
pub(super) struct Places {
    /// By CPU.
    pub(super) cpus: Vec<Taken>,
    moved: HashMap<MapId, Instant>,
}

impl Places {
    /// Nothing is taken on so many CPUs.
    pub(super) fn new(cpus: usize) -> Self {
        Self {
            cpus: vec![Taken::default(); cpus],
            moved: HashMap::new(),
        }
    }

    /// Looks at every counter, and for new slots on CPUs that have claimed any.
    pub(super) fn look(&mut self, values: &Table, slots: usize, now: Instant) {
        self.moved
            .retain(|_, moved| now.saturating_duration_since(*moved) < FRESH);
        for (cpu, taken) in self.cpus.iter_mut().enumerate() {
            let claims = values.half(cpu, offset_of!(CpuState, claims));
            let claims = claims.load(Ordering::Acquire).wrapping_sub(taken.freed);
            // A claim is counted before its key is written: what is not found now is found later.
            if claims as usize != taken.places.len() {
                taken.find(values, cpu, slots);
            }
            for place in &mut taken.places {
                if place.look(values, cpu) {
                    taken.moved = Some(now);
                    self.moved.insert(map_of(place.key), now);
                }
            }
        }
    }

    /// Has any counter of the map moved lately?
    pub(super) fn has_moved(&self, map: MapId) -> bool {
        self.moved.contains_key(&map)
    }

    /// Has the map read at the next look in any case.
    pub(super) fn touch(&mut self, map: MapId, now: Instant) {
        self.moved.insert(map, now);
    }

    /// Most slots that any CPU has taken.
    pub(super) fn most(&self) -> usize {
        let taken = self.cpus.iter().map(|taken| taken.places.len());
        taken.max().unwrap_or(0)
    }
}

impl Taken {
    /// Finds all slots that are taken.
    fn find(&mut self, values: &Table, cpu: usize, slots: usize) {
        let known: HashMap<u32, Place> = self.places.iter().map(|p| (p.slot, *p)).collect();
        self.places.clear();
        for slot in 0..slots as u32 {
            let key = values.word(cpu, slot_at(slot) + offset_of!(Slot, key));
            // The key is written last, so what it stands for is there once it is.
            let key = key.load(Ordering::Acquire);
            if key == KEY_EMPTY || key == KEY_TOMBSTONE {
                continue;
            }
            let new = Place {
                slot,
                key,
                operations: 0,
                sum: 0,
            };
            let known = known.get(&slot).filter(|place| place.key == key);
            self.places.push(known.copied().unwrap_or(new));
        }
    }

    /// Was any slot ever given back?
    pub(super) fn has_freed(&self) -> bool {
        self.freed > 0
    }

    /// Gives up the places of `gone`, whose slots are free again.
    pub(super) fn free(&mut self, gone: impl Fn(MapId) -> bool) {
        let before = self.places.len();
        self.places.retain(|place| !gone(map_of(place.key)));
        let freed = before - self.places.len();
        self.freed = self.freed.wrapping_add(freed as u32);
    }
}

impl Place {
    /// Has any of its counters moved since the last look?
    fn look(&mut self, values: &Table, cpu: usize) -> bool {
        let at = slot_at(self.slot) + offset_of!(Slot, outcomes);
        let counters: [u64; WORDS] = values.words(cpu, at);
        let before = self.sum;
        self.sum = counters.iter().sum();
        self.operations = counters[..Outcome::COUNT].iter().sum();
        self.sum != before
    }
}

/// The map of a slot's key.
pub(super) fn map_of(key: u64) -> MapId {
    (key >> 32) as u32
}
