//! The lookups, and their count.

use aya_ebpf::{
    bindings::task_struct,
    btf_maps::{Array, ArrayOfMaps},
    helpers::{bpf_get_smp_processor_id, bpf_ktime_get_ns, generated::bpf_get_current_task_btf},
    macros::{btf_map, raw_tracepoint},
    programs::RawTracePointContext,
};
use mapstorm_abi::workload::{Got, INTERLEAVED, MAX_GETS, MAX_STORAGES};

use crate::map::TaskStorage;

/// The maps; the driver makes as many as are asked for.
#[btf_map]
static STORAGES: ArrayOfMaps<TaskStorage<u64>, MAX_STORAGES> = ArrayOfMaps::new();

/// What was looked up, by CPU; the driver sets the number of entries.
#[btf_map]
static GOT: Array<Got, 1> = Array::new();

/// Looks up the running task's element in one map after the other; the arguments are those of `Gets`.
#[raw_tracepoint]
pub(crate) fn get_storage(ctx: RawTracePointContext) -> i32 {
    get(&ctx);
    0
}

#[inline(always)]
fn get(ctx: &RawTracePointContext) -> Option<()> {
    let (gets, first): (u64, u64) = (ctx.arg(0), ctx.arg(1));
    let (maps, interleaved): (u64, u64) = (ctx.arg(2), ctx.arg(3));
    // Nothing here may panic.
    let maps = maps.max(1);
    // SAFETY: the helper has no precondition.
    let got = GOT.get_ptr_mut(unsafe { bpf_get_smp_processor_id() })?;
    // SAFETY: a value is of one CPU, and the program does not nest.
    let got = unsafe { &mut *got };
    // SAFETY: the helper has no precondition.
    let task = unsafe { bpf_get_current_task_btf() };
    // SAFETY: the helper has no precondition.
    let start = unsafe { bpf_ktime_get_ns() };
    for turn in 0..MAX_GETS {
        if turn >= gets {
            break;
        }
        let map = (first + turn) % maps;
        look(got, task, map as u32);
        if interleaved != 0 && map % INTERLEAVED == 0 {
            look(got, task, 0);
        }
    }
    // SAFETY: as above.
    got.ns += unsafe { bpf_ktime_get_ns() } - start;
    Some(())
}

/// One lookup. Counted in memory: the verifier would follow every sum that a register can hold.
#[inline(always)]
fn look(got: &mut Got, task: *mut task_struct, map: u32) {
    got.gets += 1;
    got.important += u64::from(map == 0);
    let element = STORAGES.get(map).map(|map| map.get_or_make(task));
    if element.is_none_or(|element| element.is_null()) {
        got.missed += 1;
    }
}
