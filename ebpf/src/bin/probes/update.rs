//! Updates: an entry and an exit program for each function that one runs through.

use aya_ebpf::{
    EbpfContext as _,
    macros::{fentry, fexit},
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
    slots::{self, MapPtr},
    tables::{add, armed, cpu, lose, now_ns, store},
};

/// A kernel function that updates run through.
trait Site {
    /// Which one.
    const HOOK: Hook;
    /// The operation it stands for.
    const OP: Op;
    /// Its parameters. The return value lies behind them, where the trampoline puts it
    /// (`bpf_get_func_ret` came with 5.17 only).
    const ARGUMENTS: usize;
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
fn enter<S: Site>(ctx: &FEntryContext) -> Option<()> {
    let cpu = cpu()?;
    let now_ns = now_ns();
    let frame = frames::first(cpu, S::HOOK);
    if frame.map.get() == 0 {
        open(frame, ctx, now_ns);
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
        open(frame, ctx, now_ns);
    }
}

/// Takes a frame for a call; what makes it taken goes last.
#[inline(always)]
fn open(frame: &Frame, ctx: &FEntryContext, now_ns: u64) {
    frame.key.set(ctx.as_ptr() as u64);
    frame.start_ns.set(now_ns);
    store(&frame.map, ctx.arg(0));
}

/// At its exit: count the outcome exactly, whether or not the start was seen; time it if it was;
/// and count the pop inside it.
///
/// Behind a pop that found nothing the update only unlocks and returns: it ends when the pop does,
/// and the clock is not read again. What that leaves out is mostly our own programs.
#[inline(always)]
fn exit<S: Site, const NESTING: bool>(ctx: &FExitContext) -> Option<()> {
    let ret = ctx.arg::<u64>(S::ARGUMENTS) as i32;
    if ret == E2BIG {
        let cpu = cpu()?;
        if exit_plain::<S, NESTING, true>(ctx, cpu, 0).is_none() {
            exit_any::<S, NESTING>(ctx, cpu, ret, 0);
        }
    } else {
        let now_ns = now_ns();
        let cpu = cpu()?;
        if ret != 0 || exit_plain::<S, NESTING, false>(ctx, cpu, now_ns).is_none() {
            exit_any::<S, NESTING>(ctx, cpu, ret, now_ns);
        }
    }
    Some(())
}

/// The usual cases with as few instructions as can be: refused (`FULL`) behind a pop that found
/// nothing, or ok with or without a pop; in the hook's first frame, and with the slot that a search
/// looks at first. `None`, and nothing done, when anything is otherwise.
#[inline(always)]
fn exit_plain<S: Site, const NESTING: bool, const FULL: bool>(
    ctx: &FExitContext,
    cpu: &CpuState,
    now_ns: u64,
) -> Option<()> {
    let map: MapPtr = ctx.arg(0);
    let frame = frames::first(cpu, S::HOOK);
    if frame.key.get() != ctx.as_ptr() as u64 || frame.map.get() != map as u64 {
        return None;
    }
    let start_ns = frame.start_ns.get();
    let pop_end_ns = cpu.popped.end_ns.get();
    let pop_start_ns = cpu.popped.start_ns.get();
    if pop_end_ns != 0 {
        let found = cpu.popped.found.get() != 0;
        let ours = cpu.popped.freelist.get() == freelist(map);
        if found == FULL || !ours || NESTING && pop_start_ns < start_ns {
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
    add::<NESTING>(&slot.outcomes[outcome as usize], 1);
    slots::time::<NESTING>(&timings.operation, end_ns.wrapping_sub(start_ns));
    if pop_end_ns != 0 {
        cpu.popped.end_ns.set(0);
        add::<NESTING>(&slot.pops[pop], 1);
        slots::time::<NESTING>(&timings.pop, pop_end_ns.wrapping_sub(pop_start_ns));
    }
    Some(())
}

/// Every case. `now_ns` is 0 when the clock was not read yet.
#[inline(never)]
fn exit_any<S: Site, const NESTING: bool>(
    ctx: &FExitContext,
    cpu: &CpuState,
    ret: i32,
    mut now_ns: u64,
) {
    if now_ns == 0 {
        now_ns = crate::tables::now_ns();
    }
    let map: MapPtr = ctx.arg(0);
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
    add::<NESTING>(&slot.outcomes[Outcome::of(ret) as usize], 1);
    let Taken {
        end_ns: pop_end_ns,
        start_ns: pop_start_ns,
        found,
    } = pop::take::<NESTING>(cpu, map, start_ns, now_ns);
    if pop_end_ns != 0 {
        add::<NESTING>(&slot.pops[if found == 0 { POP_EMPTY } else { POP_OK }], 1);
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
        slots::time::<NESTING>(&timings.operation, now_ns.wrapping_sub(start_ns));
    }
}

/// The programs of one hook: entry, exit, and the exit for kernels where a program can run inside
/// itself.
macro_rules! hook {
    ($hook:ident: $op:ident($arguments:literal), $in:ident, $out:ident, $nesting:ident) => {
        /// The kernel function of the hook.
        struct $hook;

        impl Site for $hook {
            const HOOK: Hook = Hook::$hook;
            const OP: Op = Op::$op;
            const ARGUMENTS: usize = $arguments;
        }

        /// Entry program of the hook.
        #[fentry]
        pub(crate) fn $in(ctx: FEntryContext) -> u32 {
            enter::<$hook>(&ctx);
            0
        }

        /// Exit program of the hook.
        #[fexit]
        pub(crate) fn $out(ctx: FExitContext) -> u32 {
            exit::<$hook, false>(&ctx);
            0
        }

        /// Exit program of the hook before 5.12.
        #[fexit]
        pub(crate) fn $nesting(ctx: FExitContext) -> u32 {
            exit::<$hook, true>(&ctx);
            0
        }
    };
}

hook!(HtabUpdate: Update(4), htab_update_in, htab_update_out, htab_update_out_nesting);
hook!(LruUpdate: Update(4), lru_update_in, lru_update_out, lru_update_out_nesting);
hook!(PercpuUpdate: Update(5), percpu_update_in, percpu_update_out, percpu_update_out_nesting);
hook!(InPlaceUpdate: Update(6), in_place_update_in, in_place_update_out, in_place_update_out_nesting);
hook!(
    LruPercpuUpdate: Update(5),
    lru_percpu_update_in,
    lru_percpu_update_out,
    lru_percpu_update_out_nesting
);
