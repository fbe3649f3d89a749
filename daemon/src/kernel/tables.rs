//! The probes' three tables as the daemon reads them: rows of counters, CPU by CPU.

use std::{io, mem::offset_of, os::fd::BorrowedFd, sync::atomic::Ordering};

use mapstorm_abi::{
    CpuState, Histogram, Lost, Op, Outcome, Slot,
    bucket::BUCKETS,
    slot::{KEY_EMPTY, KEY_TOMBSTONE, NAME_LEN},
};

use super::table::Table;
use crate::snapshot::Durations;

/// How the tables are cut; the same numbers are the probes' globals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Possible CPUs: the tables have a part for each, online or not.
    pub cpus: usize,
    /// Counter slots per CPU, a power of two.
    pub slots: usize,
    /// Histograms per CPU.
    pub histograms: usize,
}

impl Geometry {
    /// Cuts a budget of `bytes` per CPU into slots and histograms: four sevenths for the counters,
    /// rounded down to a power of two, the rest for histograms.
    pub fn within(bytes: usize, cpus: usize) -> Self {
        let for_slots = (bytes * 4 / 7 / size_of::<Slot>()).max(16);
        let slots = 1 << for_slots.ilog2();
        let rest = bytes.saturating_sub(slots * size_of::<Slot>() + size_of::<CpuState>());
        let histograms = (rest / size_of::<Histogram>()).clamp(2, usize::from(u16::MAX));
        Self {
            cpus,
            slots,
            histograms,
        }
    }
}

/// The counters of one (map, operation) on one CPU.
#[derive(Clone, Debug)]
pub struct Row {
    /// The CPU.
    pub cpu: u32,
    /// Id of the map.
    pub map_id: u32,
    /// The operation.
    pub op: Op,
    /// The map's type, by number.
    pub map_type: u32,
    /// The map's `max_entries`.
    pub max_entries: u32,
    /// The map's flags.
    pub flags: u32,
    /// The map's name, zero-padded.
    pub name: [u8; NAME_LEN],
    /// Finished operations by outcome.
    pub outcomes: [u64; Outcome::COUNT],
    /// Pops by what they found.
    pub pops: [u64; 2],
    /// Durations of the operation; `None` where the CPU had no histogram left.
    pub durations: Option<Durations>,
    /// Durations of the pops inside it.
    pub pop_durations: Option<Durations>,
}

/// What one CPU's state says besides its rows.
#[derive(Clone, Copy, Debug)]
pub struct CpuRow {
    /// Events lost by [`Lost`].
    pub lost: [u64; Lost::COUNT],
}

/// The mapped tables.
pub struct Tables {
    geometry: Geometry,
    cpus: Table<CpuState>,
    slots: Table<Slot>,
    histograms: Table<Histogram>,
}

impl Tables {
    /// Maps the three arrays.
    pub(super) fn map(
        geometry: Geometry,
        cpus: BorrowedFd<'_>,
        slots: BorrowedFd<'_>,
        histograms: BorrowedFd<'_>,
    ) -> io::Result<Self> {
        Ok(Self {
            geometry,
            cpus: Table::map(cpus, geometry.cpus)?,
            slots: Table::map(slots, geometry.cpus * geometry.slots)?,
            histograms: Table::map(histograms, geometry.cpus * geometry.histograms)?,
        })
    }

    /// Memory of the tables, all CPUs, bytes.
    pub fn bytes(&self) -> usize {
        self.cpus.bytes() + self.slots.bytes() + self.histograms.bytes()
    }

    /// Sets the switch that every probe looks at first.
    pub(super) fn arm(&self, armed: bool) {
        for cpu in 0..self.geometry.cpus {
            let switch = self.cpus.half(cpu, offset_of!(CpuState, armed));
            switch.store(u32::from(armed), Ordering::Release);
        }
    }

    /// State of every possible CPU, in order.
    pub fn cpu_rows(&self) -> impl Iterator<Item = CpuRow> {
        (0..self.geometry.cpus).map(|cpu| CpuRow {
            lost: self.cpus.words(cpu, offset_of!(CpuState, lost)),
        })
    }

    /// Every claimed slot of every CPU.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        (0..self.geometry.cpus * self.geometry.slots).filter_map(|index| self.row(index))
    }

    /// The slot at a global index, unless it is free.
    fn row(&self, index: usize) -> Option<Row> {
        // The key is written last, so what it stands for is there once it is.
        let key = self
            .slots
            .word(index, offset_of!(Slot, key))
            .load(Ordering::Acquire);
        if key == KEY_EMPTY || key == KEY_TOMBSTONE {
            return None;
        }
        let op = Op::from_byte(key as u8)?;
        let cpu = index / self.geometry.slots;
        let half = |offset| self.slots.half(index, offset).load(Ordering::Relaxed);
        let histograms = half(offset_of!(Slot, histogram));
        let name: [u64; NAME_LEN / 8] = self.slots.words(index, offset_of!(Slot, name));
        let mut name_bytes = [0; NAME_LEN];
        for (bytes, word) in name_bytes.chunks_exact_mut(8).zip(name) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        Some(Row {
            cpu: cpu as u32,
            map_id: (key >> 32) as u32,
            op,
            map_type: half(offset_of!(Slot, map_type)),
            max_entries: half(offset_of!(Slot, max_entries)),
            flags: half(offset_of!(Slot, flags)),
            name: name_bytes,
            outcomes: self.slots.words(index, offset_of!(Slot, outcomes)),
            pops: self.slots.words(index, offset_of!(Slot, pops)),
            durations: self.durations(cpu, histograms & 0xffff),
            pop_durations: self.durations(cpu, histograms >> 16),
        })
    }

    /// The histogram that a slot names as index + 1 in its CPU's part; 0 names none.
    fn durations(&self, cpu: usize, histogram: u32) -> Option<Durations> {
        let index = cpu * self.geometry.histograms + (histogram as usize).checked_sub(1)?;
        let buckets: [u64; BUCKETS] = self.histograms.words(index, offset_of!(Histogram, buckets));
        let sum = self.histograms.word(index, offset_of!(Histogram, sum_ns));
        Some(Durations {
            buckets: Box::new(buckets),
            sum_ns: sum.load(Ordering::Relaxed),
        })
    }
}

const _: () = assert!(
    offset_of!(Slot, pop_histogram) == offset_of!(Slot, histogram) + 2
        && offset_of!(Slot, histogram) % 4 == 0
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_budget_holds_thousands_of_slots_and_hundreds_of_histograms() {
        let cut = Geometry::within(512 << 10, 64);
        assert_eq!((cut.cpus, cut.slots), (64, 2048));
        let used = cut.slots * size_of::<Slot>()
            + cut.histograms * size_of::<Histogram>()
            + size_of::<CpuState>();
        assert!(
            used <= 512 << 10 && used > 500 << 10,
            "{cut:?} uses {used} bytes"
        );
    }

    #[test]
    fn a_tiny_budget_still_counts() {
        let cut = Geometry::within(1, 1);
        assert!(
            cut.slots.is_power_of_two() && cut.histograms >= 2,
            "{cut:?}"
        );
    }
}
