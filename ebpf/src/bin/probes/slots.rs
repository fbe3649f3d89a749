//! Finding and claiming the slot of (map, operation) on this CPU, and counting durations.

use core::{arch::asm, ptr};

use mapstorm_abi::{
    CpuState, Histogram, Hook, Lost, Op, Slot, Timings, bucket,
    contention::CLAIMER,
    inventory::MapHead,
    slot::{KEY_EMPTY, KEY_TOMBSTONE, NAME_LEN, NO_TIMINGS, PROBES, key, next, start},
};

use crate::{
    globals::{
        LAST_TIMINGS, OFFSET_MAP_FLAGS, OFFSET_MAP_ID, OFFSET_MAP_MAX_ENTRIES, OFFSET_MAP_NAME,
        OFFSET_MAP_TYPE, SLOT_MASK,
    },
    tables::{add, load, lose, peek, store},
};

/// A `struct bpf_map *` argument: the verifier knows its type and lets its fields be read.
pub(crate) type MapPtr = *const u8;

/// Reads the `T` at `offset` bytes into the map, or into another object whose type the verifier
/// knows.
#[inline(always)]
pub(crate) fn field<T: Copy>(map: MapPtr, offset: u32) -> T {
    Map::field(map, offset)
}

/// A map whose fields can be read, in the way that the program's type allows.
pub(crate) trait Map: Copy {
    /// Reads the `T` at `offset` bytes into the map, the offset of a field of this type in the
    /// running kernel (BTF). A faulting read gives zero.
    fn field<T: Copy>(self, offset: u32) -> T;
}

impl Map for MapPtr {
    #[inline(always)]
    fn field<T: Copy>(self, offset: u32) -> T {
        let field = self.wrapping_add(offset as usize).cast::<T>();
        // SAFETY: a field of this type, and the kernel makes a faulting read give zero.
        unsafe { *field }
    }
}

/// A `struct bpf_map *` that is a number to the verifier, as in return probes: a helper reads it.
#[derive(Clone, Copy)]
pub(crate) struct Address(pub(crate) u64);

impl Map for Address {
    #[inline(always)]
    fn field<T: Copy>(self, offset: u32) -> T {
        peek(self.0.wrapping_add(u64::from(offset)))
    }
}

/// The map's flags.
#[inline(always)]
pub(crate) fn flags(map: impl Map) -> u32 {
    map.field(OFFSET_MAP_FLAGS.load())
}

/// What the map is.
#[inline(always)]
pub(crate) fn head(map: impl Map) -> MapHead {
    let name = OFFSET_MAP_NAME.load();
    // The name is read as two words: byte by byte would be sixteen loads.
    let words: [u64; 2] = [map.field(name), map.field(name + NAME_LEN as u32 / 2)];
    MapHead {
        id: map.field(OFFSET_MAP_ID.load()),
        map_type: map.field(OFFSET_MAP_TYPE.load()),
        max_entries: map.field(OFFSET_MAP_MAX_ENTRIES.load()),
        flags: flags(map),
        // SAFETY: any bytes are a name.
        name: unsafe { core::mem::transmute::<[u64; 2], [u8; NAME_LEN]>(words) },
    }
}

/// Key of (map, operation).
#[inline(always)]
fn key_of(op: Op, map: impl Map) -> u64 {
    key(map.field::<u32>(OFFSET_MAP_ID.load()), op)
}

/// The slot at an offset within this CPU's slots, which lie behind its state; the offset comes from
/// a mask that the verifier knows.
#[inline(always)]
pub(crate) fn at(cpu: &CpuState, offset: u64) -> &'static Slot {
    let slot = ptr::from_ref(cpu)
        .wrapping_add(1)
        .wrapping_byte_add(offset as usize)
        .cast();
    // SAFETY: the daemon made the CPU's value large enough for what the mask allows; map values
    // live as long as the program runs.
    unsafe { &*slot }
}

/// The slot of (map, operation) if it is the first that a search would look at.
#[inline(always)]
pub(crate) fn first(cpu: &CpuState, op: Op, map: MapPtr) -> Option<&'static Slot> {
    let key = key_of(op, map);
    let slot = at(cpu, start(key, u64::from(SLOT_MASK.load())));
    if slot.key.get() == key {
        Some(slot)
    } else {
        None
    }
}

/// The slot of (map, operation), claimed if need be. When there is none to be had the operation is
/// counted as lost.
#[inline(never)]
pub(crate) fn find<M: Map>(cpu: &CpuState, hook: Hook, op: Op, map: M) -> Option<&'static Slot> {
    find_key(cpu, hook as usize, key_of(op, map), || head(map))
}

/// The slot of a key, claimed if need be with what its map is; see [`claim`] for the claimer.
#[inline(always)]
pub(crate) fn find_key(
    cpu: &CpuState,
    claimer: usize,
    key: u64,
    head: impl FnOnce() -> MapHead,
) -> Option<&'static Slot> {
    let mask = u64::from(SLOT_MASK.load());
    let mut offset = start(key, mask);
    // The verifier walks every turn: whatever it would have to remember from one to the next, as
    // whether a slot was free, it would walk twice.
    for probe in 1..=PROBES {
        let slot = at(cpu, offset);
        let found = slot.key.get();
        if found == key {
            return Some(slot);
        }
        if found == KEY_EMPTY {
            break;
        }
        offset = next(offset, probe, mask);
    }
    claim(cpu, claimer, key, head)
}

/// Counts what has no slot: an operation by why, a wait for a lock as such.
#[inline(always)]
fn lose_slot(cpu: &CpuState, claimer: usize, reason: Lost) {
    let is_wait = claimer == CLAIMER;
    lose(cpu, if is_wait { Lost::WaitOverflow } else { reason });
}

/// Makes the first free slot ours, unless another claimer, which is another hook or the contention
/// programs, is at it on this CPU right now.
///
/// Every program raises its own flag and then looks at the others': of two that overlap at least
/// one sees the other and gives up, which is enough on one CPU and needs no atomic exchange.
#[inline(always)]
fn claim(
    cpu: &CpuState,
    claimer: usize,
    key: u64,
    head: impl FnOnce() -> MapHead,
) -> Option<&'static Slot> {
    let own = &cpu.claiming[claimer];
    let mut busy = load(own) != 0;
    if !busy {
        store(own, 1);
        for (other, flag) in cpu.claiming.iter().enumerate() {
            busy |= other != claimer && load(flag) != 0;
        }
        if !busy {
            let slot = fill(cpu, claimer, key, head);
            store(own, 0);
            return slot;
        }
        store(own, 0);
    }
    lose_slot(cpu, claimer, Lost::SlotBusy);
    None
}

/// Writes what the map is into the first free slot. The search is done again: before the flag was
/// raised the slot could still be claimed by another.
#[inline(always)]
fn fill(
    cpu: &CpuState,
    claimer: usize,
    key: u64,
    head: impl FnOnce() -> MapHead,
) -> Option<&'static Slot> {
    let mask = u64::from(SLOT_MASK.load());
    let mut offset = start(key, mask);
    for probe in 1..=PROBES {
        let slot = at(cpu, offset);
        let found = load(&slot.key);
        if found == key {
            return Some(slot);
        }
        if found == KEY_EMPTY || found == KEY_TOMBSTONE {
            describe(cpu, slot, &head());
            store(&slot.key, key);
            return Some(slot);
        }
        offset = next(offset, probe, mask);
    }
    lose_slot(cpu, claimer, Lost::NoSlot);
    None
}

/// Writes what the map is into a slot; its key, which makes it valid, is written after.
#[inline(always)]
fn describe(cpu: &CpuState, slot: &Slot, map: &MapHead) {
    slot.map_type.set(map.map_type);
    slot.max_entries.set(map.max_entries);
    slot.flags.set(map.flags);
    slot.name.set(map.name);
    slot.timings.set(hand_out(cpu));
    cpu.claims.set(cpu.claims.get().wrapping_add(1));
}

/// The next timings of this CPU, or those that the daemon offers again; [`NO_TIMINGS`] when there
/// are none. The caller holds the try-lock.
#[inline(always)]
fn hand_out(cpu: &CpuState) -> u32 {
    let next = cpu.next_timings.get();
    if next <= LAST_TIMINGS.load() {
        cpu.next_timings.set(next + size_of::<Timings>() as u32);
        return next;
    }
    let offered = load(&cpu.offered_timings);
    if offered == 0 {
        return NO_TIMINGS;
    }
    // Only what was taken is wiped out: the daemon may make the next offer at any time.
    store(&cpu.offered_timings, 0);
    offered
}

/// The timings of a slot, if it has any.
#[inline(always)]
pub(crate) fn timings<const NESTING: bool>(
    cpu: &CpuState,
    slot: &Slot,
) -> Option<&'static Timings> {
    let mut offset = u64::from(slot.timings.get());
    if NESTING {
        // The verifier must see that an atomic add is aligned; all offsets are.
        offset &= !7;
    }
    if offset > u64::from(LAST_TIMINGS.load()) {
        return None;
    }
    let mut timings = ptr::from_ref(cpu).cast::<Timings>();
    // Spelled in assembly, because LLVM would add before it compares, which the verifier refuses.
    // SAFETY: an addition; the comparison keeps the offset within the CPU's value.
    unsafe {
        asm!("{timings} += {offset}", timings = inout(reg) timings, offset = in(reg) offset);
    }
    // SAFETY: map values live as long as the program runs.
    Some(unsafe { &*timings })
}

/// Counts a duration.
#[inline(always)]
pub(crate) fn time<const NESTING: bool>(histogram: &Histogram, ns: u64) {
    // The mask is for the verifier: eight bytes beyond the last bucket there is still the value.
    let offset = bucket::offset(ns) & (size_of::<Histogram>() - 8);
    let bucket = histogram.buckets.as_ptr().wrapping_byte_add(offset);
    // SAFETY: the offset is that of a bucket.
    add::<NESTING>(unsafe { &*bucket }, 1);
    add::<NESTING>(&histogram.sum_ns, ns);
}
