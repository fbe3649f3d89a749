//! Waits for locks: the tracepoints `contention_begin` and `contention_end` (5.19 and newer).
//!
//! They fire for every lock of the host. A wait is ours when a map operation is open around it on
//! the same stack: that leaves out what an interrupt or another task waits for meanwhile. All that
//! takes time is done at the begin: at the end the lock is held.

use aya_ebpf::{EbpfContext as _, macros::raw_tracepoint, programs::RawTracePointContext};
use mapstorm_abi::{
    CpuState, Frame, Lost, Outcome, Slot, Wait,
    contention::{CLAIMER, STACK_REACH, is_around, lock_key, oldest_open_ns},
    cpu::STALE_NS,
};

use crate::{
    globals::SLOT_MASK,
    lock, slots,
    tables::{armed, atomic_add, cpu, forget, load, lose, now_ns, number, store},
};

/// `LCB_F_SPIN` and `LCB_F_RT`: who waits for anything else sleeps, and no map operation does.
const OURS: u32 = 1 << 0 | 1 << 3;

/// `contention_begin(lock, flags)`.
#[raw_tracepoint]
pub(crate) fn contention_begin(ctx: RawTracePointContext) -> i32 {
    begin(&ctx);
    0
}

/// `contention_end(lock, ret)`: `ret` is not 0 when the lock was not had (6.15 and newer).
#[raw_tracepoint]
pub(crate) fn contention_end(ctx: RawTracePointContext) -> i32 {
    end(&ctx);
    0
}

/// Goes on only where an operation is open on this CPU.
#[inline(always)]
fn begin(ctx: &RawTracePointContext) -> Option<()> {
    if ctx.arg::<u32>(1) & OURS == 0 {
        return None;
    }
    let cpu = cpu()?;
    let mut open = cpu.nested.get();
    for frames in &cpu.frames {
        open |= frames[0].map.get();
    }
    if open != 0 && armed(cpu) {
        wait(cpu, ctx.arg(0), number(cpu, ctx.as_ptr()));
    }
    Some(())
}

/// Keeps the begin of a wait for `lock`, if an operation is open around `place`.
#[inline(never)]
fn wait(cpu: &CpuState, lock: u64, place: u64) -> Option<()> {
    let now_ns = now_ns();
    let map = innermost(cpu, place, now_ns);
    if map == 0 {
        return None;
    }
    let head = lock::head(map);
    let key = lock_key(head.id, lock::class(cpu, &head, map, lock));
    let slot = slots::find_key(cpu, CLAIMER, key, || head)?;
    let entry = entry(cpu, lock, place, now_ns)?;
    entry.place.set(place);
    entry.slot.set(offset(cpu, slot));
    entry.start_ns.set(crate::tables::now_ns());
    store(&entry.lock, lock);
    Some(())
}

/// Address of the map of the operation that was begun last of those around `place`; 0 for none. An
/// operation whose exit was missed looks open, and is older than the one that is.
#[inline(always)]
fn innermost(cpu: &CpuState, place: u64, now_ns: u64) -> u64 {
    let (mut map, mut start_ns) = (0, oldest_open_ns(now_ns));
    let mut look = |frame: &Frame| {
        let is_open = frame.map.get() != 0 && is_around(frame.key.get(), place);
        if is_open && frame.start_ns.get() >= start_ns {
            // Whether this was the last one or another, the verifier is to know the same.
            map = forget(cpu, frame.map.get());
            start_ns = forget(cpu, frame.start_ns.get());
        }
    };
    for frames in &cpu.frames {
        look(&frames[0]);
    }
    if load(&cpu.nested) != 0 {
        // Cleared before the search, so that a call opened meanwhile is not forgotten.
        store(&cpu.nested, 0);
        let mut open = 0;
        for frame in cpu.frames.as_flattened() {
            open |= frame.map.get();
            look(frame);
        }
        if open != 0 {
            store(&cpu.nested, 1);
        }
    }
    map
}

/// A place to keep a wait: a free one, the one a wait of the same call left behind, or one whose end
/// will not come.
#[inline(always)]
fn entry(cpu: &CpuState, lock: u64, place: u64, now_ns: u64) -> Option<&Wait> {
    for wait in &cpu.waits {
        if wait.lock.get() == 0 {
            return Some(wait);
        }
        if wait.lock.get() == lock && is_same_call(wait, place) {
            lose(cpu, Lost::WaitOrphan);
            return Some(wait);
        }
    }
    for wait in &cpu.waits {
        if now_ns.wrapping_sub(wait.start_ns.get()) > STALE_NS {
            lose(cpu, Lost::WaitOrphan);
            return Some(wait);
        }
    }
    lose(cpu, Lost::WaitOverflow);
    None
}

/// Did this wait begin on the stack that `place` is on? Two tasks on one CPU can wait for one lock
/// where waiters are preempted.
#[inline(always)]
fn is_same_call(wait: &Wait, place: u64) -> bool {
    wait.place
        .get()
        .wrapping_sub(place)
        .wrapping_add(STACK_REACH / 2)
        < STACK_REACH
}

/// Offset of a slot within this CPU's slots, bytes.
#[inline(always)]
fn offset(cpu: &CpuState, slot: &Slot) -> u64 {
    let (slot, state) = (core::ptr::from_ref(slot), core::ptr::from_ref(cpu));
    (slot as u64)
        .wrapping_sub(state as u64)
        .wrapping_sub(size_of::<CpuState>() as u64)
}

/// Counts the wait that ends here, if its begin was kept.
#[inline(always)]
fn end(ctx: &RawTracePointContext) -> Option<()> {
    let cpu = cpu()?;
    let lock = ctx.arg::<u64>(0);
    for wait in &cpu.waits {
        if wait.lock.get() == lock && is_same_call(wait, number(cpu, ctx.as_ptr())) {
            count(cpu, wait, ctx.arg::<u64>(1) as i32);
            break;
        }
    }
    Some(())
}

/// Counts a wait by how it ended. By atomic adds: before 6.1 the program can run inside itself.
#[inline(never)]
fn count(cpu: &CpuState, wait: &Wait, ret: i32) {
    let took_ns = now_ns().wrapping_sub(wait.start_ns.get());
    let slot = slots::at(cpu, wait.slot.get() & u64::from(SLOT_MASK.load()));
    store(&wait.lock, 0);
    atomic_add(&slot.outcomes[Outcome::of(ret) as usize], 1);
    match slots::timings::<true>(cpu, slot) {
        Some(timings) => slots::time::<true>(&timings.operation, took_ns),
        None => lose(cpu, Lost::NoTimings),
    }
}
