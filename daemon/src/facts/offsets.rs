//! Where the fields that probes read lie in this kernel. Rust has no CO-RE, so the daemon looks
//! them up and sets them as read-only globals before load.

use mapstorm_abi::globals;
use serde::Serialize;

use super::btf::{Btf, BtfError};

/// Offsets in bytes from the start of the struct named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Offsets {
    /// `bpf_map.id`.
    pub map_id: u32,
    /// `bpf_map.map_type`.
    pub map_type: u32,
    /// `bpf_map.max_entries`.
    pub map_max_entries: u32,
    /// `bpf_map.map_flags`.
    pub map_flags: u32,
    /// `bpf_map.name`, 16 bytes.
    pub map_name: u32,
    /// `bpf_htab.freelist`, in an anonymous union with `lru`.
    pub htab_freelist: u32,
}

impl Offsets {
    /// Looks every offset up.
    ///
    /// # Errors
    /// Names the first struct or member that this kernel does not have.
    pub fn of(btf: &Btf) -> Result<Self, BtfError> {
        let map = |member| btf.member_offset("bpf_map", member);
        Ok(Self {
            map_id: map("id")?,
            map_type: map("map_type")?,
            map_max_entries: map("max_entries")?,
            map_flags: map("map_flags")?,
            map_name: map("name")?,
            htab_freelist: btf.member_offset("bpf_htab", "freelist")?,
        })
    }

    /// Each offset with the name of the probes' global that takes it.
    pub fn globals(&self) -> [(&'static str, u32); 6] {
        [
            (globals::OFFSET_MAP_ID, self.map_id),
            (globals::OFFSET_MAP_TYPE, self.map_type),
            (globals::OFFSET_MAP_MAX_ENTRIES, self.map_max_entries),
            (globals::OFFSET_MAP_FLAGS, self.map_flags),
            (globals::OFFSET_MAP_NAME, self.map_name),
            (globals::OFFSET_HTAB_FREELIST, self.htab_freelist),
        ]
    }
}
