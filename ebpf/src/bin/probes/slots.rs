//! Finding and claiming the slot of (map, operation) on this CPU, and counting durations.

use core::{arch::asm, ptr};

use mapstorm_abi::{
    CpuState, Histogram, Hook, Lost, Op, Slot, Timings, bucket,
    inventory::MapRecord,
    slot::{KEY_EMPTY, KEY_TOMBSTONE, NAME_LEN, NO_TIMINGS, PROBES, key, next, start},
};

use crate::{
    globals::{
        LAST_TIMINGS, OFFSET_MAP_FLAGS, OFFSET_MAP_ID, OFFSET_MAP_MAX_ENTRIES, OFFSET_MAP_NAME,
        OFFSET_MAP_TYPE, SLOT_MASK,
    },
    tables::{add, load, lose, store},
};

/// A `struct bpf_map *` argument: the verifier knows its type and lets its fields be read.
pub(crate) type MapPtr = *const u8;

/// Reads the `T` at `offset` bytes into the map.
#[inline(always)]
fn field<T: Copy>(map: MapPtr, offset: u32) -> T {
    let field = map.wrapping_add(offset as usize).cast::<T>();
    // SAFETY: the offset is that of a field of this type in the running kernel (BTF); the kernel
    // makes a faulting read give zero.
    unsafe { *field }
}

/// The map's flags.
#[inline(always)]
pub(crate) fn flags(map: MapPtr) -> u32 {
    field(map, OFFSET_MAP_FLAGS.load())
}

/// What the map is.
#[inline(always)]
pub(crate) fn identity(map: MapPtr) -> MapRecord {
    let name = OFFSET_MAP_NAME.load();
    // The name is read as two words: byte by byte would be sixteen loads.
    let words: [u64; 2] = [field(map, name), field(map, name + NAME_LEN as u32 / 2)];
    MapRecord {
        id: field(map, OFFSET_MAP_ID.load()),
        map_type: field(map, OFFSET_MAP_TYPE.load()),
        max_entries: field(map, OFFSET_MAP_MAX_ENTRIES.load()),
        flags: flags(map),
        // SAFETY: any bytes are a name.
        name: unsafe { core::mem::transmute::<[u64; 2], [u8; NAME_LEN]>(words) },
    }
}

/// Key of (map, operation).
#[inline(always)]
fn key_of(op: Op, map: MapPtr) -> u64 {
    key(field::<u32>(map, OFFSET_MAP_ID.load()), op)
}

/// The slot at an offset within this CPU's slots, which lie behind its state; the offset comes from
/// a mask that the verifier knows.
#[inline(always)]
fn at(cpu: &CpuState, offset: u64) -> &'static Slot {
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
pub(crate) fn find(cpu: &CpuState, hook: Hook, op: Op, map: MapPtr) -> Option<&'static Slot> {
    let key = key_of(op, map);
    let mask = u64::from(SLOT_MASK.load());
    let mut offset = start(key, mask);
    for _ in 0..PROBES {
        let slot = at(cpu, offset);
        let found = slot.key.get();
        if found == key {
            return Some(slot);
        }
        if found == KEY_EMPTY {
            break;
        }
        offset = next(offset, mask);
    }
    claim(cpu, hook, key, map)
}

/// Makes the first free slot ours, unless a program of another hook is claiming on this CPU right
/// now.
///
/// Every program raises its own flag and then looks at the others': of two that overlap at least
/// one sees the other and gives up, which is enough on one CPU and needs no atomic exchange.
#[inline(always)]
fn claim(cpu: &CpuState, hook: Hook, key: u64, map: MapPtr) -> Option<&'static Slot> {
    let own = &cpu.claiming[hook as usize];
    let mut busy = load(own) != 0;
    if !busy {
        store(own, 1);
        for (other, flag) in cpu.claiming.iter().enumerate() {
            busy |= other != hook as usize && load(flag) != 0;
        }
        if !busy {
            let slot = fill(cpu, key, map);
            store(own, 0);
            return slot;
        }
        store(own, 0);
    }
    lose(cpu, Lost::SlotBusy);
    None
}

/// Writes what the map is into the first free slot. The search is done again: before the flag was
/// raised the slot could still be claimed by another.
#[inline(always)]
fn fill(cpu: &CpuState, key: u64, map: MapPtr) -> Option<&'static Slot> {
    let mask = u64::from(SLOT_MASK.load());
    let mut offset = start(key, mask);
    for _ in 0..PROBES {
        let slot = at(cpu, offset);
        let found = load(&slot.key);
        if found == key {
            return Some(slot);
        }
        if found == KEY_EMPTY || found == KEY_TOMBSTONE {
            describe(cpu, slot, map);
            store(&slot.key, key);
            return Some(slot);
        }
        offset = next(offset, mask);
    }
    lose(cpu, Lost::NoSlot);
    None
}

/// Writes what the map is into a slot; its key, which makes it valid, is written after.
#[inline(always)]
fn describe(cpu: &CpuState, slot: &Slot, map: MapPtr) {
    let map = identity(map);
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
    store(&cpu.offered_timings, 0);
    if offered == 0 { NO_TIMINGS } else { offered }
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
