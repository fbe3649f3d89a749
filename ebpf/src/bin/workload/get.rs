//! Lookups in a hash: what lookups in local storage are measured against.

use aya_ebpf::{
    helpers::{bpf_get_smp_processor_id, bpf_ktime_get_ns},
    macros::{map, raw_tracepoint},
    maps::Array,
    programs::RawTracePointContext,
};
use mapstorm_abi::workload::{Got, KEY_STEP, MAX_GETS};

use crate::update;

/// What was looked up, by CPU; the driver sets the number of entries.
#[map]
static GOT: Array<Got> = Array::with_max_entries(1, 0);

/// Looks up keys of `drill_churn`, all over the map; the arguments are those of `Gets`.
#[raw_tracepoint]
pub(crate) fn get_churn(ctx: RawTracePointContext) -> i32 {
    get(&ctx);
    0
}

#[inline(always)]
fn get(ctx: &RawTracePointContext) -> Option<()> {
    let (gets, first, keys): (u64, u64, u64) = (ctx.arg(0), ctx.arg(1), ctx.arg(2));
    // Nothing here may panic.
    let keys = keys.max(1);
    // SAFETY: the helper has no precondition.
    let got = GOT.get_ptr_mut(unsafe { bpf_get_smp_processor_id() })?;
    // SAFETY: a value is of one CPU, and the program does not nest.
    let got = unsafe { &mut *got };
    // SAFETY: the helper has no precondition.
    let start = unsafe { bpf_ktime_get_ns() };
    let [factor, step] = KEY_STEP;
    let mut at = first;
    for turn in 0..MAX_GETS {
        if turn >= gets {
            break;
        }
        at = at.wrapping_mul(factor).wrapping_add(step);
        let key = ((at >> 16) % keys) as u32;
        // Counted in memory: the verifier would follow every sum that a register can hold.
        if !update::is_in_churn(&key) {
            got.missed += 1;
        }
    }
    // SAFETY: as above.
    got.ns += unsafe { bpf_ktime_get_ns() } - start;
    got.gets += gets;
    Some(())
}
