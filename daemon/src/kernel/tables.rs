//! The probes' table as the daemon reads it: rows of counters, CPU by CPU.

use std::{io, mem::offset_of, os::fd::BorrowedFd, sync::atomic::Ordering};

use mapstorm_abi::{
    Counted, CpuState, Frame, Histogram, Hook, Lost, Outcome, Popped, Slot, Timings,
    bucket::BUCKETS,
    cpu::{FRAMES_PER_HOOK, UNARMED},
    slot::NAME_LEN,
};

use super::{
    leases::Leases,
    places::{Place, map_of},
    table::Table,
};
use crate::snapshot::Durations;

/// How a CPU's value is cut: its state, then its slots, then its timings. The probes' globals say
/// the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Possible CPUs: the table has a value for each, online or not.
    pub cpus: usize,
    /// Counter slots per CPU, a power of two.
    pub slots: usize,
    /// Timings per CPU, for the busiest pairs of map and operation.
    pub timings: usize,
}

impl Geometry {
    /// Cuts a budget of `bytes` per CPU into slots and timings: four sevenths for the counters,
    /// rounded down to a power of two, the rest for timings.
    pub fn within(bytes: usize, cpus: usize) -> Self {
        let for_slots = (bytes * 4 / 7 / size_of::<Slot>()).max(16);
        let slots = 1 << for_slots.ilog2();
        let rest = bytes.saturating_sub(slots * size_of::<Slot>() + size_of::<CpuState>() + 64);
        let timings = (rest / size_of::<Timings>()).max(1);
        Self {
            cpus,
            slots,
            timings,
        }
    }

    /// Offset of timings number `index` in a CPU's value, bytes.
    pub(super) fn timings_at(&self, index: usize) -> usize {
        size_of::<CpuState>() + self.slots * size_of::<Slot>() + index * size_of::<Timings>()
    }

    /// Size of one CPU's value, bytes. The cache line at its end is for the verifier, which sees the
    /// offset of a bucket by a mask only.
    pub fn value_bytes(&self) -> usize {
        self.timings_at(self.timings) + 64
    }
}

/// The counters of one (map, operation) or (map, lock class) on one CPU.
#[derive(Clone, Debug)]
pub struct Row {
    /// The CPU.
    pub cpu: u32,
    /// Id of the map.
    pub map_id: u32,
    /// The operation, or the class of the locks waited for.
    pub counted: Counted,
    /// The map's type, by number.
    pub map_type: u32,
    /// The map's `max_entries`.
    pub max_entries: u32,
    /// The map's flags.
    pub flags: u32,
    /// The map's name, zero-padded.
    pub name: [u8; NAME_LEN],
    /// Finished operations, or waits, by outcome.
    pub outcomes: [u64; Outcome::COUNT],
    /// What happened inside of them; see [`Slot::inner`].
    pub inner: [u64; 2],
    /// Durations of the operations, or the waits; `None` where the CPU had no timings left.
    pub durations: Option<Durations>,
    /// Durations of the pops inside it.
    pub pop_durations: Option<Durations>,
}

impl Row {
    /// The same without counts: what is timed of it alone.
    pub(super) fn without_counts(self) -> Self {
        Self {
            outcomes: [0; Outcome::COUNT],
            inner: [0; 2],
            ..self
        }
    }
}

/// Offset of a slot in a CPU's value, bytes.
pub(super) fn slot_at(slot: u32) -> usize {
    size_of::<CpuState>() + slot as usize * size_of::<Slot>()
}

/// What one CPU's state says besides its rows.
#[derive(Clone, Copy, Debug)]
pub struct CpuRow {
    /// Events lost by [`Lost`].
    pub lost: [u64; Lost::COUNT],
    /// Updates by outcome, of all maps, where only a return probe counts them.
    pub host_updates: [u64; Outcome::COUNT],
    /// Pops of all maps by what they found, likewise.
    pub host_pops: [u64; 2],
    /// Samples of callers that were due.
    pub samples_due: u64,
}

/// The mapped table.
pub struct Tables {
    pub(super) geometry: Geometry,
    pub(super) values: Table,
    /// Timings that no slot has, by CPU.
    pub(super) leases: Vec<Leases>,
}

impl Tables {
    /// Maps the array and tells every CPU where its timings begin.
    pub(super) fn map(geometry: Geometry, cpus: BorrowedFd<'_>) -> io::Result<Self> {
        let tables = Self {
            geometry,
            values: Table::map(cpus, geometry.cpus, geometry.value_bytes())?,
            leases: vec![Leases::default(); geometry.cpus],
        };
        for cpu in 0..geometry.cpus {
            let next = tables.values.half(cpu, offset_of!(CpuState, next_timings));
            next.store(geometry.timings_at(0) as u32, Ordering::Relaxed);
        }
        tables.arm(false);
        Ok(tables)
    }

    /// Memory of the table, all CPUs, bytes.
    pub fn bytes(&self) -> usize {
        self.values.bytes()
    }

    /// How a CPU's value is cut.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Zeroes `bytes` bytes, a multiple of eight, from an offset in a CPU's value.
    pub(super) fn clear(&self, cpu: usize, offset: usize, bytes: usize) {
        for word in 0..bytes / 8 {
            let word = self.values.word(cpu, offset + 8 * word);
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Arms or disarms every probe, CPU by CPU.
    pub(super) fn arm(&self, armed: bool) {
        for cpu in 0..self.geometry.cpus {
            let popped = offset_of!(CpuState, popped) + offset_of!(Popped, end_ns);
            self.values.word(cpu, popped).store(0, Ordering::Relaxed);
            for frame in 0..Hook::FRAMED * FRAMES_PER_HOOK {
                let map = offset_of!(CpuState, frames)
                    + frame * size_of::<Frame>()
                    + offset_of!(Frame, map);
                let free = if armed { 0 } else { UNARMED };
                self.values.word(cpu, map).store(free, Ordering::Release);
            }
            let switch = self.values.half(cpu, offset_of!(CpuState, armed));
            switch.store(u32::from(armed), Ordering::Release);
        }
    }

    /// State of every possible CPU, in order.
    pub fn cpu_rows(&self) -> impl Iterator<Item = CpuRow> {
        (0..self.geometry.cpus).map(|cpu| CpuRow {
            lost: self.values.words(cpu, offset_of!(CpuState, lost)),
            host_updates: self.values.words(cpu, offset_of!(CpuState, host_updates)),
            host_pops: self.values.words(cpu, offset_of!(CpuState, host_pops)),
            samples_due: self
                .values
                .word(cpu, offset_of!(CpuState, samples_due))
                .load(Ordering::Relaxed),
        })
    }

    /// What a slot says, timings on their way included; `None` for an operation that no probe counts.
    pub(super) fn row(&self, cpu: usize, place: &Place) -> Option<Row> {
        let timings = self.timings(cpu, place);
        let revoked = || self.leases[cpu].revoked_from(place.slot);
        let known = Some(timings).filter(|&timings| self.geometry.has_timings(timings));
        self.row_with(cpu, place, known.or_else(revoked).unwrap_or(timings))
    }

    /// What a slot says, with the timings at an offset.
    pub(super) fn row_with(&self, cpu: usize, place: &Place, timings: u32) -> Option<Row> {
        let (key, slot) = (place.key, slot_at(place.slot));
        let counted = Counted::of(key)?;
        let half = |field| self.values.half(cpu, slot + field).load(Ordering::Relaxed);
        let name: [u64; NAME_LEN / 8] = self.values.words(cpu, slot + offset_of!(Slot, name));
        let mut name_bytes = [0; NAME_LEN];
        for (bytes, word) in name_bytes.chunks_exact_mut(8).zip(name) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        Some(Row {
            cpu: cpu as u32,
            map_id: map_of(key),
            counted,
            map_type: half(offset_of!(Slot, map_type)),
            max_entries: half(offset_of!(Slot, max_entries)),
            flags: half(offset_of!(Slot, flags)),
            name: name_bytes,
            outcomes: self.values.words(cpu, slot + offset_of!(Slot, outcomes)),
            inner: self.values.words(cpu, slot + offset_of!(Slot, inner)),
            durations: self.durations(cpu, timings, offset_of!(Timings, operation)),
            pop_durations: self.durations(cpu, timings, offset_of!(Timings, pop)),
        })
    }

    /// One histogram of the timings at an offset in a CPU's value; an offset beyond it is none.
    fn durations(&self, cpu: usize, timings: u32, histogram: usize) -> Option<Durations> {
        if !self.geometry.has_timings(timings) {
            return None;
        }
        let at = timings as usize + histogram;
        let buckets: [u64; BUCKETS] = self.values.words(cpu, at + offset_of!(Histogram, buckets));
        let sum = self.values.word(cpu, at + offset_of!(Histogram, sum_ns));
        Some(Durations {
            buckets: Box::new(buckets),
            sum_ns: sum.load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_budget_holds_thousands_of_slots_and_a_hundred_timings() {
        let cut = Geometry::within(512 << 10, 64);
        assert_eq!((cut.cpus, cut.slots), (64, 2048));
        let used = cut.value_bytes();
        assert!(
            used <= 512 << 10 && used > 500 << 10,
            "{cut:?} uses {used} bytes"
        );
    }

    #[test]
    fn a_tiny_budget_still_counts() {
        let cut = Geometry::within(1, 1);
        assert!(cut.slots.is_power_of_two() && cut.timings >= 1, "{cut:?}");
    }
}
