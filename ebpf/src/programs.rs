//! What the program iterators write for each BPF program on the host.

use crate::slot::NAME_LEN;

/// Maps the kernel lets one program use: `MAX_USED_MAPS` of its uapi.
pub const MAX_MAPS: u32 = 64;
/// Functions the kernel lets one program have: its `BPF_MAX_SUBPROGS`.
pub const MAX_FUNCTIONS: u32 = 256;

/// One program, as `iter/bpf_prog` found it. Behind it follow, without gaps, the ids of its maps,
/// each a `u32`, then a [`CodeRange`] for each of its functions; then the next record.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ProgramRecord {
    /// `bpf_prog_aux.id`.
    pub id: u32,
    /// `bpf_prog.type`.
    pub kind: u32,
    /// `bpf_prog_aux.name`, zero-padded.
    pub name: [u8; NAME_LEN],
    /// `bpf_prog.tag`.
    pub tag: [u8; 8],
    /// `bpf_prog_aux.load_time`, nanoseconds since boot.
    pub loaded_ns: u64,
    /// Where its machine code lies.
    pub code: CodeRange,
    /// Map ids that follow; one that could not be read is 0.
    pub maps: u32,
    /// Ranges that follow; one that could not be read is empty.
    pub functions: u32,
}

/// Where machine code lies in the kernel: `bpf_ksym.start` and `end`; both 0 for a program that is
/// interpreted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CodeRange {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
}

const _: () = assert!(size_of::<ProgramRecord>() == 64);
const _: () = assert!(size_of::<CodeRange>() == 16);
