//! Entry and return probes in pairs, for kernels that refuse trampolines: maps are told apart and
//! calls timed as there.
//!
//! The kernel keeps them quiet while bpf(2) works on a map, and inside of programs of their own kind
//! (kprobe, tracepoint, perf event): never does one run inside another on one CPU.

use aya_ebpf::{
    macros::{kprobe, kretprobe},
    programs::{ProbeContext, RetProbeContext},
};
use mapstorm_abi::{
    Lost, Outcome,
    slot::{POP_EMPTY, POP_OK},
};

use crate::{
    frames,
    globals::OFFSET_HTAB_FREELIST,
    operation::Site,
    pop::{self, E2BIG, NO_PREALLOC, Taken},
    remark, sites,
    slots::{self, Address, Map as _},
    tables::{add, armed, cpu, lose, now_ns, store},
};

/// What identifies a call whose entry this is: the stack pointer behind its return. At entry it
/// points to the return address, eight bytes below.
#[inline(always)]
fn key_at_entry(ctx: &ProbeContext) -> u64 {
    stack(ctx).wrapping_add(8)
}

/// The stack pointer at an entry.
#[inline(always)]
fn stack(ctx: &ProbeContext) -> u64 {
    // SAFETY: the kernel passes valid registers.
    unsafe { (*ctx.regs).rsp }
}

/// The same at its return.
#[inline(always)]
fn key_at_return(ctx: &RetProbeContext) -> u64 {
    // SAFETY: the kernel passes valid registers.
    unsafe { (*ctx.regs).rsp }
}

/// Address of a map's freelist.
#[inline(always)]
fn freelist(map: Address) -> u64 {
    map.0.wrapping_add(u64::from(OFFSET_HTAB_FREELIST.load()))
}

/// At a call's entry: keep the map and the start. Without a frame its return is counted as lost.
#[inline(always)]
fn enter<S: Site>(ctx: &ProbeContext) -> Option<()> {
    let cpu = cpu()?;
    if armed(cpu) {
        let (key, now_ns) = (key_at_entry(ctx), now_ns());
        let frame = frames::free(cpu, S::HOOK, key, now_ns)?;
        frame.key.set(key);
        frame.start_ns.set(now_ns);
        store(&frame.map, ctx.arg::<u64>(S::MAP)?);
    }
    Some(())
}

/// At its return: count the outcome and the time on the map of its entry, and the pop inside it.
#[inline(always)]
fn leave<S: Site>(ctx: &RetProbeContext) -> Option<()> {
    let now_ns = now_ns();
    let cpu = cpu()?;
    if !armed(cpu) {
        return None;
    }
    let Some(frame) = frames::of(cpu, S::HOOK, key_at_return(ctx)) else {
        lose(cpu, Lost::NoMap);
        return None;
    };
    let map = Address(frame.map.get());
    let start_ns = frame.start_ns.get();
    store(&frame.map, 0);
    let Some(slot) = slots::find(cpu, S::HOOK, S::OP, map) else {
        remark::uncounted(ctx, cpu);
        return None;
    };
    let outcome = Outcome::of(S::errno_of(ctx.ret())?);
    add::<false>(&slot.outcomes[outcome as usize], 1);
    let Taken {
        end_ns: pop_end_ns,
        start_ns: pop_start_ns,
        found,
    } = if S::POPS {
        pop::take::<false>(cpu, freelist(map), start_ns, now_ns)
    } else {
        pop::NOTHING
    };
    if pop_end_ns != 0 {
        add::<false>(&slot.inner[if found == 0 { POP_EMPTY } else { POP_OK }], 1);
    }
    let Some(timings) = slots::timings::<false>(cpu, slot) else {
        lose(cpu, Lost::NoTimings);
        return None;
    };
    if pop_end_ns != 0 {
        slots::time::<false>(&timings.pop, pop_end_ns.wrapping_sub(pop_start_ns));
    }
    slots::time::<false>(&timings.operation, now_ns.wrapping_sub(start_ns));
    Some(())
}

/// The two programs of one function.
macro_rules! pair {
    ($($site:ident $entry:ident $return:ident)*) => {
        $(
            /// Entry probe.
            #[kprobe]
            pub(crate) fn $entry(ctx: ProbeContext) -> u32 {
                enter::<sites::$site>(&ctx);
                0
            }

            /// Return probe.
            #[kretprobe]
            pub(crate) fn $return(ctx: RetProbeContext) -> u32 {
                leave::<sites::$site>(&ctx);
                0
            }
        )*
    };
}

// What only the system call does is left out: nothing of it would be seen. The forms of one function
// differ behind its map only.
pair! {
    HtabUpdate htab_update_kprobe htab_update_kretprobe
    LruUpdate lru_update_kprobe lru_update_kretprobe
    PercpuUpdate percpu_update_kprobe percpu_update_kretprobe
    InPlaceUpdate in_place_update_kprobe in_place_update_kretprobe
    LruPercpuUpdate lru_percpu_update_kprobe lru_percpu_update_kretprobe
    RhashUpdate rhash_update_kprobe rhash_update_kretprobe
    HtabDelete htab_delete_kprobe htab_delete_kretprobe
    LruDelete lru_delete_kprobe lru_delete_kretprobe
    RhashDelete rhash_delete_kprobe rhash_delete_kretprobe
    StorageUpdate4 storage_update_kprobe storage_update_kretprobe
    StorageLookup storage_lookup_kprobe storage_lookup_kretprobe
    StorageCacheInsert storage_cache_kprobe storage_cache_kretprobe
}

/// At a pop's entry: stamp it, and keep its freelist for its return. The place is free unless an NMI
/// overtook a pop: that one is lost.
#[inline(always)]
fn enter_pop(ctx: &ProbeContext, freelist: u64) -> Option<()> {
    let cpu = cpu()?;
    if cpu.pop_key.get() != 0 && armed(cpu) {
        lose(cpu, Lost::PopOrphan);
    }
    cpu.pop_freelist.set(freelist);
    pop::enter(key_at_entry(ctx))
}

/// At its return: leave it for the return of the update around it. A call whose entry was none of a
/// pop, or was missed, leaves nothing.
#[inline(always)]
fn leave_pop(ctx: &RetProbeContext, found: bool) -> Option<()> {
    let (cpu, key) = (cpu()?, key_at_return(ctx));
    if cpu.pop_key.get() == key {
        pop::exit(key, || cpu.pop_freelist.get(), || u64::from(found))?;
    }
    Some(())
}

/// Entry of `__pcpu_freelist_pop(struct pcpu_freelist *)`.
#[kprobe]
pub(crate) fn pop_kprobe(ctx: ProbeContext) -> u32 {
    if let Some(freelist) = ctx.arg(0) {
        enter_pop(&ctx, freelist);
    }
    0
}

/// Its return: NULL means that every list was empty.
#[kretprobe]
pub(crate) fn pop_kretprobe(ctx: RetProbeContext) -> u32 {
    leave_pop(&ctx, ctx.ret::<u64>() != 0);
    0
}

/// Entry of `alloc_htab_elem`, where the pop itself cannot be hooked. Its eighth argument, the
/// second on the stack above the return address, is the old element: with one, or without
/// preallocation, there is no pop.
#[inline(always)]
fn enter_alloc(ctx: &ProbeContext) -> Option<()> {
    let map = Address(ctx.arg(0)?);
    let old_elem = Address(stack(ctx)).field::<u64>(16);
    if old_elem == 0 && slots::flags(map) & NO_PREALLOC == 0 {
        enter_pop(ctx, freelist(map))?;
    }
    Some(())
}

/// See [`enter_alloc`].
#[kprobe]
pub(crate) fn alloc_kprobe(ctx: ProbeContext) -> u32 {
    enter_alloc(&ctx);
    0
}

/// Its return: -E2BIG as a pointer means that every list was empty (or, on 6.15 and newer, locked).
#[kretprobe]
pub(crate) fn alloc_kretprobe(ctx: RetProbeContext) -> u32 {
    leave_pop(&ctx, ctx.ret::<i64>() != -E2BIG);
    0
}
