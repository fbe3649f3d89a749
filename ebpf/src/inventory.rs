//! What the map iterator writes for each map on the host.

use crate::slot::NAME_LEN;

/// One map, as `iter/bpf_map` found it; records follow each other without gaps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MapRecord {
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

const _: () = assert!(size_of::<MapRecord>() == 32);
