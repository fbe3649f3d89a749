//! What a map that is gone leaves in the tables is given to the next: its slots become tombstones,
//! its timings go to the busiest without any.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::{offset_of, size_of},
    sync::atomic::Ordering,
};

use mapstorm_abi::{
    Slot,
    slot::{KEY_TOMBSTONE, NO_TIMINGS},
};

use super::{
    grace::{Grace, Ticket},
    places::{Place, Places, map_of},
    tables::{Row, Tables, slot_at},
};
use crate::identity::MapId;

/// Maps that the host does not list any more. A program may still be at work on one until a grace
/// period has passed.
#[derive(Debug, Default)]
pub(super) struct Dying {
    tickets: BTreeMap<MapId, Ticket>,
}

impl Dying {
    /// Of the maps that are `gone`, those that no program can reach any more.
    pub(super) fn dead(&mut self, gone: &BTreeSet<MapId>, grace: &mut Grace) -> BTreeSet<MapId> {
        self.tickets.retain(|map, _| gone.contains(map));
        for &map in gone {
            self.tickets.entry(map).or_insert_with(|| grace.ticket());
        }
        let dead = self.tickets.iter();
        let dead = dead.filter(|&(_, &ticket)| grace.has_passed(ticket));
        dead.map(|(&map, _)| map).collect()
    }
}

impl Tables {
    /// Frees every slot of maps that no program can reach any more, and takes out what they say at
    /// last. That is what makes writing another CPU's words safe here.
    pub(super) fn bury(
        &mut self,
        dead: &BTreeSet<MapId>,
        places: &mut Places,
        left: &mut Vec<Row>,
    ) {
        if dead.is_empty() {
            return;
        }
        for (cpu, taken) in places.cpus.iter_mut().enumerate() {
            let gone = |map| dead.contains(&map);
            for place in taken.places.iter().filter(|place| gone(map_of(place.key))) {
                left.extend(self.row(cpu, place));
                self.free(cpu, place);
            }
            taken.free(gone);
        }
    }

    /// Makes a slot a tombstone, and its timings, on their way or not, free.
    fn free(&mut self, cpu: usize, place: &Place) {
        let timings = self.timings(cpu, place);
        let slot = slot_at(place.slot);
        let counters = offset_of!(Slot, outcomes);
        self.clear(cpu, slot + counters, size_of::<Slot>() - counters);
        // Last, so that whoever claims the slot finds it clean.
        let key = self.values.word(cpu, slot + offset_of!(Slot, key));
        key.store(KEY_TOMBSTONE, Ordering::Release);
        let revoked = self.leases[cpu].take_revoked_from(place.slot);
        for timings in [timings, revoked.unwrap_or(NO_TIMINGS)] {
            if self.geometry.has_timings(timings) {
                self.release(cpu, timings);
            }
        }
    }
}
