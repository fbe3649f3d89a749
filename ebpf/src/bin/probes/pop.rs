//! Freelist pops: `__pcpu_freelist_pop` up to 6.12, `alloc_htab_elem` where that is out of reach.
//!
//! They run inside an update with the bucket locked and interrupts off, so every instruction here
//! lengthens the hold: they leave what they saw on the CPU, and the update's exit counts it.

use aya_ebpf::{
    EbpfContext as _,
    macros::{fentry, fexit},
    programs::{FEntryContext, FExitContext},
};
use mapstorm_abi::{CpuState, Lost, Popped, cpu::WAIT_NS};

use crate::{
    operation::freelist,
    slots::{self, MapPtr},
    tables::{armed, cpu, load, lose, now_ns, store},
};

/// `BPF_F_NO_PREALLOC`.
pub(crate) const NO_PREALLOC: u32 = 1;
/// `E2BIG`.
pub(crate) const E2BIG: i64 = 7;

/// Stamps the start of the call with this key. Whether the probes are armed is seen at the update's exit: a pop from before
/// that nobody counted is dropped by the daemon when it arms.
#[inline(always)]
pub(crate) fn enter(key: u64) -> Option<()> {
    let cpu = cpu()?;
    cpu.pop_start_ns.set(now_ns());
    cpu.pop_key.set(key);
    Some(())
}

/// Leaves the pop for the exit of the update around it. `freelist` and `found`, 0 when every list
/// was empty, are read after the clock.
#[inline(always)]
pub(crate) fn exit(
    key: u64,
    freelist: impl FnOnce() -> u64,
    found: impl FnOnce() -> u64,
) -> Option<()> {
    let end_ns = now_ns();
    let cpu = cpu()?;
    let waiting = &cpu.popped;
    let started = cpu.pop_key.get() == key;
    if !started || waiting.end_ns.get() != 0 {
        spill(cpu, started, end_ns, freelist(), found());
        return Some(());
    }
    cpu.pop_key.set(0);
    waiting.start_ns.set(cpu.pop_start_ns.get());
    waiting.freelist.set(freelist());
    waiting.found.set(found());
    waiting.end_ns.set(end_ns);
    Some(())
}

/// Leaves a pop that is not as usual: another still waits, of an update that was overtaken before
/// its exit, or the pop's entry was missed or before arming.
#[inline(never)]
fn spill(cpu: &CpuState, started: bool, end_ns: u64, freelist: u64, found: u64) {
    if !armed(cpu) {
        return;
    }
    let mut start_ns = 0;
    if started {
        start_ns = cpu.pop_start_ns.get();
        cpu.pop_key.set(0);
    }
    // A free place counts as the oldest. Without one, the pop that gives way is one whose exit was
    // missed: no more than that are ever nested.
    let mut oldest = &cpu.pops_waiting[0];
    for waiting in &cpu.pops_waiting {
        if waiting.end_ns.get() < oldest.end_ns.get() {
            oldest = waiting;
        }
    }
    if oldest.end_ns.get() != 0 {
        lose(cpu, Lost::PopOverflow);
    }
    oldest.start_ns.set(start_ns);
    oldest.freelist.set(freelist);
    oldest.found.set(found);
    store(&oldest.end_ns, end_ns);
    // The flag goes last, so that who clears it finds the pop.
    store(&cpu.pops_spilled, 1);
}

/// May pops wait elsewhere than in their usual place?
#[inline(always)]
pub(crate) fn spilled(cpu: &CpuState) -> bool {
    load(&cpu.pops_spilled) != 0
}

/// A pop taken from where it waited.
pub(crate) struct Taken {
    /// As in [`Popped`]; 0 when there was none.
    pub(crate) end_ns: u64,
    /// As in [`Popped`].
    pub(crate) start_ns: u64,
    /// As in [`Popped`].
    pub(crate) found: u64,
}

/// Nothing taken. Not an `Option`: its unset half on the stack would fail older verifiers.
pub(crate) const NOTHING: Taken = Taken {
    end_ns: 0,
    start_ns: 0,
    found: 0,
};

/// Takes the pop that waits for the exit of an update on the map of this freelist, wherever it waits, and lets none
/// whose exit was missed keep later ones from the usual place, or later exits from the usual way.
/// `after_ns` is the update's start, 0 when that was missed.
#[inline(always)]
pub(crate) fn take<const NESTING: bool>(
    cpu: &CpuState,
    freelist: u64,
    after_ns: u64,
    now_ns: u64,
) -> Taken {
    if is_ours::<NESTING>(&cpu.popped, freelist, after_ns) {
        return empty(&cpu.popped);
    }
    if overdue(&cpu.popped, now_ns) {
        store(&cpu.popped.end_ns, 0);
        lose(cpu, Lost::PopOrphan);
    }
    if !spilled(cpu) {
        return NOTHING;
    }
    // The flag is cleared before the search and raised again if another is left, so that a pop
    // spilled meanwhile is not forgotten.
    store(&cpu.pops_spilled, 0);
    let mut taken = NOTHING;
    for popped in &cpu.pops_waiting {
        if is_ours::<NESTING>(popped, freelist, after_ns) {
            taken = empty(popped);
            break;
        }
    }
    // In a loop of its own, and without a branch: what the verifier has to remember from one turn to
    // the next it walks once for each value.
    let mut left = 0;
    for popped in &cpu.pops_waiting {
        left |= overdue_ns(popped, now_ns);
    }
    if left >> 63 != 0 {
        store(&cpu.pops_spilled, 1);
    }
    taken
}

/// Is there a pop here that has waited for so long that its exit must have been missed? One that came
/// after the clock was read is not.
#[inline(always)]
fn overdue(popped: &Popped, now_ns: u64) -> bool {
    popped.end_ns.get() != 0 && overdue_ns(popped, now_ns) >> 63 == 0
}

/// For how long a pop has been overdue, nanoseconds: as a negative number while it is not, and long
/// since where there is no pop.
#[inline(always)]
fn overdue_ns(popped: &Popped, now_ns: u64) -> u64 {
    now_ns
        .wrapping_sub(WAIT_NS + 1)
        .wrapping_sub(popped.end_ns.get())
}

/// Is there a pop here that an update on this map may count? Where updates nest like a stack
/// (`NESTING`), an earlier one than the update is another's. Elsewhere it may be one whose own exit
/// was missed: it is counted now.
#[inline(always)]
fn is_ours<const NESTING: bool>(popped: &Popped, freelist: u64, after_ns: u64) -> bool {
    let start_ns = popped.start_ns.get();
    popped.end_ns.get() != 0
        && popped.freelist.get() == freelist
        && (!NESTING || start_ns == 0 || start_ns >= after_ns)
}

/// Reads a waiting pop and makes its place free.
#[inline(always)]
fn empty(popped: &Popped) -> Taken {
    let taken = Taken {
        end_ns: popped.end_ns.get(),
        start_ns: popped.start_ns.get(),
        found: popped.found.get(),
    };
    store(&popped.end_ns, 0);
    taken
}

/// `__pcpu_freelist_pop(struct pcpu_freelist *)`.
#[fentry]
pub(crate) fn pop_in(ctx: FEntryContext) -> u32 {
    enter(ctx.as_ptr() as u64);
    0
}

/// Its exit: NULL means that every list was empty.
#[fexit]
pub(crate) fn pop_out(ctx: FExitContext) -> u32 {
    exit(ctx.as_ptr() as u64, || ctx.arg(0), || ctx.arg(1));
    0
}

/// `alloc_htab_elem(htab, key, value, key_size, hash, percpu, onallcpus, old_elem, …)`: pops exactly
/// when the map is preallocated and there is no old element to replace.
#[inline(always)]
fn alloc_pops(map: MapPtr, old_elem: u64) -> bool {
    old_elem == 0 && slots::flags(map) & NO_PREALLOC == 0
}

/// Entry of `alloc_htab_elem`, used where the pop itself cannot be hooked (6.13 and newer).
#[fentry]
pub(crate) fn alloc_in(ctx: FEntryContext) -> u32 {
    if alloc_pops(ctx.arg(0), ctx.arg(7)) {
        enter(ctx.as_ptr() as u64);
    }
    0
}

/// Its exit. -E2BIG as a pointer means that every list was empty (or, on 6.15 and newer, locked).
#[inline(always)]
fn alloc_exit(ctx: &FExitContext, ret: i64) {
    if alloc_pops(ctx.arg(0), ctx.arg(7)) {
        exit(
            ctx.as_ptr() as u64,
            || freelist(ctx.arg(0)),
            || u64::from(ret != -E2BIG),
        );
    }
}

/// Exit of the form with eight parameters; the return value lies behind them.
#[fexit]
pub(crate) fn alloc_out(ctx: FExitContext) -> u32 {
    alloc_exit(&ctx, ctx.arg(8));
    0
}

/// Exit of the form with nine, the last of them `map_flags` (seen on 7.3).
#[fexit]
pub(crate) fn alloc_flags_out(ctx: FExitContext) -> u32 {
    alloc_exit(&ctx, ctx.arg(9));
    0
}
