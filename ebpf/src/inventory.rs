//! What the map iterator writes for each map on the host.

use crate::slot::NAME_LEN;

/// What a map is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MapHead {
    /// `bpf_map.id`.
    pub id: u32,
    /// `bpf_map.map_type`.
    pub map_type: u32,
    /// `bpf_map.max_entries`.
    pub max_entries: u32,
    /// `bpf_map.map_flags`.
    pub flags: u32,
    /// `bpf_map.name`, zero-padded.
    pub name: [u8; NAME_LEN],
}

/// One map, as `iter/bpf_map` found it; records follow each other without gaps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MapRecord {
    /// What it is.
    pub head: MapHead,
    /// `bpf_map.key_size`, bytes.
    pub key_size: u32,
    /// `bpf_map.value_size`, bytes.
    pub value_size: u32,
    /// `bpf_map.memory.pages`: pages charged for the map, before 5.11; 0 where there is none.
    pub pages: u32,
    /// 1 when `entries` was counted.
    pub counted: u32,
    /// Elements in the map; while CPUs change it the sum can be off, even below zero.
    pub entries: i64,
}

const _: () = assert!(size_of::<MapHead>() == 32);
const _: () = assert!(size_of::<MapRecord>() == 56);

/// What stands in the object where the kernel's function [`SUM_ELEM_COUNT`] is called: the number
/// of a helper that does not exist. The daemon writes the function's BTF id there before load.
pub const COUNT_MARKER: i32 = 0x6d61_7073;

/// The kernel's function that sums a map's element counters over CPUs, since 6.6.
pub const SUM_ELEM_COUNT: &str = "bpf_map_sum_elem_count";
