//! Samples of callers: a few calls a second, of those that were refused or unusually slow, with the
//! kernel's stack, from which the daemon tells the calling program. They go through a ring buffer,
//! the one map here that is no array: its lock is never held by what is being watched.

use aya_ebpf::{
    EbpfContext as _,
    bindings::BPF_RB_NO_WAKEUP,
    helpers::{
        bpf_get_current_cgroup_id, bpf_get_current_comm, bpf_get_current_pid_tgid,
        bpf_get_smp_processor_id, bpf_get_stack, bpf_ktime_get_boot_ns,
    },
    macros::map,
    maps::RingBuf,
    programs::FExitContext,
};
use mapstorm_abi::{
    CpuState, Lost, Op, Outcome, Timings,
    sample::{FRAMES, RING_BYTES, Sample},
    slot::NAME_LEN,
};

use crate::{
    globals::{OFFSET_MAP_ID, SAMPLE_EVERY_NS},
    slots::{MapPtr, field},
    tables::{atomic_add, lose},
};

/// Where the daemon finds the samples.
#[map]
static SAMPLES: RingBuf = RingBuf::with_byte_size(RING_BYTES, 0);

/// A call that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) map: MapPtr,
    pub(crate) op: Op,
    pub(crate) outcome: Outcome,
    /// `bpf_ktime_get_ns` at its end.
    pub(crate) end_ns: u64,
    /// How long it took, nanoseconds; 0 when its start was missed.
    pub(crate) took_ns: u64,
}

/// Set in [`Call::word`] of one that is sampled for its time.
const SLOW: u64 = 1 << 31;

impl Call {
    /// Which call it is, in one word: a program's function takes five arguments at most.
    #[inline(always)]
    fn word(self) -> u64 {
        let id: u32 = field(self.map, OFFSET_MAP_ID.load());
        u64::from(id) << 32 | (self.op as u64) << 16 | self.outcome as u64
    }
}

/// Samples a refused call when it is its turn.
#[inline(always)]
pub(crate) fn if_due(ctx: &FExitContext, cpu: &CpuState, call: Call) {
    if call.end_ns >= cpu.refused_due_ns.get() {
        take(ctx, cpu, call.end_ns, call.word(), call.took_ns);
    }
}

/// Samples a call that took longer than its map's calls usually do, when it is its turn.
#[inline(always)]
pub(crate) fn if_slow(ctx: &FExitContext, cpu: &CpuState, timings: &Timings, call: Call) {
    if call.took_ns > !timings.operation.slow.get() && call.end_ns >= cpu.slow_due_ns.get() {
        take(ctx, cpu, call.end_ns, call.word() | SLOW, call.took_ns);
    }
}

/// Writes the sample, or counts it as lost when the daemon has left no room.
#[inline(never)]
fn take(ctx: &FExitContext, cpu: &CpuState, now_ns: u64, word: u64, duration_ns: u64) {
    let due_ns = now_ns.wrapping_add(u64::from(SAMPLE_EVERY_NS.load()));
    if word & SLOW == 0 {
        cpu.refused_due_ns.set(due_ns);
    } else {
        cpu.slow_due_ns.set(due_ns);
    }
    atomic_add(&cpu.samples_due, 1);
    let Some(mut entry) = SAMPLES.reserve::<Sample>(0) else {
        return lose(cpu, Lost::SampleDropped);
    };
    let sample = entry.as_mut_ptr();
    let task = bpf_get_current_pid_tgid();
    // SAFETY: the helper has no precondition.
    let cgroup_id = unsafe { bpf_get_current_cgroup_id() };
    // SAFETY: the helper has no precondition.
    let time_ns = unsafe { bpf_ktime_get_boot_ns() };
    // SAFETY: the helper has no precondition.
    let on = unsafe { bpf_get_smp_processor_id() };
    // SAFETY: the reserved memory is of a sample's size and ours until it is submitted.
    let sample = unsafe { &mut *sample };
    sample.map_id = (word >> 32) as u32;
    sample.op = (word >> 16) as u16 & 0xff;
    sample.outcome = word as u16;
    sample.duration_ns = duration_ns;
    sample.time_ns = time_ns;
    sample.cgroup_id = cgroup_id;
    sample.thread = task as u32;
    sample.process = (task >> 32) as u32;
    sample.cpu = on;
    sample.task = bpf_get_current_comm().unwrap_or([0; NAME_LEN]);
    let stack = (&raw mut sample.stack).cast();
    // SAFETY: the helper writes no more than the size given, and works in any context.
    let bytes = unsafe { bpf_get_stack(ctx.as_ptr(), stack, (8 * FRAMES) as u32, 0) };
    sample.stack_bytes = bytes as i32;
    // The daemon looks every window: waking it would cost an interrupt.
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
}
