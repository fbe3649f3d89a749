//! Waits for locks inside of map operations: which lock, and what a CPU keeps while it waits.
//!
//! The kernel reports a wait at its begin and at its end (`contention_begin`, `contention_end`, 5.19
//! and newer) by the lock's address. Of the waiters for a queued spinlock the first is silent.

use core::cell::Cell;

use crate::{
    cpu::STALE_NS,
    hook::{Hook, Op},
};

/// Waits in flight on one CPU: a task's, a soft interrupt's, a hard interrupt's, an NMI's.
pub const WAITS: usize = 4;

/// A wait and the operation around it are on one stack, no further apart than this, bytes: stacks of
/// x86-64 have 16 KiB, and few of them lie between.
pub const STACK_REACH: u64 = 8 << 10;

/// Index of the contention programs' flag among [`claiming`](crate::CpuState::claiming): the one
/// behind the hooks'.
pub const CLAIMER: usize = Hook::COUNT;

/// A lock by its place in the map; in a slot's key it stands where an operation would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LockClass {
    /// In the array of buckets.
    Bucket = 0x20,
    /// Of a list of free elements.
    Freelist,
    /// Of a list of least recently used elements, the host's or a CPU's.
    Lru,
    /// Elsewhere, waited for inside of an operation on the map: the allocator's, for one.
    Other,
}

impl LockClass {
    /// How many classes there are.
    pub const COUNT: usize = 4;

    /// All classes, in the order of their bytes.
    pub const ALL: [Self; Self::COUNT] = [Self::Bucket, Self::Freelist, Self::Lru, Self::Other];

    /// The class of a key's byte, `None` for that of an operation.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0x20 => Some(Self::Bucket),
            0x21 => Some(Self::Freelist),
            0x22 => Some(Self::Lru),
            0x23 => Some(Self::Other),
            _ => None,
        }
    }

    /// Value of the label `lock`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::Freelist => "freelist",
            Self::Lru => "lru",
            Self::Other => "other",
        }
    }
}

/// Key of (map id, lock class).
#[inline(always)]
pub const fn lock_key(map_id: u32, class: LockClass) -> u64 {
    (map_id as u64) << 32 | class as u64
}

/// What a slot counts on its map, by its key's byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// Operations.
    Op(Op),
    /// Waits for locks of a class.
    Wait(LockClass),
}

impl Counted {
    /// What a slot of this key counts; `None` for a byte no probe writes.
    pub const fn of(key: u64) -> Option<Self> {
        let byte = key as u8;
        match (Op::from_byte(byte), LockClass::from_byte(byte)) {
            (Some(op), _) => Some(Self::Op(op)),
            (None, Some(class)) => Some(Self::Wait(class)),
            (None, None) => None,
        }
    }
}

/// A wait that has begun. Entries are taken and freed by `lock`, which goes last and first.
#[derive(Debug)]
#[repr(C)]
pub struct Wait {
    /// Address of the lock, 0 when there is no wait here.
    pub lock: Cell<u64>,
    /// Value of the context pointer at the begin: a place on the waiter's stack.
    pub place: Cell<u64>,
    /// `bpf_ktime_get_ns` when the begin's program was done.
    pub start_ns: Cell<u64>,
    /// Offset of the slot within the CPU's slots, bytes.
    pub slot: Cell<u64>,
}

/// An operation that began before this has missed its exit, and is open no more. Right after a boot that is none.
#[inline(always)]
pub const fn oldest_open_ns(now_ns: u64) -> u64 {
    now_ns.saturating_sub(STALE_NS)
}

/// Is `outer` the place of a call that is open around `inner`, on the same stack? Stacks grow down.
#[inline(always)]
pub const fn is_around(outer: u64, inner: u64) -> bool {
    outer.wrapping_sub(inner) < STACK_REACH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::{KEY_TOMBSTONE, key};

    #[test]
    fn classes_are_in_the_order_of_their_bytes_and_no_operations() {
        for (i, class) in LockClass::ALL.iter().enumerate() {
            assert_eq!(*class as usize, LockClass::Bucket as usize + i);
            assert_eq!(LockClass::from_byte(*class as u8), Some(*class));
            assert_eq!(Op::from_byte(*class as u8), None);
        }
        for op in Op::ALL {
            assert_eq!(LockClass::from_byte(op as u8), None);
        }
    }

    #[test]
    fn operations_and_waits_of_one_map_have_keys_of_their_own() {
        let keys = [key(7, Op::Update), lock_key(7, LockClass::Bucket)];
        assert_eq!(Counted::of(keys[0]), Some(Counted::Op(Op::Update)));
        assert_eq!(Counted::of(keys[1]), Some(Counted::Wait(LockClass::Bucket)));
        assert_eq!(Counted::of(KEY_TOMBSTONE), None);
    }

    #[test]
    fn in_the_first_seconds_of_a_host_every_operation_is_open() {
        assert_eq!(oldest_open_ns(STALE_NS - 1), 0);
        assert_eq!(oldest_open_ns(STALE_NS + 7), 7);
    }

    #[test]
    fn what_is_around_lies_above_on_the_same_stack() {
        let inner = 0xffff_c900_0012_3a00;
        assert!(is_around(inner + 700, inner));
        assert!(!is_around(inner - 700, inner), "below it");
        assert!(!is_around(inner + (20 << 10), inner), "another task's");
        assert!(!is_around(0xffff_fe00_0000_3000, inner), "an interrupt's");
    }
}
