//! What the probes keep per CPU: starts of calls in flight, what was lost, and the arming switch.
//!
//! Fields are cells: programs that interrupt each other on one CPU share them, one word at a time.

use core::cell::Cell;

use crate::{
    contention::{CLAIMER, WAITS, Wait},
    hook::Hook,
    outcome::Outcome,
};

/// Calls in flight one hook can time on one CPU.
pub const FRAMES_PER_HOOK: usize = 8;
/// Ended pops that can wait on one CPU besides the one that usually does.
pub const POPS_WAITING: usize = 8;
/// [`Frame::map`] of every frame while the probes are not armed: no frame is free then, and the
/// usual entry needs no look at the switch.
pub const UNARMED: u64 = u64::MAX;
/// A start this old, in nanoseconds, whose exit never came may be taken over.
pub const STALE_NS: u64 = 10_000_000_000;
/// A pop that has waited for longer than this, in nanoseconds, waits for an exit that was missed:
/// only a few instructions lie between, and on kernels that preempt them a time slice or two.
pub const WAIT_NS: u64 = 100_000_000;

/// One call in flight. Entry and exit of a call share one trampoline frame, so the value of the
/// context pointer identifies the call whatever preempts or interrupts it.
#[derive(Debug)]
#[repr(C)]
pub struct Frame {
    /// Value of the context pointer; of kprobes, of the stack pointer.
    pub key: Cell<u64>,
    /// Address of the `struct bpf_map`, 0 when the frame is free; the exit checks it.
    pub map: Cell<u64>,
    /// `bpf_ktime_get_ns` at entry.
    pub start_ns: Cell<u64>,
}

/// A freelist pop that has ended and waits for the exit of the operation around it, which counts
/// both together: one search for the slot, and no more work than needed under the bucket lock.
///
/// A pop is known by its freelist, not by its call: of two calls on one map that are open on one
/// CPU each counts one pop, whichever, and the sums are the same.
#[derive(Debug)]
#[repr(C)]
pub struct Popped {
    /// `bpf_ktime_get_ns` at the pop's end, 0 when there is no pop here.
    pub end_ns: Cell<u64>,
    /// The same at its entry, 0 when that was missed.
    pub start_ns: Cell<u64>,
    /// Address of the freelist.
    pub freelist: Cell<u64>,
    /// 0 when every list was empty.
    pub found: Cell<u64>,
}

/// Why an event, or its timing, is missing from the tables. Each is published; none is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Lost {
    /// An operation was not counted: no free slot within reach of its hash.
    NoSlot,
    /// An operation was not counted: another program was claiming a slot on this CPU.
    SlotBusy,
    /// An operation was counted but not timed: all frames of its hook were taken.
    Unframed,
    /// An operation was counted but not timed: its entry was missed.
    NoStart,
    /// A start was discarded: its exit never came.
    Orphan,
    /// An operation was counted but not timed: the frame found was of another map.
    Mismatch,
    /// An operation, with a pop inside it, or a lock wait was counted but not timed: no free timings.
    NoTimings,
    /// A pop was not counted: too many waited for the operations around them.
    PopOverflow,
    /// A pop was not counted: its own exit, or that of the operation around it, was missed.
    PopOrphan,
    /// A pop was counted but not timed: its entry was missed.
    PopNoStart,
    /// A batch operation was counted, but not its elements: it ended with EFAULT, when the kernel does
    /// not say how many it handed out.
    BatchElements,
    /// A sample of a caller was not kept: the daemon had not made room for it.
    SampleDropped,
    /// An operation was not counted: a return probe does not know its map unless its entry was seen.
    NoMap,
    /// A lock wait was not counted: too many were in flight, or it had no slot.
    WaitOverflow,
    /// A lock wait was not counted: its end was missed.
    WaitOrphan,
}

impl Lost {
    /// How many reasons there are.
    pub const COUNT: usize = 15;

    /// All reasons, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NoSlot,
        Self::SlotBusy,
        Self::Unframed,
        Self::NoStart,
        Self::Orphan,
        Self::Mismatch,
        Self::NoTimings,
        Self::PopOverflow,
        Self::PopOrphan,
        Self::PopNoStart,
        Self::BatchElements,
        Self::SampleDropped,
        Self::NoMap,
        Self::WaitOverflow,
        Self::WaitOrphan,
    ];

    /// Value of the label `reason`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NoSlot => "no_slot",
            Self::SlotBusy => "slot_busy",
            Self::Unframed => "unframed",
            Self::NoStart => "no_start",
            Self::Orphan => "orphan",
            Self::Mismatch => "mismatch",
            Self::NoTimings => "no_timings",
            Self::PopOverflow => "pop_overflow",
            Self::PopOrphan => "pop_orphan",
            Self::PopNoStart => "pop_no_start",
            Self::BatchElements => "batch_elements",
            Self::SampleDropped => "sample_dropped",
            Self::NoMap => "no_map",
            Self::WaitOverflow => "wait_overflow",
            Self::WaitOrphan => "wait_orphan",
        }
    }
}

/// One CPU's state, first part of the CPU's value in the array `CPUS`; its slots and its timings
/// follow. What every event touches comes first.
///
/// The daemon writes `next_timings` before the programs are attached. To arm, it empties `popped`,
/// frees the frames and sets `armed`, in this order.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct CpuState {
    /// Probes do nothing while this is zero: one switch arms all of them after the last attached.
    pub armed: Cell<u32>,
    /// 1 when pops may wait in `pops_waiting`.
    pub pops_spilled: Cell<u32>,
    /// Value of the context pointer of the pop in flight, 0 for none. Pops run with interrupts off,
    /// so only an NMI can nest, and that takes the place: the outer pop is then not timed.
    pub pop_key: Cell<u64>,
    /// `bpf_ktime_get_ns` at its entry.
    pub pop_start_ns: Cell<u64>,
    /// The ended pop that waits for its operation's exit.
    pub popped: Popped,
    /// Time from which a refused call is sampled again, nanoseconds of `bpf_ktime_get_ns`.
    pub refused_due_ns: Cell<u64>,
    /// Calls in flight, by hook.
    pub frames: [[Frame; FRAMES_PER_HOOK]; Hook::FRAMED],
    /// Ended pops whose operations were overtaken before they counted them.
    pub pops_waiting: [Popped; POPS_WAITING],
    /// Offset of this CPU's first free timings in its value, bytes.
    pub next_timings: Cell<u32>,
    /// Offset of timings that a map left behind, for when no free ones are left; 0 for none. The
    /// daemon fills it when it is empty.
    pub offered_timings: Cell<u32>,
    /// Slots claimed on this CPU.
    pub claims: Cell<u32>,
    /// One flag per hook and one for the contention programs, set while its program claims a slot: a
    /// try-lock without atomics.
    pub claiming: [Cell<u32>; CLAIMER + 1],
    /// Freelist of the pop in flight, where a return probe sees its end and so not its argument.
    pub pop_freelist: Cell<u64>,
    /// Time of the last remark to the log, nanoseconds.
    pub remarked_ns: Cell<u64>,
    /// What a function that returns a pointer has returned, by hook: once it was here it is a number.
    pub returned: [Cell<u64>; Hook::FRAMED],
    /// Time from which a slow call is sampled again, nanoseconds.
    pub slow_due_ns: Cell<u64>,
    /// Samples that were due: sent, or lost for want of room.
    pub samples_due: Cell<u64>,
    /// 1 when calls may be open in other frames than their hook's first.
    pub nested: Cell<u64>,
    /// Lock waits in flight.
    pub waits: [Wait; WAITS],
    /// Where a contention program turns a pointer into a number: it writes and reads it back.
    pub number: Cell<u64>,
    /// Always 0, which the verifier cannot know.
    pub zero: Cell<u64>,
    /// What the kernel adds a CPU's offset to for the address of the value of the array `ANCHOR`; 0
    /// until it is known.
    pub anchor: Cell<u64>,
    /// Updates by [`Outcome`], of all maps, where no probe can tell them apart.
    pub host_updates: [Cell<u64>; Outcome::COUNT],
    /// Pops of all maps, indexed by [`POP_OK`](crate::slot::POP_OK) and
    /// [`POP_EMPTY`](crate::slot::POP_EMPTY).
    pub host_pops: [Cell<u64>; 2],
    /// Events lost by [`Lost`].
    pub lost: [Cell<u64>; Lost::COUNT],
}

// SAFETY: a value belongs to one CPU, whose programs touch it one word at a time; the daemon only
// ever touches it by atomic accesses through its own mapping.
#[cfg(target_arch = "bpf")]
unsafe impl Sync for CpuState {}

const _: () = assert!(size_of::<CpuState>().is_multiple_of(64));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_are_in_index_order() {
        for (i, reason) in Lost::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, i);
        }
    }
}
