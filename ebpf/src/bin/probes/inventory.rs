//! Every map on the host, by the kernel's own iterator: works without the right to enumerate ids.
//!
//! Three forms, best first; the plan attaches one. They differ in how they learn the number of
//! elements, and none of them walks a map.

use core::arch::asm;

use aya_ebpf::{
    bindings::seq_file,
    cty::c_void,
    helpers::{bpf_probe_read_kernel, bpf_seq_write},
};
use mapstorm_abi::inventory::{COUNT_MARKER, MapRecord};

use crate::{
    globals::{
        OFFSET_HTAB_COUNT, OFFSET_HTAB_USES_PERCPU, OFFSET_MAP_ELEM_COUNT, OFFSET_MAP_KEY_SIZE,
        OFFSET_MAP_PAGES, OFFSET_MAP_VALUE_SIZE,
    },
    slots::{MapPtr, field, head},
};

/// `BPF_MAP_TYPE_HASH`, `PERCPU_HASH` and `HASH_OF_MAPS`: what counts its elements in
/// `bpf_htab.count` when it is not preallocated.
const COUNTING: [u32; 3] = [1, 5, 13];
/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;

/// Context of `iter/bpf_map`: `struct bpf_iter__bpf_map`.
#[repr(C)]
pub(crate) struct IterContext {
    /// `struct bpf_iter_meta *`, whose first field is the `seq_file` to write to.
    meta: *const *mut seq_file,
    /// The map, NULL at the end.
    map: MapPtr,
}

/// Writes one record per map, without a count. The macros of aya-ebpf know no iterators, so the
/// section is named here by hand.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/bpf_map")]
extern "C" fn inventory(ctx: &IterContext) -> i32 {
    write(ctx, |_, _| None)
}

/// The same, with the count of maps that keep their own (6.6 and newer).
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/bpf_map")]
extern "C" fn inventory_counted(ctx: &IterContext) -> i32 {
    write(ctx, |map, _| {
        // Maps that do not count have no counter; the function gives zero for them.
        let counter: u64 = field(map, OFFSET_MAP_ELEM_COUNT.load());
        (counter != 0).then(|| sum_elem_count(map))
    })
}

/// The same, with the count of maps that allocate as they go and count in one word (before 6.6).
/// The helper it needs is the one that lockdown takes away.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/bpf_map")]
extern "C" fn inventory_peeked(ctx: &IterContext) -> i32 {
    write(ctx, |map, record| {
        let head = record.head;
        if !COUNTING.contains(&head.map_type) || head.flags & NO_PREALLOC == 0 {
            return None;
        }
        // Large maps count per CPU, in batches, since 6.1.
        let uses_percpu = OFFSET_HTAB_USES_PERCPU.load();
        if uses_percpu != 0 && peek::<u8>(map, uses_percpu)? != 0 {
            return None;
        }
        peek::<i32>(map, OFFSET_HTAB_COUNT.load()).map(i64::from)
    })
}

/// Writes the record of one map.
#[inline(always)]
fn write(ctx: &IterContext, count: impl Fn(MapPtr, &MapRecord) -> Option<i64>) -> i32 {
    let map = ctx.map;
    if map.is_null() {
        return 0;
    }
    let pages = OFFSET_MAP_PAGES.load();
    let mut record = MapRecord {
        head: head(map),
        key_size: field(map, OFFSET_MAP_KEY_SIZE.load()),
        value_size: field(map, OFFSET_MAP_VALUE_SIZE.load()),
        pages: if pages == 0 { 0 } else { field(map, pages) },
        counted: 0,
        entries: 0,
    };
    if let Some(entries) = count(map, &record) {
        record.entries = entries;
        record.counted = 1;
    }
    let bytes = (&raw const record).cast::<c_void>().cast_mut();
    // SAFETY: the kernel passes valid metadata.
    let seq = unsafe { *ctx.meta };
    // SAFETY: `record` is initialised and of the size given. A full buffer makes the kernel call
    // again for the same map, so the result needs no look.
    unsafe { bpf_seq_write(seq, bytes, size_of::<MapRecord>() as u32) };
    0
}

/// Calls the kernel's function. What stands here calls a helper that does not exist: the daemon puts
/// the function's id in its place.
#[inline(always)]
fn sum_elem_count(map: MapPtr) -> i64 {
    let sum: i64;
    // SAFETY: a call by the kernel's convention: arguments and scratch in r1 to r5, result in r0.
    unsafe {
        asm!(
            "call {marker}",
            marker = const COUNT_MARKER,
            inlateout("r1") map => _,
            lateout("r0") sum,
            lateout("r2") _,
            lateout("r3") _,
            lateout("r4") _,
            lateout("r5") _,
        );
    }
    sum
}

/// Reads a field of the `bpf_htab` around a map, which the verifier does not let us touch.
#[inline(always)]
fn peek<T>(map: MapPtr, offset: u32) -> Option<T> {
    let field = map.wrapping_add(offset as usize).cast::<T>();
    // SAFETY: the helper takes any address and fails where there is nothing.
    unsafe { bpf_probe_read_kernel(field) }.ok()
}
