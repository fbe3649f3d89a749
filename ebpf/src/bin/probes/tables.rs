//! The three mapped tables, and how a word of them is added to.

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE, helpers::bpf_get_smp_processor_id, macros::map, maps::Array,
};
use core::arch::asm;
use mapstorm_abi::{CpuState, Histogram, Lost, Slot};

use crate::globals::SELF_NESTING;

/// State by CPU; the daemon sets the number of entries of all three to what the host has.
#[map]
pub(crate) static CPUS: Array<CpuState> = Array::with_max_entries(1, BPF_F_MMAPABLE);
/// Counters by `cpu × SLOTS_PER_CPU + slot`.
#[map]
pub(crate) static SLOTS: Array<Slot> = Array::with_max_entries(1, BPF_F_MMAPABLE);
/// Histograms by `cpu × HISTOGRAMS_PER_CPU + histogram`.
#[map]
pub(crate) static HISTOGRAMS: Array<Histogram> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// This CPU's number and state; `None` while the probes are not armed.
#[inline(always)]
pub(crate) fn armed_cpu() -> Option<(u32, *mut CpuState)> {
    // SAFETY: the helper has no precondition.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    let state = CPUS.get_ptr_mut(cpu)?;
    // SAFETY: a pointer that a lookup gave is valid for the program's run; the daemon writes the
    // word while we read it, and either value is right.
    let armed = unsafe { (&raw const (*state).armed).read_volatile() };
    (armed != 0).then_some((cpu, state))
}

/// Adds to a word that only this CPU writes. Where a program can nest in itself the plain
/// load-add-store could lose the nested one's, so there it is an atomic add; the verifier keeps one
/// of the two.
#[inline(always)]
pub(crate) fn add(word: *mut u64, n: u64) {
    if SELF_NESTING.load() == 0 {
        // SAFETY: `word` lies in a map value, aligned; only this program on this CPU writes it.
        unsafe { *word += n };
    } else {
        atomic_add(word, n);
    }
}

/// The one atomic that 5.10 has: an add whose result is not used. Rust's own atomics want a
/// compare-and-swap of the target, so it is spelled in assembly.
#[inline(always)]
fn atomic_add(word: *mut u64, n: u64) {
    // SAFETY: `word` lies in a map value, aligned.
    unsafe {
        asm!("lock *(u64 *)({word} + 0) += {n}", word = in(reg) word, n = in(reg) n);
    }
}

/// Counts an event, or a timing, that could not be kept. Programs of several hooks write these
/// words and may preempt each other.
#[inline(always)]
pub(crate) fn lose(state: *mut CpuState, reason: Lost) {
    // SAFETY: `state` is a map value and the index is within its array.
    atomic_add(
        unsafe { (&raw mut (*state).lost).cast::<u64>().add(reason as usize) },
        1,
    );
}
