//! What a map that is gone leaves in the tables is given to the next: its slots become tombstones,
//! its timings are offered to the CPU again when that has no fresh ones left.

use std::{
    collections::BTreeSet,
    mem::{offset_of, size_of},
    sync::atomic::Ordering,
};

use mapstorm_abi::{
    CpuState, Slot, Timings,
    slot::{KEY_EMPTY, KEY_TOMBSTONE},
};

use super::tables::Tables;
use crate::identity::MapId;

impl Tables {
    /// Frees every slot of these maps. They must be gone from the kernel: nothing counts into their
    /// slots any more, so that writing another CPU's words is safe here.
    pub(super) fn bury(&mut self, gone: &BTreeSet<MapId>) {
        for cpu in 0..self.geometry.cpus {
            if !gone.is_empty() {
                self.bury_on(cpu, gone);
            }
            self.offer(cpu);
        }
    }

    fn bury_on(&mut self, cpu: usize, gone: &BTreeSet<MapId>) {
        for index in 0..self.geometry.slots {
            let slot = size_of::<CpuState>() + index * size_of::<Slot>();
            let key = self.values.word(cpu, slot + offset_of!(Slot, key));
            let found = key.load(Ordering::Acquire);
            let free = found == KEY_EMPTY || found == KEY_TOMBSTONE;
            if free || !gone.contains(&((found >> 32) as u32)) {
                continue;
            }
            let timings = self.values.half(cpu, slot + offset_of!(Slot, timings));
            let timings = timings.load(Ordering::Relaxed);
            self.clear(
                cpu,
                slot + offset_of!(Slot, outcomes),
                size_of::<Slot>() - offset_of!(Slot, outcomes),
            );
            // Last, so that whoever claims the slot finds it clean.
            self.values
                .word(cpu, slot + offset_of!(Slot, key))
                .store(KEY_TOMBSTONE, Ordering::Release);
            if (timings as usize) < self.geometry.timings_at(self.geometry.timings) {
                self.clear(cpu, timings as usize, size_of::<Timings>());
                self.left_behind[cpu].push(timings);
            }
        }
    }

    /// Offers one of the timings left behind, unless the last offer was not taken yet.
    fn offer(&mut self, cpu: usize) {
        let offered = self.values.half(cpu, offset_of!(CpuState, offered_timings));
        if offered.load(Ordering::Acquire) == 0
            && let Some(timings) = self.left_behind[cpu].pop()
        {
            offered.store(timings, Ordering::Release);
        }
    }

    /// Zeroes `bytes` bytes, a multiple of eight, from an offset in a CPU's value.
    fn clear(&self, cpu: usize, offset: usize, bytes: usize) {
        for word in 0..bytes / 8 {
            self.values
                .word(cpu, offset + 8 * word)
                .store(0, Ordering::Relaxed);
        }
    }
}
