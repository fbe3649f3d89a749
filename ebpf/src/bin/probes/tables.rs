//! The mapped table, and how a word of it is added to.

use core::{arch::asm, cell::Cell};

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE,
    helpers::{bpf_get_smp_processor_id, bpf_ktime_get_ns},
    macros::map,
    maps::Array,
};
use mapstorm_abi::{CpuState, Lost};

/// One value per possible CPU: its state, then its slots, then its timings. The daemon sets the
/// number of values and their size before load; one lookup then finds everything.
#[map]
static CPUS: Array<CpuState> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// This CPU's state.
#[inline(always)]
pub(crate) fn cpu() -> Option<&'static CpuState> {
    // SAFETY: the helper has no precondition.
    CPUS.get(unsafe { bpf_get_smp_processor_id() })
}

/// The clock, nanoseconds.
#[inline(always)]
pub(crate) fn now_ns() -> u64 {
    // SAFETY: the helper has no precondition.
    unsafe { bpf_ktime_get_ns() }
}

/// Are the probes armed? The daemon throws the switch after the last probe is attached.
#[inline(always)]
pub(crate) fn armed(cpu: &CpuState) -> bool {
    load(&cpu.armed) != 0
}

/// Reads a cell at this place of the program and not at another: where the order of accesses is a
/// protocol among programs that interrupt each other.
#[inline(always)]
pub(crate) fn load<T: Copy>(cell: &Cell<T>) -> T {
    // SAFETY: a cell's pointer is valid and aligned.
    unsafe { cell.as_ptr().read_volatile() }
}

/// Writes a cell at this place of the program and not at another.
#[inline(always)]
pub(crate) fn store<T: Copy>(cell: &Cell<T>, value: T) {
    // SAFETY: as above.
    unsafe { cell.as_ptr().write_volatile(value) }
}

/// Adds to a word that only this program on this CPU writes. Where a program can run inside itself
/// on one CPU (`NESTING`, before 5.12) the plain load-add-store could lose the inner one's, so there
/// it is an atomic add.
#[inline(always)]
pub(crate) fn add<const NESTING: bool>(word: &Cell<u64>, n: u64) {
    if NESTING {
        atomic_add(word, n);
    } else {
        word.set(word.get().wrapping_add(n));
    }
}

/// The one atomic that 5.10 has: an add whose result is not used. Rust's own atomics want a
/// compare-and-swap of the target, so it is spelled in assembly.
#[inline(always)]
pub(crate) fn atomic_add(word: &Cell<u64>, n: u64) {
    // SAFETY: a cell's pointer is valid and aligned.
    unsafe {
        asm!("lock *(u64 *)({word} + 0) += {n}", word = in(reg) word.as_ptr(), n = in(reg) n);
    }
}

/// Counts an event, or a timing, that could not be kept. Programs of several hooks write these
/// words and may preempt each other.
#[inline(always)]
pub(crate) fn lose(cpu: &CpuState, reason: Lost) {
    atomic_add(&cpu.lost[reason as usize], 1);
}
