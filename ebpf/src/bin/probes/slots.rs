//! Finding and claiming the slot of (map, operation) on this CPU, and timing into histograms.

use aya_ebpf::helpers::bpf_ktime_get_ns;
use mapstorm_abi::{
    CpuState, Histogram, Hook, Lost, Op, Slot, bucket,
    inventory::MapRecord,
    slot::{KEY_EMPTY, KEY_TOMBSTONE, NAME_LEN, PROBES, hash, key},
};

use crate::{
    globals::{
        HISTOGRAMS_PER_CPU, OFFSET_MAP_FLAGS, OFFSET_MAP_ID, OFFSET_MAP_MAX_ENTRIES,
        OFFSET_MAP_NAME, OFFSET_MAP_TYPE, SLOTS_PER_CPU,
    },
    tables::{HISTOGRAMS, SLOTS, add, lose},
};

/// A `struct bpf_map *` argument: the verifier knows its type and lets its fields be read.
pub(crate) type MapPtr = *const u8;

/// Reads the `T` at `offset` bytes into the map.
#[inline(always)]
fn field<T: Copy>(map: MapPtr, offset: u32) -> T {
    // SAFETY: the offset is that of a field of this type in the running kernel (BTF); the kernel
    // makes a faulting read give zero.
    unsafe { *map.add(offset as usize).cast::<T>() }
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

/// The slot at a global index.
#[inline(always)]
pub(crate) fn at(index: u32) -> Option<*mut Slot> {
    SLOTS.get_ptr_mut(index)
}

/// Global index of the slot of (map, operation), claimed if need be.
#[inline(always)]
pub(crate) fn find(
    cpu: u32,
    state: *mut CpuState,
    hook: Hook,
    op: Op,
    map: MapPtr,
) -> Result<u32, Lost> {
    let key = key(field::<u32>(map, OFFSET_MAP_ID.load()), op);
    let slots = SLOTS_PER_CPU.load();
    let index = cpu * slots + (hash(key) & (slots - 1));
    let slot = at(index).ok_or(Lost::NoSlot)?;
    // SAFETY: `slot` is a map value.
    if unsafe { (*slot).key } == key {
        return Ok(index);
    }
    search(cpu, state, hook, key, map)
}

/// The rest of the search: past slots of other keys, to ours or to one that can be claimed.
#[inline(always)]
fn search(cpu: u32, state: *mut CpuState, hook: Hook, key: u64, map: MapPtr) -> Result<u32, Lost> {
    let slots = SLOTS_PER_CPU.load();
    let base = cpu * slots;
    let mut free = None;
    for step in 0..PROBES {
        let index = base + ((hash(key) + step) & (slots - 1));
        let slot = at(index).ok_or(Lost::NoSlot)?;
        // SAFETY: `slot` is a map value.
        let found = unsafe { (*slot).key };
        if found == key {
            return Ok(index);
        }
        if free.is_none() && (found == KEY_EMPTY || found == KEY_TOMBSTONE) {
            free = Some(index);
        }
        if found == KEY_EMPTY {
            break;
        }
    }
    claim(state, hook, free.ok_or(Lost::NoSlot)?, key, map)
}

/// Makes a free slot ours, unless a program of another hook is claiming on this CPU right now.
///
/// Every program raises its own flag and then looks at the others': of two that overlap at least
/// one sees the other and gives up, which is enough on one CPU and needs no atomic exchange.
#[inline(always)]
fn claim(state: *mut CpuState, hook: Hook, index: u32, key: u64, map: MapPtr) -> Result<u32, Lost> {
    // SAFETY: `state` is a map value; the flag of this hook is one byte of the word.
    let own = unsafe { (&raw mut (*state).claiming).cast::<u8>().add(hook as usize) };
    // SAFETY: as above; volatile, because the order of these accesses is the protocol.
    if unsafe { own.read_volatile() } != 0 {
        return Err(Lost::SlotBusy);
    }
    // SAFETY: as above.
    unsafe { own.write_volatile(1) };
    // SAFETY: as above.
    let raised = unsafe { (&raw const (*state).claiming).read_volatile() };
    let claimed = if raised == 1 << (hook as u64 * 8) {
        fill(state, index, key, map)
    } else {
        Err(Lost::SlotBusy)
    };
    // SAFETY: as above.
    unsafe { own.write_volatile(0) };
    claimed
}

/// Writes what the map is into a slot, its key last.
#[inline(always)]
fn fill(state: *mut CpuState, index: u32, key: u64, map: MapPtr) -> Result<u32, Lost> {
    let slot = at(index).ok_or(Lost::NoSlot)?;
    // SAFETY: `slot` is a map value.
    let found = unsafe { (&raw const (*slot).key).read_volatile() };
    if found != KEY_EMPTY && found != KEY_TOMBSTONE {
        return Err(Lost::SlotBusy);
    }
    let histogram = hand_out(state);
    let pop_histogram = hand_out(state);
    let map = identity(map);
    // SAFETY: `slot` is a map value, and the try-lock makes this program its only writer.
    unsafe {
        (*slot).map_type = map.map_type;
        (*slot).max_entries = map.max_entries;
        (*slot).flags = map.flags;
        (*slot).histogram = histogram;
        (*slot).pop_histogram = pop_histogram;
        (*slot).name = map.name;
        (&raw mut (*slot).key).write_volatile(key);
        (*state).claims += 1;
    }
    Ok(index)
}

/// The next histogram of this CPU as index + 1, 0 when all are taken.
#[inline(always)]
fn hand_out(state: *mut CpuState) -> u16 {
    // SAFETY: `state` is a map value; the caller holds the try-lock.
    let next = unsafe { (*state).histograms };
    if next >= HISTOGRAMS_PER_CPU.load() {
        return 0;
    }
    // SAFETY: as above.
    unsafe { (*state).histograms = next + 1 };
    next as u16 + 1
}

/// Adds the time since `start` to a slot's histogram.
#[inline(always)]
pub(crate) fn time(cpu: u32, state: *mut CpuState, histogram: u16, start: u64) {
    // SAFETY: the helper has no precondition.
    let now = unsafe { bpf_ktime_get_ns() };
    let index = cpu * HISTOGRAMS_PER_CPU.load() + u32::from(histogram).wrapping_sub(1);
    let durations = if histogram == 0 {
        None
    } else {
        HISTOGRAMS.get_ptr_mut(index)
    };
    let Some(durations) = durations else {
        return lose(state, Lost::NoHistogram);
    };
    let ns = now.wrapping_sub(start);
    add(bucket_of(durations, ns), 1);
    // SAFETY: `durations` is a map value.
    add(unsafe { &raw mut (*durations).sum_ns }, ns);
}

/// The word that counts durations like `ns`.
#[inline(always)]
fn bucket_of(durations: *mut Histogram, ns: u64) -> *mut u64 {
    // SAFETY: a bucket's index is within the array; the mask tells the verifier.
    unsafe {
        (&raw mut (*durations).buckets)
            .cast::<u64>()
            .add(bucket::index(ns) & (bucket::TABLE - 1))
    }
}
