//! Operations: what an entry and an exit program do on each function that one runs through.

use aya_ebpf::{
    EbpfContext as _,
    programs::{FEntryContext, FExitContext},
};
use mapstorm_abi::{
    CpuState, Frame, Hook, Lost, Op, Outcome,
    slot::{POP_EMPTY, POP_OK},
};

use crate::{
    frames,
    globals::OFFSET_HTAB_FREELIST,
    pop::{self, Taken},
    remark,
    sample::{self, Call},
    slots::{self, MapPtr},
    tables::{self, add, armed, cpu, lose, store},
};

/// A kernel function that operations run through.
pub(crate) trait Site {
    /// Which one.
    const HOOK: Hook;
    /// The operation it stands for.
    const OP: Op;
    /// Place of the map among its parameters.
    const MAP: usize;
    /// May it pop a free list?
    const POPS: bool;

    /// What it returned, as an errno or 0. The return value lies behind its parameters, where the
    /// trampoline puts it (`bpf_get_func_ret` came with 5.17 only).
    fn errno(ctx: &FExitContext) -> Option<i32>;

    /// What this return value stands for, likewise.
    fn errno_of(ret: u64) -> Option<i32>;
}

/// `-E2BIG`.
const E2BIG: i32 = -7;

/// Address of a map's freelist: what a pop is called with, and known by.
#[inline(always)]
pub(crate) fn freelist(map: MapPtr) -> u64 {
    map.wrapping_add(OFFSET_HTAB_FREELIST.load() as usize) as u64
}

/// At a call's entry: keep the start. While the probes are not armed no frame is free.
#[inline(always)]
pub(crate) fn enter<S: Site>(ctx: &FEntryContext) -> Option<()> {
    let cpu = cpu()?;
    let now_ns = tables::now_ns();
    let frame = frames::first(cpu, S::HOOK);
    if frame.map.get() == 0 {
        open::<S>(frame, ctx, now_ns);
    } else {
        enter_nested::<S>(ctx, cpu, now_ns);
    }
    Some(())
}

/// The same while other calls of the hook are open on this CPU.
#[inline(never)]
fn enter_nested<S: Site>(ctx: &FEntryContext, cpu: &CpuState, now_ns: u64) {
    if armed(cpu)
        && let Some(frame) = frames::claim(cpu, S::HOOK, ctx.as_ptr() as u64, now_ns)
    {
        open::<S>(frame, ctx, now_ns);
    }
}

/// Takes a frame for a call; what makes it taken goes last.
#[inline(always)]
fn open<S: Site>(frame: &Frame, ctx: &FEntryContext, now_ns: u64) {
    frame.key.set(ctx.as_ptr() as u64);
    frame.start_ns.set(now_ns);
    store(&frame.map, ctx.arg(S::MAP));
}

/// At its exit: count the outcome exactly, whether or not the start was seen; time it if it was;
/// and count the pop inside it.
///
/// Behind a pop that found nothing the update only unlocks and returns: it ends when the pop does,
/// and the clock is not read again. What that leaves out is mostly our own programs.
#[inline(always)]
pub(crate) fn exit<S: Site, const NESTING: bool>(ctx: &FExitContext) -> Option<()> {
    let errno = S::errno(ctx)?;
    let (cpu, done);
    if S::POPS && errno == E2BIG {
        cpu = tables::cpu()?;
        done = exit_popping::<S, NESTING, true>(ctx, cpu, 0);
    } else {
        let now_ns = tables::now_ns();
        cpu = tables::cpu()?;
        done = match (S::POPS, errno) {
            (true, 0) => exit_popping::<S, NESTING, false>(ctx, cpu, now_ns),
            (true, _) => None,
            (false, _) => exit_plain::<S, NESTING>(ctx, cpu, errno, now_ns),
        };
    }
    if done.is_none() {
        exit_any::<S, NESTING>(ctx, cpu);
    }
    Some(())
}

/// The start of a call that is in its hook's first frame; `None` when it is not.
#[inline(always)]
fn usual_start<'a, S: Site>(
    ctx: &FExitContext,
    cpu: &'a CpuState,
    map: MapPtr,
) -> Option<&'a Frame> {
    let frame = frames::first(cpu, S::HOOK);
    let ours = frame.key.get() == ctx.as_ptr() as u64 && frame.map.get() == map as u64;
    if ours { Some(frame) } else { None }
}

/// The usual case, with as few instructions as can be: in the hook's first frame, and with the slot
/// that a search looks at first. `None`, and nothing done, when anything is otherwise.
#[inline(always)]
fn exit_plain<S: Site, const NESTING: bool>(
    ctx: &FExitContext,
    cpu: &CpuState,
    errno: i32,
    now_ns: u64,
) -> Option<()> {
    let map: MapPtr = ctx.arg(S::MAP);
    let frame = usual_start::<S>(ctx, cpu, map)?;
    let slot = slots::first(cpu, S::OP, map)?;
    let timings = slots::timings::<NESTING>(cpu, slot)?;
    frame.map.set(0);
    let outcome = Outcome::of(errno);
    add::<NESTING>(&slot.outcomes[outcome as usize], 1);
    let took_ns = now_ns.wrapping_sub(frame.start_ns.get());
    slots::time::<NESTING>(&timings.operation, took_ns);
    let call = Call {
        map,
        op: S::OP,
        outcome,
        end_ns: now_ns,
        took_ns,
    };
    if outcome.is_reject() {
        sample::if_due(ctx, cpu, call);
    } else {
        sample::if_slow(ctx, cpu, timings, call);
    }
    Some(())
}

/// The same for updates: refused (`FULL`) behind a pop that found nothing, or ok with or without a
/// pop.
#[inline(always)]
fn exit_popping<S: Site, const NESTING: bool, const FULL: bool>(
    ctx: &FExitContext,
    cpu: &CpuState,
    now_ns: u64,
) -> Option<()> {
    let map: MapPtr = ctx.arg(S::MAP);
    let frame = usual_start::<S>(ctx, cpu, map)?;
    let start_ns = frame.start_ns.get();
    let pop_end_ns = cpu.popped.end_ns.get();
    let pop_start_ns = cpu.popped.start_ns.get();
    if pop_end_ns != 0 {
        let found = cpu.popped.found.get() != 0;
        let ours = cpu.popped.freelist.get() == freelist(map);
        // A refusal ends where its own pop did, not where an earlier one did whose exit was missed.
        let must_be_inside = NESTING || FULL;
        if found == FULL || !ours || must_be_inside && pop_start_ns < start_ns {
            return None;
        }
    } else if FULL || pop::spilled(cpu) {
        return None;
    }
    let slot = slots::first(cpu, S::OP, map)?;
    let timings = slots::timings::<NESTING>(cpu, slot)?;
    frame.map.set(0);
    let (outcome, pop, end_ns) = if FULL {
        (Outcome::E2big, POP_EMPTY, pop_end_ns)
    } else {
        (Outcome::Ok, POP_OK, now_ns)
    };
    let took_ns = end_ns.wrapping_sub(start_ns);
    add::<NESTING>(&slot.outcomes[outcome as usize], 1);
    slots::time::<NESTING>(&timings.operation, took_ns);
    if pop_end_ns != 0 {
        cpu.popped.end_ns.set(0);
        add::<NESTING>(&slot.inner[pop], 1);
        slots::time::<NESTING>(&timings.pop, pop_end_ns.wrapping_sub(pop_start_ns));
    }
    let call = Call {
        map,
        op: S::OP,
        outcome,
        end_ns,
        took_ns,
    };
    if FULL {
        sample::if_due(ctx, cpu, call);
    } else {
        sample::if_slow(ctx, cpu, timings, call);
    }
    Some(())
}

/// Every case. It finds out by itself what its caller knows already: what the verifier knew of that
/// would differ from way to way, and it would walk all this once for each.
#[inline(never)]
fn exit_any<S: Site, const NESTING: bool>(ctx: &FExitContext, cpu: &CpuState) {
    let now_ns = tables::now_ns();
    let Some(errno) = S::errno(ctx) else {
        return;
    };
    let map: MapPtr = ctx.arg(S::MAP);
    let start_ns = frames::close(cpu, S::HOOK, ctx.as_ptr() as u64, map as u64);
    if start_ns == 0 {
        if !armed(cpu) {
            return;
        }
        lose(cpu, Lost::NoStart);
    }
    let Some(slot) = slots::find(cpu, S::HOOK, S::OP, map) else {
        return remark::uncounted(ctx, cpu);
    };
    let outcome = Outcome::of(errno);
    add::<NESTING>(&slot.outcomes[outcome as usize], 1);
    let took_ns = if start_ns == 0 {
        0
    } else {
        now_ns.wrapping_sub(start_ns)
    };
    let call = Call {
        map,
        op: S::OP,
        outcome,
        end_ns: now_ns,
        took_ns,
    };
    if outcome.is_reject() {
        sample::if_due(ctx, cpu, call);
    }
    let Taken {
        end_ns: pop_end_ns,
        start_ns: pop_start_ns,
        found,
    } = if S::POPS {
        pop::take::<NESTING>(cpu, freelist(map), start_ns, now_ns)
    } else {
        pop::NOTHING
    };
    if pop_end_ns != 0 {
        let pop = if found == 0 { POP_EMPTY } else { POP_OK };
        add::<NESTING>(&slot.inner[pop], 1);
        if pop_start_ns == 0 {
            lose(cpu, Lost::PopNoStart);
        }
    }
    let Some(timings) = slots::timings::<NESTING>(cpu, slot) else {
        return lose(cpu, Lost::NoTimings);
    };
    if pop_start_ns != 0 {
        slots::time::<NESTING>(&timings.pop, pop_end_ns.wrapping_sub(pop_start_ns));
    }
    if start_ns != 0 {
        slots::time::<NESTING>(&timings.operation, took_ns);
        sample::if_slow(ctx, cpu, timings, call);
    }
}
