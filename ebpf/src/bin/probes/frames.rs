//! Starts of calls in flight: claimed at entry, found and freed at exit by the context pointer.
//!
//! Only a hook's entry program claims its frames, and that never runs inside itself on one CPU
//! (5.12 and newer) or nests like a stack (5.10): plain loads and stores are enough.

use mapstorm_abi::{
    CpuState, Frame, Hook, Lost,
    cpu::{FRAMES, FRAMES_PER_HOOK, STALE_NS},
};

use crate::tables::lose;

/// Pointer to frame `index` of this CPU; the mask is for the verifier.
#[inline(always)]
pub(crate) fn at(state: *mut CpuState, index: u32) -> *mut Frame {
    // SAFETY: the masked index is within the array of the map value.
    unsafe {
        (&raw mut (*state).frames)
            .cast::<Frame>()
            .add(index as usize & (FRAMES - 1))
    }
}

/// Index of a hook's first frame.
#[inline(always)]
const fn first(hook: Hook) -> u32 {
    hook as u32 * FRAMES_PER_HOOK as u32
}

/// The frame index an entry may use: a free one, the one a call with the same context pointer left
/// behind, or the first whose start is so old that its exit will not come.
#[inline(always)]
pub(crate) fn claim(state: *mut CpuState, hook: Hook, key: u64, now: u64) -> Option<u32> {
    for i in 0..FRAMES_PER_HOOK as u32 {
        let frame = at(state, first(hook) + i);
        // SAFETY: `at` gives a valid frame.
        let taken = unsafe { (*frame).key };
        if taken == 0 {
            return Some(first(hook) + i);
        }
        if taken == key {
            lose(state, Lost::Orphan);
            return Some(first(hook) + i);
        }
    }
    for i in 0..FRAMES_PER_HOOK as u32 {
        let frame = at(state, first(hook) + i);
        // SAFETY: `at` gives a valid frame.
        let start = unsafe { (*frame).start_ns };
        if now.wrapping_sub(start) > STALE_NS {
            lose(state, Lost::Orphan);
            return Some(first(hook) + i);
        }
    }
    None
}

/// The frame of the call whose exit this is.
#[inline(always)]
pub(crate) fn find(state: *mut CpuState, hook: Hook, key: u64) -> Option<*mut Frame> {
    for i in 0..FRAMES_PER_HOOK as u32 {
        let frame = at(state, first(hook) + i);
        // SAFETY: `at` gives a valid frame.
        if unsafe { (*frame).key } == key {
            return Some(frame);
        }
    }
    None
}

/// The frame of the operation inside which a pop on this freelist runs. It is the one opened last
/// unless something preempted it, so that is looked at first; `pop_started` asks for one whose pop
/// is in flight.
#[inline(always)]
pub(crate) fn owner_of_pop(
    state: *mut CpuState,
    freelist: u64,
    offset: u64,
    pop_started: bool,
) -> Option<*mut Frame> {
    let owns = |frame: *mut Frame| {
        // SAFETY: `frame` comes from `at`.
        let Frame {
            key,
            map,
            pop_start_ns,
            ..
        } = unsafe { *frame };
        key != 0 && map + offset == freelist && (pop_start_ns != 0) == pop_started
    };
    // SAFETY: `state` is a map value.
    let last = at(state, unsafe { (*state).current });
    if owns(last) {
        return Some(last);
    }
    for i in 0..(Hook::COUNT * FRAMES_PER_HOOK) as u32 {
        let frame = at(state, i);
        if owns(frame) {
            return Some(frame);
        }
    }
    None
}
