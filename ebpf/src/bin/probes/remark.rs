//! Rare words from inside the kernel to the daemon's log; the counters say how often.

use aya_ebpf::{EbpfContext, helpers::bpf_ktime_get_ns};
use aya_log_ebpf::warn;
use mapstorm_abi::CpuState;

/// At most one remark per CPU in this many nanoseconds.
const EVERY_NS: u64 = 10_000_000_000;

/// An operation could not be counted: its CPU has no slot for the map.
#[inline(always)]
pub(crate) fn uncounted(ctx: &impl EbpfContext, state: *mut CpuState) {
    // SAFETY: the helper has no precondition.
    let now = unsafe { bpf_ktime_get_ns() };
    // SAFETY: `state` is a map value.
    let last = unsafe { (*state).remarked_ns };
    if now.wrapping_sub(last) < EVERY_NS && last != 0 {
        return;
    }
    // SAFETY: as above.
    unsafe { (*state).remarked_ns = now };
    warn!(
        ctx,
        "no counter slot for a map on this CPU: its operations are counted as lost"
    );
}
