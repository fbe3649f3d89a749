//! Batch operations: one system call over many elements.
//!
//! A call takes and releases bucket locks as it goes and may end on another CPU than the one it began
//! on, so its start does not live on a CPU.

use core::cell::Cell;

use aya_ebpf::{
    helpers::{bpf_get_current_pid_tgid, bpf_probe_read_user},
    macros::{fentry, fexit, map},
    maps::Array,
    programs::{FEntryContext, FExitContext},
};
use mapstorm_abi::{
    Hook, Lost, Op, Outcome,
    batch::{OFFSET_COUNT, STARTS, Start},
    slot::BATCH_ELEMENTS,
};

use crate::{
    remark,
    slots::{self, MapPtr},
    tables::{self, add, armed, cpu, load, lose, store},
};

/// Starts of calls in flight, by thread: one word each, so that no lock and no atomic exchange is
/// needed between CPUs.
#[map]
static BATCHES: Array<Started> = Array::with_max_entries(STARTS, 0);

/// A word that holds a [`Start`], 0 for none.
#[repr(transparent)]
struct Started(Cell<u64>);

// SAFETY: the word is read and written as a whole, by single loads and stores.
unsafe impl Sync for Started {}

/// The calling thread, by the id that the kernel has for it.
#[inline(always)]
fn thread() -> u32 {
    bpf_get_current_pid_tgid() as u32
}

/// The place for a thread's start. Threads whose ids are [`STARTS`] apart share one.
#[inline(always)]
fn place(thread: u32) -> Option<&'static Cell<u64>> {
    BATCHES.get(thread % STARTS).map(|started| &started.0)
}

/// At a call's entry: keep the start. A thread has one call in flight at most.
#[inline(always)]
fn enter() -> Option<()> {
    let cpu = cpu()?;
    if !armed(cpu) {
        return None;
    }
    let thread = thread();
    let place = place(thread)?;
    store(place, Start::new(thread, tables::now_ns()).word());
    Some(())
}

/// What a call tells at its exit.
struct Ended {
    hook: Hook,
    deletes: bool,
    errno: i32,
}

/// At its exit: count the call, the elements that it handed out, and how long it took.
#[inline(always)]
fn exit<const NESTING: bool>(ctx: &FExitContext, ended: &Ended) -> Option<()> {
    let now_ns = tables::now_ns();
    let cpu = cpu()?;
    if !armed(cpu) {
        return None;
    }
    let took_ns = close(now_ns)?;
    let op = if ended.deletes {
        Op::LookupAndDeleteBatch
    } else {
        Op::LookupBatch
    };
    let map: MapPtr = ctx.arg(0);
    let Some(slot) = slots::find(cpu, ended.hook, op, map) else {
        remark::uncounted(ctx, cpu);
        return None;
    };
    add::<NESTING>(&slot.outcomes[Outcome::of(ended.errno) as usize], 1);
    match elements(ctx.arg(2), ended.errno) {
        Some(elements) => add::<NESTING>(&slot.inner[BATCH_ELEMENTS], u64::from(elements)),
        None => lose(cpu, Lost::BatchElements),
    }
    if took_ns == 0 {
        lose(cpu, Lost::NoStart);
        return None;
    }
    match slots::timings::<NESTING>(cpu, slot) {
        Some(timings) => slots::time::<NESTING>(&timings.operation, took_ns),
        None => lose(cpu, Lost::NoTimings),
    }
    Some(())
}

/// How long the thread's call took, nanoseconds; 0 when its start was not seen, or when another
/// thread's took its place.
#[inline(always)]
fn close(now_ns: u64) -> Option<u64> {
    let thread = thread();
    let place = place(thread)?;
    let start = Start::from_word(load(place));
    if !start.is_of(thread) {
        return Some(0);
    }
    store(place, 0);
    Some(start.elapsed_ns(now_ns))
}

/// `-EINVAL`: the call ended before it looked at the map, and left the caller's number alone.
const EINVAL: i32 = -22;
/// `-EFAULT`: a copy to the caller failed, and the kernel left its number at 0, whatever it had
/// handed out or deleted by then.
const EFAULT: i32 = -14;

/// Elements that a call handed out: the kernel has just written their number to the caller's
/// attributes, so that the page is there. `None` when nobody knows.
#[inline(always)]
fn elements(attributes: u64, errno: i32) -> Option<u32> {
    if errno == EINVAL {
        return Some(0);
    }
    if errno == EFAULT {
        return None;
    }
    let count = (attributes as usize + OFFSET_COUNT) as *const u32;
    // SAFETY: the helper checks the address.
    unsafe { bpf_probe_read_user(count) }.ok()
}

/// The programs of one function: hook, parameters; names of entry, exit, and the exit for kernels
/// where a program can run inside itself (before 5.12).
macro_rules! batch {
    ($hook:ident($arguments:literal), $in:ident, $out:ident, $nesting:ident) => {
        /// Entry program.
        #[fentry]
        pub(crate) fn $in(_ctx: FEntryContext) -> u32 {
            enter();
            0
        }

        /// Exit program.
        #[fexit]
        pub(crate) fn $out(ctx: FExitContext) -> u32 {
            exit::<false>(&ctx, &batch!(ended ctx, $hook, $arguments));
            0
        }

        /// Exit program before 5.12.
        #[fexit]
        pub(crate) fn $nesting(ctx: FExitContext) -> u32 {
            exit::<true>(&ctx, &batch!(ended ctx, $hook, $arguments));
            0
        }
    };
    (ended $ctx:ident, $hook:ident, $arguments:literal) => {
        Ended {
            hook: Hook::$hook,
            deletes: $ctx.arg::<u8>(3) != 0,
            errno: $ctx.arg::<u64>($arguments) as i32,
        }
    };
}

batch!(
    HtabBatch(6),
    htab_batch_in,
    htab_batch_out,
    htab_batch_out_nesting
);
batch!(
    RhashBatch(4),
    rhash_batch_in,
    rhash_batch_out,
    rhash_batch_out_nesting
);
