//! Updates, one program per target: the same loop over different kinds of map.

use aya_ebpf::{
    bindings::BPF_F_NO_PREALLOC,
    helpers::bpf_ktime_get_ns,
    macros::{map, raw_tracepoint},
    maps::{Array, HashMap, LruHashMap, LruPerCpuHashMap, PerCpuHashMap},
    programs::RawTracePointContext,
};
use mapstorm_abi::workload::{DELETE_ONLY, HOT_VALUE, MAX_LOOPS, Run, Target};

use crate::tally;

/// A map, its update program and the body that both share.
macro_rules! target {
    ($target:ident, $map:ident: $kind:ident, $flags:expr, $name:literal, $program:ident) => {
        #[doc = concat!("The map `", $name, "`; the driver sets its size.")]
        #[map(name = $name)]
        static $map: $kind<u32, u64> = $kind::with_max_entries(1000, $flags);

        #[doc = concat!("Updates `", $name, "` as its arguments say.")]
        #[raw_tracepoint]
        pub(crate) fn $program(ctx: RawTracePointContext) -> i32 {
            run(
                &arguments(&ctx),
                Target::$target,
                |key, value, flags| errno($map.insert(key, value, flags)),
                |key| errno($map.remove(key)),
            );
            0
        }
    };
}

target!(Full, FULL: HashMap, 0, "drill_full", update_full);
target!(Churn, CHURN: HashMap, 0, "drill_churn", update_churn);
target!(Idle, IDLE: HashMap, 0, "drill_idle", update_idle);
target!(NoPrealloc, NOPREALLOC: HashMap, BPF_F_NO_PREALLOC, "drill_nopreall", update_noprealloc);
target!(Percpu, PERCPU: PerCpuHashMap, 0, "drill_percpu", update_percpu);
target!(Lru, LRU: LruHashMap, 0, "drill_lru", update_lru);
target!(LruPercpu, LRUPERCPU: LruPerCpuHashMap, 0, "drill_lrupercpu", update_lrupercpu);
target!(Nested, NESTED_MAP: HashMap, 0, "drill_nested", update_nested);
target!(Freelist, FREELIST: HashMap, 0, "drill_freelist", update_freelist);

/// The map `drill_hot`; the driver sets its size.
#[map(name = "drill_hot")]
static HOT: HashMap<u32, [u8; HOT_VALUE]> = HashMap::with_max_entries(16, 0);

/// What it is updated with: larger than a program's stack.
#[map]
static VALUE: Array<[u8; HOT_VALUE]> = Array::with_max_entries(1, 0);

/// Updates `drill_hot` as its arguments say.
#[raw_tracepoint]
pub(crate) fn update_hot(ctx: RawTracePointContext) -> i32 {
    let Some(value) = VALUE.get(0) else {
        return 0;
    };
    run(
        &arguments(&ctx),
        Target::Hot,
        |key, _, flags| errno(HOT.insert(key, value, flags)),
        |key| errno(HOT.remove(key)),
    );
    0
}

/// Reads the arguments that the driver passes as a raw tracepoint's.
#[inline(always)]
fn arguments(ctx: &RawTracePointContext) -> Run {
    Run {
        loops: ctx.arg(0),
        first_key: ctx.arg(1),
        key_mask: ctx.arg(2),
        flags: ctx.arg(3),
        delete: ctx.arg(4),
    }
}

/// The return value as the kernel gave it.
#[inline(always)]
fn errno(result: Result<(), i32>) -> i64 {
    match result {
        Ok(()) => 0,
        Err(errno) => i64::from(errno),
    }
}

/// The loop: update the next key, count what came back, delete it again where asked.
#[inline(always)]
fn run(
    run: &Run,
    target: Target,
    insert: impl Fn(&u32, &u64, u64) -> i64,
    remove: impl Fn(&u32) -> i64,
) -> Option<()> {
    let tally = tally::of(target)?;
    // SAFETY: the helper has no precondition.
    let start = unsafe { bpf_ktime_get_ns() };
    for turn in 0..MAX_LOOPS {
        if turn >= run.loops {
            break;
        }
        let key = (run.first_key + (turn & run.key_mask)) as u32;
        if run.delete != DELETE_ONLY {
            tally::update(tally, insert(&key, &turn, run.flags));
        }
        if run.delete != 0 {
            tally::delete(tally, remove(&key));
        }
    }
    // SAFETY: as above.
    let ns = unsafe { bpf_ktime_get_ns() } - start;
    tally::time(tally, run.loops, ns);
    Some(())
}

/// Arguments of [`interrupt`]: what a nested run does at each firing.
const NESTED: Run = Run {
    loops: 4,
    first_key: 0,
    key_mask: 63,
    flags: 0,
    delete: 1,
};

/// Attached to a tracepoint that fires in interrupts: updates a map of its own while whatever was
/// interrupted may be inside an update too.
#[raw_tracepoint]
pub(crate) fn interrupt(_ctx: RawTracePointContext) -> i32 {
    run(
        &NESTED,
        Target::Nested,
        |key, value, flags| errno(NESTED_MAP.insert(key, value, flags)),
        |key| errno(NESTED_MAP.remove(key)),
    );
    0
}

/// What `update_churn` does.
#[inline(always)]
pub(crate) fn churn(ctx: &RawTracePointContext) {
    run(
        &arguments(ctx),
        Target::Churn,
        |key, value, flags| errno(CHURN.insert(key, value, flags)),
        |key| errno(CHURN.remove(key)),
    );
}

/// Is there an element of this key in `drill_churn`?
#[inline(always)]
pub(crate) fn is_in_churn(key: &u32) -> bool {
    CHURN.get_ptr(key).is_some()
}

/// What `update_lru` does.
#[inline(always)]
pub(crate) fn lru(ctx: &RawTracePointContext) {
    run(
        &arguments(ctx),
        Target::Lru,
        |key, value, flags| errno(LRU.insert(key, value, flags)),
        |key| errno(LRU.remove(key)),
    );
}
