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

/// Slots a search looks at before it gives up: with nine of ten slots taken it looks at some 50 at
/// worst, and at the first one for more than half of the keys.
pub const PROBES: u32 = 64;

/// Offset in bytes, within a CPU's slots, at which the search for a key begins. `mask` is that of
/// [`slot_mask`]. Fibonacci hashing, so that consecutive map ids spread; the operations of a map are
/// apart from each other by another irrational share of the table. Both constants are negative as
/// 32-bit numbers or fit one: a program has them as immediates.
#[inline(always)]
pub const fn start(key: u64, mask: u64) -> u64 {
    const BY_ID: u64 = 0x9e37_79b1_u32.cast_signed() as i64 as u64;
    const BY_OP: i32 = 0x6a09_e667;
    let op = ((key & 0xff) as i32).wrapping_mul(BY_OP);
    (key >> 32)
        .wrapping_mul(BY_ID)
        .wrapping_add(op as i64 as u64)
        >> 14
        & mask
}

/// Offset in bytes of the slot that a search looks at after the one at `offset`, which was its
/// `probe`-th, counted from 1. Steps grow, so that a cluster does not grow by every search that it
/// holds up; a table of a power of two is visited in full.
#[inline(always)]
pub const fn next(offset: u64, probe: u32, mask: u64) -> u64 {
    (offset + probe as u64 * size_of::<Slot>() as u64) & mask
}

/// The mask that keeps an offset within `slots` slots, a power of two, and on a slot's boundary.
pub const fn slot_mask(slots: usize) -> u64 {
    ((slots - 1) * size_of::<Slot>()) as u64
}

/// Counters of one (map, operation) or (map, lock class) on one CPU, and what the map is; two cache
/// lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// [`key`], [`lock_key`](crate::contention::lock_key), [`KEY_EMPTY`] or [`KEY_TOMBSTONE`]. Written last when a slot is claimed.
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
    /// Finished operations, or waits, by [`Outcome`].
    pub outcomes: [Cell<u64>; Outcome::COUNT],
    /// What happened inside of them: in updates, freelist pops by [`POP_OK`] and [`POP_EMPTY`]; in
    /// batches, [`BATCH_ELEMENTS`].
    pub inner: [Cell<u64>; 2],
}

/// [`Slot::timings`] of a slot that has none: beyond every value.
pub const NO_TIMINGS: u32 = u32::MAX;

/// Index in [`Slot::inner`] of pops that returned an element.
pub const POP_OK: usize = 0;
/// Index in [`Slot::inner`] of pops that found every list empty.
pub const POP_EMPTY: usize = 1;
/// Index in [`Slot::inner`] of the elements that batches handed out.
pub const BATCH_ELEMENTS: usize = 0;

/// Durations of one kind of event of one (map, operation) on one CPU. The count is not stored: it
/// is the sum of the buckets.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Histogram {
    /// Events by [`bucket::index`](crate::bucket::index).
    pub buckets: [Cell<u64>; BUCKETS],
    /// Sum of the durations, nanoseconds.
    pub sum_ns: Cell<u64>,
    /// A call that takes longer than this many nanoseconds is worth a sample; all bits flipped, so
    /// that zero is never. Written by the daemon.
    pub slow: Cell<u64>,
    /// To the next cache line.
    pub pad: [u64; 4],
}

/// What is timed of one (map, operation) on one CPU, found by a single lookup.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Timings {
    /// The operation itself, or the wait.
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

    /// Claims a slot for every key in an empty table: the longest search, and the share of keys whose
    /// first look was enough.
    fn claims(slots: usize, keys: impl Iterator<Item = u64>) -> (u32, f64) {
        let mask = slot_mask(slots);
        let mut taken = [false; 1 << 15];
        let (mut worst, mut at_once, mut all) = (0, 0, 0);
        for key in keys {
            let mut offset = start(key, mask);
            let mut probe = 1;
            while taken[offset as usize / size_of::<Slot>()] {
                offset = next(offset, probe, mask);
                probe += 1;
            }
            taken[offset as usize / size_of::<Slot>()] = true;
            worst = worst.max(probe);
            at_once += u32::from(probe == 1);
            all += 1;
        }
        (worst, f64::from(at_once) / f64::from(all))
    }

    /// Keys of so many maps with `ops` operations each; ids as they come from `id`.
    fn keys(maps: usize, ops: u8, mut id: impl FnMut() -> u32) -> impl Iterator<Item = u64> {
        let of = move |id: u32| (1..=ops).map(move |op| u64::from(id) << 32 | u64::from(op));
        (0..maps).flat_map(move |_| of(id()))
    }

    #[test]
    fn every_key_has_a_slot_and_most_have_their_first_at_nine_tenths_load() {
        for (share, first) in [(0.75, 0.58), (0.9, 0.5)] {
            for ops in [1, 3, 7] {
                let maps = (2048.0 * share) as usize / usize::from(ops);
                for step in [1, 2, 4, 16] {
                    let mut id = 1000;
                    let ids = || {
                        id += step;
                        id
                    };
                    let (worst, at_once) = claims(2048, keys(maps, ops, ids));
                    assert!(worst <= PROBES, "every {step}th id, {ops}: {worst} probes");
                    assert!(at_once > first, "every {step}th id, {ops}: {at_once}");
                }
            }
        }
    }

    #[test]
    fn random_ids_lose_no_slot_in_a_table_of_any_size() {
        // xorshift: any ids in the kernel's range, the same in every run.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut id = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as u32 | 1
        };
        for (slots, tenths) in [(64, 9), (2048, 9), (1 << 15, 8)] {
            for ops in [1, 3, 7] {
                let maps = slots * tenths / 10 / usize::from(ops);
                let (worst, at_once) = claims(slots, keys(maps, ops, &mut id));
                assert!(worst <= PROBES, "{slots} slots, {ops}: {worst} probes");
                assert!(at_once > 0.4, "{slots} slots, {ops}: {at_once}");
            }
        }
    }

    #[test]
    fn a_search_of_a_whole_table_looks_at_every_slot() {
        let mask = slot_mask(64);
        let mut seen = [false; 64];
        let mut offset = start(key(7, Op::Update), mask);
        for probe in 1..=64 {
            seen[offset as usize / size_of::<Slot>()] = true;
            offset = next(offset, probe, mask);
        }
        assert_eq!(seen, [true; 64]);
    }
}
