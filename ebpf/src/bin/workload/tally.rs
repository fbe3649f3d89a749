//! The workload's own count of what it did, per CPU and target.

use aya_ebpf::{helpers::bpf_get_smp_processor_id, macros::map, maps::Array};
use mapstorm_abi::workload::{ERRNOS, Tally, Target};

/// Counts by `cpu × Target::COUNT + target`; the driver sets the number of entries.
#[map]
static TALLIES: Array<Tally> = Array::with_max_entries(1, 0);

/// This CPU's tally of a target.
#[inline(always)]
pub(crate) fn of(target: Target) -> Option<&'static mut Tally> {
    // SAFETY: the helper has no precondition.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    let tally = TALLIES.get_ptr_mut(cpu * Target::COUNT as u32 + target as u32)?;
    // SAFETY: a value is of one CPU and one target, and a target's programs do not nest.
    Some(unsafe { &mut *tally })
}

/// Counts one update.
#[inline(always)]
pub(crate) fn update(tally: &mut Tally, ret: i64) {
    tally.updates[-ret as usize & (ERRNOS - 1)] += 1;
}

/// Counts one delete.
#[inline(always)]
pub(crate) fn delete(tally: &mut Tally, ret: i64) {
    tally.deletes[-ret as usize & (ERRNOS - 1)] += 1;
}

/// Adds the time that a run of `loops` updates took.
#[inline(always)]
pub(crate) fn time(tally: &mut Tally, loops: u64, ns: u64) {
    tally.ns += ns;
    if loops < 100 {
        return;
    }
    let per_1000 = ns * 1000 / loops;
    if tally.best_ns_per_1000 == 0 || per_1000 < tally.best_ns_per_1000 {
        tally.best_ns_per_1000 = per_1000;
    }
}
