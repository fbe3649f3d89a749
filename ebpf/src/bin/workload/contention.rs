//! Fights for the locks of one map, and a witness of the waits in them that owes nothing to the probes.

use aya_ebpf::{
    helpers::bpf_get_smp_processor_id,
    macros::{map, raw_tracepoint},
    maps::Array,
    programs::RawTracePointContext,
};
use mapstorm_abi::workload::Fight;

use crate::update;

/// Counts by CPU; the driver sets the number of entries.
#[map]
static FIGHTS: Array<Fight> = Array::with_max_entries(1, 0);

/// `LCB_F_SPIN`.
const SPIN: u32 = 1;

/// This CPU's counts.
#[inline(always)]
fn fight() -> Option<&'static mut Fight> {
    // SAFETY: the helper has no precondition.
    let fight = FIGHTS.get_ptr_mut(unsafe { bpf_get_smp_processor_id() })?;
    // SAFETY: a value is of one CPU, and its programs take turns on it.
    Some(unsafe { &mut *fight })
}

/// The work of `update_churn`, and the witness looks.
#[raw_tracepoint]
pub(crate) fn fight_churn(ctx: RawTracePointContext) -> i32 {
    look(1);
    update::churn(&ctx);
    look(0);
    0
}

/// The work of `update_lru`, likewise.
#[raw_tracepoint]
pub(crate) fn fight_lru(ctx: RawTracePointContext) -> i32 {
    look(1);
    update::lru(&ctx);
    look(0);
    0
}

/// Lets the witness look, or not.
#[inline(never)]
fn look(inside: u64) -> Option<()> {
    fight()?.inside = inside;
    Some(())
}

/// Attached to `contention_begin(lock, flags)`: counts every wait for a spinlock on a CPU that is
/// inside of the work.
#[raw_tracepoint]
pub(crate) fn witness_begin(ctx: RawTracePointContext) -> i32 {
    if ctx.arg::<u32>(1) & SPIN != 0
        && let Some(fight) = fight()
        && fight.inside != 0
    {
        fight.waits += 1;
    }
    0
}

/// Attached to `contention_end(lock, ret)`: counts the locks that were not had.
#[raw_tracepoint]
pub(crate) fn witness_end(ctx: RawTracePointContext) -> i32 {
    if ctx.arg::<u64>(1) as i32 != 0
        && let Some(fight) = fight()
        && fight.inside != 0
    {
        fight.failures += 1;
    }
    0
}
