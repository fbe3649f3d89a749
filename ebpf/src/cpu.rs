//! What the probes keep per CPU: starts of calls in flight, what was lost, and the arming switch.

use crate::hook::Hook;

/// Calls in flight one hook can time on one CPU.
pub const FRAMES_PER_HOOK: usize = 8;
/// Frames of one CPU, all hooks; a power of two, so that a masked index is always inside.
pub const FRAMES: usize = 64;
/// A start this old, in nanoseconds, whose exit never came may be taken over.
pub const STALE_NS: u64 = 10_000_000_000;
/// The start of one call. Entry and exit of a call share one trampoline frame, so the value of the
/// context pointer identifies the call whatever preempts or interrupts it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// Value of the context pointer, 0 when free.
    pub key: u64,
    /// Address of the `struct bpf_map`; the exit checks it.
    pub map: u64,
    /// `bpf_ktime_get_ns` at entry.
    pub start_ns: u64,
    /// Global index of the call's slot plus one, 0 when no slot was to be had.
    pub slot: u32,
    /// To a multiple of eight.
    pub pad: u32,
    /// `bpf_ktime_get_ns` at the entry of the freelist pop inside this call, 0 when none is in
    /// flight. Pops run with interrupts off and the bucket locked, so one word is enough.
    pub pop_start_ns: u64,
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
    /// An operation or a pop was counted but not timed: no free histogram.
    NoHistogram,
    /// A pop was not counted: no operation on its map was open on this CPU.
    PopUnowned,
    /// A pop was counted but not timed: its entry was missed.
    PopNoStart,
}

impl Lost {
    /// How many reasons there are.
    pub const COUNT: usize = 9;

    /// All reasons, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NoSlot,
        Self::SlotBusy,
        Self::Unframed,
        Self::NoStart,
        Self::Orphan,
        Self::Mismatch,
        Self::NoHistogram,
        Self::PopUnowned,
        Self::PopNoStart,
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
            Self::NoHistogram => "no_histogram",
            Self::PopUnowned => "pop_unowned",
            Self::PopNoStart => "pop_no_start",
        }
    }
}

/// One CPU's state; the value of the array `CPUS`. The daemon writes `armed` and nothing else.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct CpuState {
    /// Probes do nothing while this is zero: one switch arms all of them after the last attached.
    pub armed: u32,
    /// Index of the frame opened last: where a pop looks for its operation first.
    pub current: u32,
    /// Histograms handed out on this CPU.
    pub histograms: u32,
    /// Slots claimed on this CPU; the daemon looks for new keys when it has changed.
    pub claims: u32,
    /// One flag per hook, set while its program claims a slot: a try-lock without atomics.
    pub claiming: u64,
    /// Time of the last remark to the log, nanoseconds.
    pub remarked_ns: u64,
    /// Events lost by [`Lost`].
    pub lost: [u64; Lost::COUNT],
    /// Calls in flight, [`FRAMES_PER_HOOK`] per hook.
    pub frames: [Frame; FRAMES],
}

const _: () = assert!(Hook::COUNT * FRAMES_PER_HOOK <= FRAMES);
const _: () = assert!(Hook::COUNT <= 8, "one byte of `claiming` per hook");
const _: () = assert!(size_of::<CpuState>() % 64 == 0);

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
