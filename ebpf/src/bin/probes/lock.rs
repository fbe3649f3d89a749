//! Which lock of a map an address is.
//!
//! Nothing here has a type that the verifier knows: addresses are numbers, and memory is read by the
//! helper that lockdown takes away. The programs that need it are optional.

use core::{ffi::c_void, ptr};

use aya_ebpf::{
    bindings::{
        BPF_F_NO_COMMON_LRU, BPF_F_NO_PREALLOC,
        bpf_map_type::{
            BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_HASH_OF_MAPS, BPF_MAP_TYPE_LRU_HASH,
            BPF_MAP_TYPE_LRU_PERCPU_HASH, BPF_MAP_TYPE_PERCPU_HASH,
        },
    },
    helpers::{bpf_get_smp_processor_id, generated::bpf_map_lookup_percpu_elem},
    macros::map,
    maps::PerCpuArray,
};
use mapstorm_abi::{CpuState, LockClass, inventory::MapHead, slot::NAME_LEN};

use crate::{
    globals::{
        OFFSET_ARRAY_PPTRS, OFFSET_HTAB_BUCKETS, OFFSET_HTAB_FREELIST, OFFSET_HTAB_FREELISTS,
        OFFSET_HTAB_LRU, OFFSET_HTAB_LRU_LOCAL, OFFSET_HTAB_LRU_PERCPU, OFFSET_HTAB_N_BUCKETS,
        OFFSET_MAP_FLAGS, OFFSET_MAP_ID, OFFSET_MAP_MAX_ENTRIES, OFFSET_MAP_NAME, OFFSET_MAP_TYPE,
        POSSIBLE_CPUS, SIZE_BUCKET, SIZE_FREELIST, SIZE_FREELIST_HEAD, SIZE_LRU, SIZE_LRU_LIST,
        SIZE_LRU_LOCAL,
    },
    tables::{number, peek},
};

/// The most CPUs that are looked at for a lock in their memory; the verifier walks every turn.
const MOST_CPUS: u32 = 1024;

/// A value per CPU whose places tell where the memory of each CPU lies.
#[map]
static ANCHOR: PerCpuArray<u64> = PerCpuArray::with_max_entries(1, 0);

/// The `T` at `offset` bytes into the map.
#[inline(always)]
fn field<T: Copy>(map: u64, offset: u32) -> T {
    peek(map.wrapping_add(u64::from(offset)))
}

/// What the map at an address is.
#[inline(always)]
pub(crate) fn head(map: u64) -> MapHead {
    MapHead {
        id: field(map, OFFSET_MAP_ID.load()),
        map_type: field(map, OFFSET_MAP_TYPE.load()),
        max_entries: field(map, OFFSET_MAP_MAX_ENTRIES.load()),
        flags: field(map, OFFSET_MAP_FLAGS.load()),
        name: field::<[u8; NAME_LEN]>(map, OFFSET_MAP_NAME.load()),
    }
}

/// Which lock of the map this is.
#[inline(always)]
pub(crate) fn class(cpu: &CpuState, head: &MapHead, map: u64, lock: u64) -> LockClass {
    let is_lru = match head.map_type {
        BPF_MAP_TYPE_HASH | BPF_MAP_TYPE_PERCPU_HASH | BPF_MAP_TYPE_HASH_OF_MAPS => false,
        BPF_MAP_TYPE_LRU_HASH | BPF_MAP_TYPE_LRU_PERCPU_HASH => true,
        _ => return LockClass::Other,
    };
    if OFFSET_HTAB_BUCKETS.load() == 0 {
        return LockClass::Other;
    }
    let buckets: u64 = field(map, OFFSET_HTAB_BUCKETS.load());
    let n_buckets: u32 = field(map, OFFSET_HTAB_N_BUCKETS.load());
    if lock.wrapping_sub(buckets) < u64::from(n_buckets) * u64::from(SIZE_BUCKET.load()) {
        return LockClass::Bucket;
    }
    // Of the lists one part is in the map itself, the others are in the CPUs' memory.
    let (class, own, own_size, pointer, size) = if !is_lru {
        if head.flags & BPF_F_NO_PREALLOC != 0 {
            return LockClass::Other;
        }
        (
            LockClass::Freelist,
            OFFSET_HTAB_FREELIST.load(),
            SIZE_FREELIST.load(),
            OFFSET_HTAB_FREELISTS.load(),
            SIZE_FREELIST_HEAD.load(),
        )
    } else {
        let (pointer, size) = if head.flags & BPF_F_NO_COMMON_LRU != 0 {
            (OFFSET_HTAB_LRU_PERCPU.load(), SIZE_LRU_LIST.load())
        } else {
            (OFFSET_HTAB_LRU_LOCAL.load(), SIZE_LRU_LOCAL.load())
        };
        (
            LockClass::Lru,
            OFFSET_HTAB_LRU.load(),
            SIZE_LRU.load(),
            pointer,
            size,
        )
    };
    let own = map.wrapping_add(u64::from(own));
    if lock.wrapping_sub(own) < u64::from(own_size)
        || is_of_some_cpu(cpu, lock, field(map, pointer), u64::from(size))
    {
        class
    } else {
        LockClass::Other
    }
}

/// Is the lock in one of the objects of `size` bytes that every CPU has of `percpu`, a pointer to
/// which the kernel adds a CPU's offset?
///
/// The offsets are those between the places of [`ANCHOR`]. The search begins at this CPU's: a pop
/// does, too.
#[inline(always)]
fn is_of_some_cpu(cpu: &CpuState, lock: u64, percpu: u64, size: u64) -> bool {
    let possible = POSSIBLE_CPUS.load();
    let sought = lock.wrapping_sub(percpu).wrapping_add(anchor(cpu));
    // SAFETY: the helper has no precondition.
    let mut at = unsafe { bpf_get_smp_processor_id() };
    for turn in 0..MOST_CPUS {
        if turn >= possible {
            break;
        }
        let place = place_of(at);
        if !place.is_null() && sought.wrapping_sub(number(cpu, place)) < size {
            return true;
        }
        at += 1;
        if at >= possible {
            at = 0;
        }
    }
    false
}

/// Address of a CPU's [`ANCHOR`].
#[inline(always)]
fn place_of(cpu: u32) -> *mut c_void {
    let map = (&raw const ANCHOR).cast::<c_void>().cast_mut();
    let key = 0_u32;
    // SAFETY: the map and the key are valid for the call; a CPU that is not there gives NULL.
    unsafe { bpf_map_lookup_percpu_elem(map, (&raw const key).cast(), cpu) }
}

/// What the kernel adds a CPU's offset to for the place of its [`ANCHOR`].
#[inline(always)]
fn anchor(cpu: &CpuState) -> u64 {
    if cpu.anchor.get() == 0 {
        let map = number(cpu, ptr::from_ref(&ANCHOR).cast_mut().cast());
        cpu.anchor.set(field(map, OFFSET_ARRAY_PPTRS.load()));
    }
    cpu.anchor.get()
}
