//! Calls in flight: a frame is claimed at entry, and found and freed at exit by the context pointer.
//!
//! Only a hook's entry program claims its frames, and that never runs inside itself on one CPU
//! (5.12 and newer) or nests like a stack (5.10): plain loads and stores are enough.

use mapstorm_abi::{
    CpuState, Frame, Hook, Lost,
    cpu::{STALE_NS, UNARMED},
};

use crate::tables::{lose, store};

/// A hook's first frame: the one a call uses unless calls are nested.
#[inline(always)]
pub(crate) fn first(cpu: &CpuState, hook: Hook) -> &Frame {
    &cpu.frames[hook as usize][0]
}

/// The frame an entry may use when calls are nested, as [`free`]; without one the call is counted as
/// not timed.
#[inline(always)]
pub(crate) fn claim(cpu: &CpuState, hook: Hook, key: u64, now_ns: u64) -> Option<&Frame> {
    let frame = free(cpu, hook, key, now_ns);
    if frame.is_none() {
        lose(cpu, Lost::Unframed);
    }
    frame
}

/// A free frame, the one a call with the same key left behind, or the first whose start is so old
/// that its exit will not come.
#[inline(always)]
pub(crate) fn free(cpu: &CpuState, hook: Hook, key: u64, now_ns: u64) -> Option<&Frame> {
    store(&cpu.nested, 1);
    for frame in &cpu.frames[hook as usize] {
        if frame.map.get() == 0 {
            return Some(frame);
        }
        if frame.key.get() == key {
            lose(cpu, Lost::Orphan);
            return Some(frame);
        }
    }
    for frame in &cpu.frames[hook as usize] {
        if now_ns.wrapping_sub(frame.start_ns.get()) > STALE_NS {
            lose(cpu, Lost::Orphan);
            return Some(frame);
        }
    }
    None
}

/// The frame of the call with this key.
#[inline(always)]
pub(crate) fn of(cpu: &CpuState, hook: Hook, key: u64) -> Option<&Frame> {
    for frame in &cpu.frames[hook as usize] {
        let map = frame.map.get();
        if frame.key.get() == key && map != 0 && map != UNARMED {
            return Some(frame);
        }
    }
    None
}

/// Frees the frame of the call whose exit this is, and gives its start; 0 when its entry was not
/// seen.
#[inline(always)]
pub(crate) fn close(cpu: &CpuState, hook: Hook, key: u64, map: u64) -> u64 {
    for frame in &cpu.frames[hook as usize] {
        let taken_for = frame.map.get();
        if frame.key.get() != key || taken_for == 0 {
            continue;
        }
        frame.map.set(0);
        if taken_for == map {
            return frame.start_ns.get();
        }
        lose(cpu, Lost::Mismatch);
        return 0;
    }
    0
}
