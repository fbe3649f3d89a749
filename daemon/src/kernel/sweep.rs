//! Tombstones that no search needs become free slots again: a claim reads on past every tombstone in
//! its way, and where maps come and go there would soon be nothing else.

use std::{
    collections::BTreeSet,
    mem::{offset_of, size_of},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use mapstorm_abi::{
    Slot,
    slot::{KEY_EMPTY, KEY_TOMBSTONE, PROBES, next, slot_mask, start},
};

use super::{
    grace::{Grace, Ticket},
    places::Places,
    tables::{Tables, slot_at},
};

/// How often tombstones are swept at most.
const EVERY: Duration = Duration::from_secs(5);

/// Tombstones on their way.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    due: Option<Instant>,
    /// Those that were found, by CPU.
    found: Vec<Vec<u32>>,
    /// When nobody is at work who may have read on past a slot before it became one of them.
    ticket: Option<Ticket>,
}

impl Sweep {
    /// Takes the next step. The places are those of this moment.
    pub(super) fn go_on(
        &mut self,
        tables: &Tables,
        places: &Places,
        grace: &mut Grace,
        now: Instant,
    ) {
        match self.ticket {
            Some(ticket) if grace.has_passed(ticket) => {
                self.ticket = None;
                for (cpu, found) in self.found.iter().enumerate() {
                    tables.sweep(cpu, found, places);
                }
            }
            Some(_) => {}
            None if self.due.is_some_and(|due| now < due) => {}
            None => {
                self.due = Some(now + EVERY);
                let cpus = 0..tables.geometry().cpus;
                self.found = cpus.map(|cpu| tables.tombstones(cpu, places)).collect();
                let any = self.found.iter().any(|found| !found.is_empty());
                self.ticket = any.then(|| grace.ticket());
            }
        }
    }
}

impl Tables {
    /// The tombstones of a CPU; none where no slot was ever taken.
    fn tombstones(&self, cpu: usize, places: &Places) -> Vec<u32> {
        if !places.cpus[cpu].has_freed() {
            return Vec::new();
        }
        let slots = 0..self.geometry().slots as u32;
        let is_tombstone = |&slot: &u32| {
            let key = self.values.word(cpu, slot_at(slot) + offset_of!(Slot, key));
            key.load(Ordering::Relaxed) == KEY_TOMBSTONE
        };
        slots.filter(is_tombstone).collect()
    }

    /// Frees the tombstones that were `found` and that no search for a key in the table passes. Who
    /// claims a slot takes the first tombstone in its way, so a claim that is under way now passes
    /// none of them either.
    fn sweep(&self, cpu: usize, found: &[u32], places: &Places) {
        let mask = slot_mask(self.geometry().slots);
        let mut passed = BTreeSet::new();
        for place in &places.cpus[cpu].places {
            let mut offset = start(place.key, mask);
            for probe in 1..=PROBES {
                let slot = (offset / size_of::<Slot>() as u64) as u32;
                if slot == place.slot {
                    break;
                }
                passed.insert(slot);
                offset = next(offset, probe, mask);
            }
        }
        for &slot in found.iter().filter(|slot| !passed.contains(slot)) {
            let key = self.values.word(cpu, slot_at(slot) + offset_of!(Slot, key));
            let (old, new) = (KEY_TOMBSTONE, KEY_EMPTY);
            // Whoever claims it at this moment stores a key afterwards, or has stored one before.
            let _claimed = key.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}
