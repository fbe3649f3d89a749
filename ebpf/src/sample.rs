//! A sampled call: who ran an operation that was refused, or that took longer than it usually does.

use crate::slot::NAME_LEN;

/// Size of the ring buffer that samples go through, bytes; a power of two, some 650 samples.
pub const RING_BYTES: u32 = 256 << 10;
/// Frames of the kernel's stack that are kept: the caller is among the first, and a system call's
/// stack ends before.
pub const FRAMES: usize = 40;

/// One call, as the exit program saw it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sample {
    /// `bpf_map.id`.
    pub map_id: u32,
    /// The operation, an [`Op`](crate::Op).
    pub op: u16,
    /// How it ended, an [`Outcome`](crate::Outcome).
    pub outcome: u16,
    /// How long it took, nanoseconds; 0 when its start was missed.
    pub duration_ns: u64,
    /// `bpf_ktime_get_boot_ns` of the sample: the clock that programs' load times are of.
    pub time_ns: u64,
    /// Id of the current task's cgroup in the unified hierarchy.
    pub cgroup_id: u64,
    /// Thread and process of the current task: whom an interrupt came upon, if it was one.
    pub thread: u32,
    /// The process; 0 for the idle task.
    pub process: u32,
    /// Bytes of `stack` that were filled, or a negative errno.
    pub stack_bytes: i32,
    /// The CPU.
    pub cpu: u32,
    /// Name of the current task, zero-padded.
    pub task: [u8; NAME_LEN],
    /// Return addresses, the innermost first: our own program's, then those of the operation.
    pub stack: [u64; FRAMES],
}

const _: () = assert!(size_of::<Sample>() == 64 + 8 * FRAMES);
