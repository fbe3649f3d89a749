//! The two tables: a counter slot per (CPU, map, operation) and a histogram for the busiest.
//!
//! Both are memory-mapped arrays indexed `cpu × slots + slot`. A CPU writes its own part only; the
//! daemon reads every part with relaxed loads and merges by key.

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

/// Where the search for a key begins, before the caller masks it to the table: Fibonacci hashing,
/// so that consecutive map ids spread.
#[inline(always)]
pub const fn hash(key: u64) -> u32 {
    ((key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32
}

/// Counters of one (map, operation) on one CPU, and what the map is; two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// [`key`], [`KEY_EMPTY`] or [`KEY_TOMBSTONE`]. Written last when a slot is claimed.
    pub key: u64,
    /// `bpf_map.map_type`.
    pub map_type: u32,
    /// `bpf_map.max_entries`.
    pub max_entries: u32,
    /// `bpf_map.map_flags`.
    pub flags: u32,
    /// Histogram of the operation's duration: index + 1 in this CPU's part, 0 for none.
    pub histogram: u16,
    /// Histogram of the freelist pops inside it: index + 1, 0 for none.
    pub pop_histogram: u16,
    /// `bpf_map.name`, zero-padded; any bytes, not necessarily UTF-8.
    pub name: [u8; NAME_LEN],
    /// Finished operations by [`Outcome`].
    pub outcomes: [u64; Outcome::COUNT],
    /// Freelist pops that returned an element, and those that found every list empty.
    pub pops: [u64; 2],
}

/// Index of pops that returned an element in [`Slot::pops`].
pub const POP_OK: usize = 0;
/// Index of pops that found nothing in [`Slot::pops`].
pub const POP_EMPTY: usize = 1;

/// Durations of one kind of event of one (map, operation) on one CPU. The count is not stored: it
/// is the sum of the buckets.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Histogram {
    /// Events by [`bucket::index`](crate::bucket::index).
    pub buckets: [u64; BUCKETS],
    /// Sum of the durations, nanoseconds.
    pub sum_ns: u64,
    /// To the next cache line.
    pub pad: [u64; 5],
}

const _: () = assert!(size_of::<Slot>() == 128);
const _: () = assert!(size_of::<Histogram>() == 1024);

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
        let mut used = [false; 2048];
        let mut worst = 0;
        for id in 1..=1000 {
            let start = hash(key(id, Op::Update)) & 2047;
            let step = (0..2048).find(|step| !used[((start + step) & 2047) as usize]);
            let step = step.expect("the table is twice as large as the keys");
            used[((start + step) & 2047) as usize] = true;
            worst = worst.max(step);
        }
        assert!(worst < PROBES, "a key needed {worst} probes");
    }
}
