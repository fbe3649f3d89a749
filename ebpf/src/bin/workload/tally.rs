//! The workload's own count of what it did, per CPU and target.

use aya_ebpf::{helpers::bpf_get_smp_processor_id, macros::map, maps::Array};
use mapstorm_abi::workload::{ERRNOS, Tally, Target};

/// Counts by `cpu × Target::COUNT + target`; the driver sets the number of entries.
#[map]
static TALLIES: Array<Tally> = Array::with_max_entries(1, 0);

/// This CPU's tally of a target.
#[inline(always)]
pub(crate) fn of(target: Target) -> Option<*mut Tally> {
    // SAFETY: the helper has no precondition.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    TALLIES.get_ptr_mut(cpu * Target::COUNT as u32 + target as u32)
}

/// Counts one update.
#[inline(always)]
pub(crate) fn update(tally: *mut Tally, ret: i64) {
    // SAFETY: `tally` is a map value and the masked index is within the array.
    unsafe {
        let errnos = (&raw mut (*tally).updates).cast::<u64>();
        *errnos.add(-ret as usize & (ERRNOS - 1)) += 1;
    }
}

/// Counts one delete that removed something.
#[inline(always)]
pub(crate) fn delete(tally: *mut Tally) {
    // SAFETY: `tally` is a map value.
    unsafe { (*tally).deletes += 1 };
}

/// Adds the time that a run of `loops` updates took.
#[inline(always)]
pub(crate) fn time(tally: *mut Tally, loops: u64, ns: u64) {
    // SAFETY: `tally` is a map value.
    unsafe {
        (*tally).ns += ns;
        if loops >= 100 {
            let per_1000 = ns * 1000 / loops;
            if (*tally).best_ns_per_1000 == 0 || per_1000 < (*tally).best_ns_per_1000 {
                (*tally).best_ns_per_1000 = per_1000;
            }
        }
    }
}
