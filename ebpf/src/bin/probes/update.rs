//! Updates: an entry and an exit program for each function that one runs through.

use aya_ebpf::{
    EbpfContext as _,
    helpers::bpf_ktime_get_ns,
    macros::{fentry, fexit},
    programs::{FEntryContext, FExitContext},
};
use mapstorm_abi::{Hook, Lost, Op, Outcome};

use crate::{
    frames, remark,
    slots::{self, MapPtr},
    tables::{add, armed_cpu, lose},
};

/// At a call's entry: resolve the slot (the pop inside needs it) and keep the start.
#[inline(always)]
fn enter(ctx: &FEntryContext, hook: Hook, op: Op) -> Option<()> {
    let (cpu, state) = armed_cpu()?;
    let map: MapPtr = ctx.arg(0);
    let slot = match slots::find(cpu, state, hook, op, map) {
        Ok(index) => index + 1,
        // Counted by the exit, which looks again.
        Err(_) => 0,
    };
    // SAFETY: the helper has no precondition.
    let now = unsafe { bpf_ktime_get_ns() };
    let key = ctx.as_ptr() as u64;
    let Some(index) = frames::claim(state, hook, key, now) else {
        lose(state, Lost::Unframed);
        return None;
    };
    let frame = frames::at(state, index);
    // SAFETY: `claim` gave this program the frame; the key goes last so that no exit finds it
    // half written.
    unsafe {
        (*frame).map = map as u64;
        (*frame).start_ns = now;
        (*frame).slot = slot;
        (*frame).pop_start_ns = 0;
        (&raw mut (*frame).key).write_volatile(key);
        (*state).current = index;
    }
    Some(())
}

/// At its exit: count the outcome exactly, whether or not the start was seen; time it if it was.
#[inline(always)]
fn exit(ctx: &FExitContext, hook: Hook, op: Op, ret: i32) -> Option<()> {
    let (cpu, state) = armed_cpu()?;
    let map: MapPtr = ctx.arg(0);
    let frame = frames::find(state, hook, ctx.as_ptr() as u64);
    let mut start = 0;
    let mut index = 0;
    if let Some(frame) = frame {
        // SAFETY: `find` gives this call's own frame.
        unsafe {
            if (*frame).map == map as u64 {
                start = (*frame).start_ns;
                index = (*frame).slot;
            } else {
                lose(state, Lost::Mismatch);
            }
            (*frame).key = 0;
        }
    } else {
        lose(state, Lost::NoStart);
    }
    if index == 0 {
        index = match slots::find(cpu, state, hook, op, map) {
            Ok(index) => index + 1,
            Err(reason) => {
                lose(state, reason);
                remark::uncounted(ctx, state);
                return None;
            }
        };
    }
    let slot = slots::at(index - 1)?;
    // SAFETY: `slot` is a map value and an outcome's index is within the array.
    unsafe {
        add(
            (&raw mut (*slot).outcomes)
                .cast::<u64>()
                .add(Outcome::of(ret) as usize),
            1,
        );
        if start != 0 {
            slots::time(cpu, state, (*slot).histogram, start);
        }
    }
    Some(())
}

/// The pair of programs of one hook. The exit reads the return value behind the arguments, where
/// the trampoline puts it (`bpf_get_func_ret` came with 5.17 only).
macro_rules! pair {
    ($hook:ident, $op:ident, arguments = $arguments:literal, $entry:ident, $exit:ident) => {
        /// Entry program of the hook.
        #[fentry]
        pub(crate) fn $entry(ctx: FEntryContext) -> u32 {
            enter(&ctx, Hook::$hook, Op::$op);
            0
        }

        /// Exit program of the hook.
        #[fexit]
        pub(crate) fn $exit(ctx: FExitContext) -> u32 {
            exit(
                &ctx,
                Hook::$hook,
                Op::$op,
                ctx.arg::<u64>($arguments) as i32,
            );
            0
        }
    };
}

pair!(
    HtabUpdate,
    Update,
    arguments = 4,
    htab_update_in,
    htab_update_out
);
pair!(
    LruUpdate,
    Update,
    arguments = 4,
    lru_update_in,
    lru_update_out
);
pair!(
    PercpuUpdate,
    Update,
    arguments = 5,
    percpu_update_in,
    percpu_update_out
);
pair!(
    InPlaceUpdate,
    Update,
    arguments = 6,
    in_place_update_in,
    in_place_update_out
);
pair!(
    LruPercpuUpdate,
    Update,
    arguments = 5,
    lru_percpu_update_in,
    lru_percpu_update_out
);
