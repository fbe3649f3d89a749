//! A counter slot per (CPU, map, operation), and timings for the busiest of them.
//!
//! They lie behind the CPU's state in its value of the array `CPUS`, slots first: one lookup finds
//! all three. A CPU writes its own value only; the daemon reads every value with relaxed loads and
//! merges by key.

use core::cell::Cell;

use crate::{bucket::BUCKETS, hook::Op, outcome::Outcome};

/// Longest map name the kernel keeps, with its terminating zero.
pub const NAME_LEN: usize = 16;

/// Key of a slot nobody has claimed. Map ids start at 1, so no key is zero.
pub const KEY_EMPTY: u64 = 0;
/// Key of a slot whose map is gone: searches go on past it, a claim takes it.
pub const KEY_TOMBSTONE: u64 = 0xff;

/// Key of (map id, operation).
#[inline(always)]
pub const fn key(map_id: u32, op: Op) -> u64 {
    (map_id as u64) << 32 | op as u64
}

/// Slots a search looks at before it gives up.
pub const PROBES: u32 = 16;

/// Offset in bytes, within a CPU's slots, at which the search for a key begins. `mask` is that of
/// [`slot_mask`]. Fibonacci hashing, so that consecutive map ids spread.
#[inline(always)]
pub const fn start(key: u64, mask: u64) -> u64 {
    (key >> 32)
        .wrapping_mul(0x9e37_79b1)
        .wrapping_add((key & 0xff) << 9)
        >> 4
        & mask
}

/// Offset in bytes of the slot that a search looks at after the one at `offset`.
#[inline(always)]
pub const fn next(offset: u64, mask: u64) -> u64 {
    (offset + size_of::<Slot>() as u64) & mask
}

/// The mask that keeps an offset within `slots` slots, a power of two, and on a slot's boundary.
pub const fn slot_mask(slots: usize) -> u64 {
    ((slots - 1) * size_of::<Slot>()) as u64
}

/// Counters of one (map, operation) on one CPU, and what the map is; two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// [`key`], [`KEY_EMPTY`] or [`KEY_TOMBSTONE`]. Written last when a slot is claimed.
    pub key: Cell<u64>,
    /// `bpf_map.map_type`.
    pub map_type: Cell<u32>,
    /// `bpf_map.max_entries`.
    pub max_entries: Cell<u32>,
    /// `bpf_map.map_flags`.
    pub flags: Cell<u32>,
    /// Offset of its [`Timings`] in the CPU's value, bytes; [`NO_TIMINGS`] for none.
    pub timings: Cell<u32>,
    /// `bpf_map.name`, zero-padded; any bytes, not necessarily UTF-8.
    pub name: Cell<[u8; NAME_LEN]>,
    /// Finished operations by [`Outcome`].
    pub outcomes: [Cell<u64>; Outcome::COUNT],
    /// Freelist pops that returned an element, and those that found every list empty.
    pub pops: [Cell<u64>; 2],
}

/// [`Slot::timings`] of a slot that has none: beyond every value.
pub const NO_TIMINGS: u32 = u32::MAX;

/// Index of pops that returned an element in [`Slot::pops`].
pub const POP_OK: usize = 0;
/// Index of pops that found nothing in [`Slot::pops`].
pub const POP_EMPTY: usize = 1;

/// Durations of one kind of event of one (map, operation) on one CPU. The count is not stored: it
/// is the sum of the buckets.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Histogram {
    /// Events by [`bucket::index`](crate::bucket::index).
    pub buckets: [Cell<u64>; BUCKETS],
    /// Sum of the durations, nanoseconds.
    pub sum_ns: Cell<u64>,
    /// To the next cache line.
    pub pad: [u64; 5],
}

/// What is timed of one (map, operation) on one CPU, found by a single lookup.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Timings {
    /// The operation itself.
    pub operation: Histogram,
    /// The freelist pops inside it.
    pub pop: Histogram,
}

const _: () = assert!(size_of::<Slot>() == 128);
const _: () = assert!(size_of::<Timings>() == 2048);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_looks_empty_or_dead() {
        for id in [1, 2, 255, 0x7fff_ffff] {
            assert_ne!(key(id, Op::Update), KEY_EMPTY);
            assert_ne!(key(id, Op::Update), KEY_TOMBSTONE);
        }
    }

    #[test]
    fn consecutive_map_ids_spread_over_a_table() {
        let mask = slot_mask(2048);
        let mut used = [false; 2048];
        let mut worst = 0;
        for id in 1..=1000 {
            let mut offset = start(key(id, Op::Update), mask);
            let mut probes = 1;
            while used[offset as usize / size_of::<Slot>()] {
                offset = next(offset, mask);
                probes += 1;
            }
            used[offset as usize / size_of::<Slot>()] = true;
            worst = worst.max(probes);
        }
        assert!(worst <= PROBES, "a key needed {worst} probes");
    }
}
