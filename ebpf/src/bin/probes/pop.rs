//! Freelist pops: `__pcpu_freelist_pop` up to 6.12, `alloc_htab_elem` where that is out of reach.
//!
//! They run inside an update with the bucket locked and interrupts off, so every instruction here
//! lengthens the hold: they find the update's frame, and count into its slot.

use aya_ebpf::{
    helpers::bpf_ktime_get_ns,
    macros::{fentry, fexit},
    programs::{FEntryContext, FExitContext},
};
use mapstorm_abi::{
    Lost,
    slot::{POP_EMPTY, POP_OK},
};

use crate::{
    frames,
    globals::OFFSET_HTAB_FREELIST,
    slots::{self, MapPtr},
    tables::{add, armed_cpu, lose},
};

/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;
/// `E2BIG`.
const E2BIG: i64 = 7;

/// Stamps the start into the frame of the update that pops. `owner` is an address `offset` bytes
/// into the map.
#[inline(always)]
fn enter(owner: u64, offset: u64) -> Option<()> {
    let (_, state) = armed_cpu()?;
    let frame = frames::owner_of_pop(state, owner, offset, false)?;
    // SAFETY: the frame is this call's; the helper has no precondition.
    unsafe { (*frame).pop_start_ns = bpf_ktime_get_ns() };
    Some(())
}

/// Counts the pop into the update's slot, and times it if its start was seen.
#[inline(always)]
fn exit(owner: u64, offset: u64, outcome: usize) -> Option<()> {
    let (cpu, state) = armed_cpu()?;
    let started = frames::owner_of_pop(state, owner, offset, true);
    let Some(frame) = started.or_else(|| frames::owner_of_pop(state, owner, offset, false)) else {
        lose(state, Lost::PopUnowned);
        return None;
    };
    // SAFETY: `frame` comes from `frames`.
    let (index, start) = unsafe { ((*frame).slot, (*frame).pop_start_ns) };
    // SAFETY: as above.
    unsafe { (*frame).pop_start_ns = 0 };
    let Some(slot) = index.checked_sub(1).and_then(slots::at) else {
        lose(state, Lost::PopUnowned);
        return None;
    };
    // SAFETY: `slot` is a map value and `outcome` is within the array.
    unsafe {
        add((&raw mut (*slot).pops).cast::<u64>().add(outcome), 1);
        if start == 0 {
            lose(state, Lost::PopNoStart);
        } else {
            slots::time(cpu, state, (*slot).pop_histogram, start);
        }
    }
    Some(())
}

/// `__pcpu_freelist_pop(struct pcpu_freelist *)`.
#[fentry]
pub(crate) fn pop_in(ctx: FEntryContext) -> u32 {
    enter(ctx.arg::<u64>(0), u64::from(OFFSET_HTAB_FREELIST.load()));
    0
}

/// Its exit: NULL means that every list was empty.
#[fexit]
pub(crate) fn pop_out(ctx: FExitContext) -> u32 {
    let outcome = if ctx.arg::<u64>(1) == 0 {
        POP_EMPTY
    } else {
        POP_OK
    };
    exit(
        ctx.arg::<u64>(0),
        u64::from(OFFSET_HTAB_FREELIST.load()),
        outcome,
    );
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
        enter(ctx.arg::<u64>(0), 0);
    }
    0
}

/// Its exit. -E2BIG as a pointer means that every list was empty (or, on 6.15 and newer, locked).
#[inline(always)]
fn alloc_exit(ctx: &FExitContext, ret: i64) {
    if alloc_pops(ctx.arg(0), ctx.arg(7)) {
        let outcome = if ret == -E2BIG { POP_EMPTY } else { POP_OK };
        exit(ctx.arg::<u64>(0), 0, outcome);
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
