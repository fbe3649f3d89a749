//! Rare words from inside the kernel to the daemon's log; the counters say how often.

use aya_ebpf::EbpfContext;
use aya_log_ebpf::warn;
use mapstorm_abi::CpuState;

use crate::tables::now_ns;

/// At most one remark per CPU in this many nanoseconds.
const EVERY_NS: u64 = 10_000_000_000;

/// An operation could not be counted: its CPU has no slot for the map.
#[inline(never)]
pub(crate) fn uncounted(ctx: &impl EbpfContext, cpu: &CpuState) {
    let now_ns = now_ns();
    let last_ns = cpu.remarked_ns.get();
    if last_ns != 0 && now_ns.wrapping_sub(last_ns) < EVERY_NS {
        return;
    }
    cpu.remarked_ns.set(now_ns);
    warn!(
        ctx,
        "no counter slot for a map on this CPU: its operations are counted as lost"
    );
}
