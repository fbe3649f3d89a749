//! Timings on loan: those of one CPU go to the slots that use them most. Programs run at any time on
//! any CPU, so timings change hands in three steps. Their slot is told that it has none; a grace
//! period passes, after which no program knows them any more; what they have counted is taken out,
//! and another slot is told that it has them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    mem::{offset_of, size_of},
    sync::atomic::Ordering,
};

use mapstorm_abi::{CpuState, Slot, Timings, slot::NO_TIMINGS};

use super::{
    grace::{Grace, Ticket},
    places::{Place, Places},
    tables::{Geometry, Row, Tables, slot_at},
};
use crate::busiest::{Busiest, Pair, Standing};

/// The timings of one CPU that no slot has, besides those that were never handed out.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases {
    /// Zeroed, for the next that is worth them; offsets in the CPU's value, bytes.
    pub(super) free: Vec<u32>,
    /// Taken from a slot, but programs may still know them.
    pub(super) revoked: Vec<Revoked>,
}

/// Timings on their way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revoked {
    /// The slot they were taken from.
    pub(super) place: Place,
    /// Their offset, bytes.
    pub(super) timings: u32,
    /// When nobody knows them any more.
    ticket: Ticket,
}

impl Geometry {
    /// Is this the offset of timings, and not [`NO_TIMINGS`]?
    pub(super) fn has_timings(&self, offset: u32) -> bool {
        (offset as usize) < self.timings_at(self.timings)
    }
}

impl Leases {
    /// The timings taken from a slot that are still on their way.
    pub(super) fn revoked_from(&self, slot: u32) -> Option<u32> {
        let mut revoked = self.revoked.iter();
        let found = revoked.find(|revoked| revoked.place.slot == slot);
        found.map(|revoked| revoked.timings)
    }

    /// Takes them off their way: their slot's map is gone, and so is everyone who knew them.
    pub(super) fn take_revoked_from(&mut self, slot: u32) -> Option<u32> {
        let timings = self.revoked_from(slot)?;
        self.revoked.retain(|revoked| revoked.timings != timings);
        Some(timings)
    }
}

impl Tables {
    /// Takes out what revoked timings have counted, if nobody knows them any more.
    pub(super) fn settle(&mut self, grace: &Grace, left: &mut Vec<Row>) {
        for cpu in 0..self.geometry.cpus {
            let passed = |revoked: &mut Revoked| grace.has_passed(revoked.ticket);
            let passed: Vec<_> = self.leases[cpu].revoked.extract_if(.., passed).collect();
            for revoked in passed {
                // What the slot's row has said of them so far, the map's past says from now on.
                let row = self.row_with(cpu, &revoked.place, revoked.timings);
                left.extend(row.map(Row::without_counts));
                self.release(cpu, revoked.timings);
            }
        }
    }

    /// Zeroes timings that nobody knows any more, and keeps them for the next.
    pub(super) fn release(&mut self, cpu: usize, timings: u32) {
        self.clear(cpu, timings as usize, size_of::<Timings>());
        self.leases[cpu].free.push(timings);
    }

    /// Is there any slot without timings?
    pub(super) fn lack_timings(&self, places: &Places) -> bool {
        let mut cpus = places.cpus.iter().enumerate();
        cpus.any(|(cpu, taken)| {
            let mut places = taken.places.iter();
            places.any(|place| !self.geometry.has_timings(self.timings(cpu, place)))
        })
    }

    /// How every pair does, all CPUs together.
    pub(super) fn standings(&self, places: &Places) -> BTreeMap<Pair, Standing> {
        let mut standings = BTreeMap::<Pair, Standing>::new();
        for (cpu, taken) in places.cpus.iter().enumerate() {
            for place in &taken.places {
                let standing = standings.entry(place.key).or_default();
                standing.operations += place.operations;
                standing.lacking |= !self.geometry.has_timings(self.timings(cpu, place));
            }
        }
        standings
    }

    /// Gives free timings to the pairs of `chosen` that lack them, and takes as many as are still
    /// missing from the least busy of the others.
    pub(super) fn balance(
        &mut self,
        places: &Places,
        chosen: &BTreeSet<Pair>,
        busiest: &Busiest,
        grace: &mut Grace,
    ) {
        for (cpu, taken) in places.cpus.iter().enumerate() {
            let (mut wanting, mut spare) = (Vec::new(), Vec::new());
            for place in &taken.places {
                let has = self.geometry.has_timings(self.timings(cpu, place));
                match (chosen.contains(&place.key), has) {
                    (true, false) => wanting.push(*place),
                    (false, true) => spare.push(*place),
                    _ => {}
                }
            }
            wanting.sort_by_key(|place| Reverse(busiest.rate(place.key)));
            spare.sort_by_key(|place| busiest.rate(place.key));
            let leases = &mut self.leases[cpu];
            let given = wanting.len().min(leases.free.len());
            let free = leases.free.split_off(leases.free.len() - given);
            let missing = wanting.len() - given;
            let missing = missing.saturating_sub(leases.revoked.len());
            for (place, timings) in wanting.iter().zip(free) {
                self.set_timings(cpu, place, timings);
            }
            for place in spare.into_iter().take(missing) {
                let timings = self.timings(cpu, &place);
                self.set_timings(cpu, &place, NO_TIMINGS);
                self.leases[cpu].revoked.push(Revoked {
                    place,
                    timings,
                    ticket: grace.ticket(),
                });
            }
        }
    }

    /// Offers one of the free timings to the CPU's next new slot, unless it has an offer already.
    pub(super) fn offer(&mut self, cpu: usize) {
        if !self.has_offer(cpu)
            && let Some(timings) = self.leases[cpu].free.pop()
        {
            let offered = self.values.half(cpu, offset_of!(CpuState, offered_timings));
            offered.store(timings, Ordering::Release);
        }
    }

    /// Timings of each CPU that may be given away. One on offer cannot be taken back.
    pub(super) fn timings_to_give(&self) -> usize {
        let offers = (0..self.geometry.cpus).any(|cpu| self.has_offer(cpu));
        self.geometry.timings - usize::from(offers)
    }

    /// Are timings on offer to the CPU's next new slot?
    fn has_offer(&self, cpu: usize) -> bool {
        let offered = self.values.half(cpu, offset_of!(CpuState, offered_timings));
        offered.load(Ordering::Acquire) != 0
    }

    /// Timings of a CPU that slots have, or had until just now.
    pub(super) fn timings_used(&self, cpu: usize) -> usize {
        let next = self.values.half(cpu, offset_of!(CpuState, next_timings));
        let handed_out = next.load(Ordering::Relaxed) as usize - self.geometry.timings_at(0);
        let idle = self.leases[cpu].free.len() + usize::from(self.has_offer(cpu));
        (handed_out / size_of::<Timings>()).saturating_sub(idle)
    }

    /// Offset of a slot's timings.
    pub(super) fn timings(&self, cpu: usize, place: &Place) -> u32 {
        let timings = slot_at(place.slot) + offset_of!(Slot, timings);
        self.values.half(cpu, timings).load(Ordering::Relaxed)
    }

    /// Tells a slot which timings it has. Only the daemon does, once the slot is claimed.
    fn set_timings(&self, cpu: usize, place: &Place, offset: u32) {
        let timings = slot_at(place.slot) + offset_of!(Slot, timings);
        // After they were zeroed.
        self.values
            .half(cpu, timings)
            .store(offset, Ordering::Release);
    }
}
