//! The mapped table, and how a word of it is added to.

use core::{arch::asm, cell::Cell, ffi::c_void, mem::MaybeUninit};

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE,
    helpers::{bpf_get_smp_processor_id, bpf_ktime_get_ns, generated::bpf_probe_read_kernel},
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

/// The value of a pointer. The verifier lets no pointer be compared or computed with freely, but a
/// number that was read from memory.
#[inline(always)]
pub(crate) fn number(cpu: &CpuState, pointer: *mut c_void) -> u64 {
    store(&cpu.number, pointer as u64);
    load(&cpu.number)
}

/// Reads kernel memory that the verifier knows nothing of; what cannot be read is zero.
#[inline(always)]
pub(crate) fn peek<T: Copy>(address: u64) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let to = value.as_mut_ptr().cast();
    // SAFETY: `value` has room for the bytes asked for; the source may be any address.
    unsafe { bpf_probe_read_kernel(to, size_of::<T>() as u32, address as *const c_void) };
    // SAFETY: the helper filled it, with zeros where it could not read. To look at what it returned
    // would be one more way for the verifier to walk.
    unsafe { value.assume_init() }
}

/// The same number, of which the verifier knows nothing any more. In a loop it walks every turn once
/// for each range that a number may be in.
#[inline(always)]
pub(crate) fn forget(cpu: &CpuState, number: u64) -> u64 {
    number ^ load(&cpu.zero)
}
