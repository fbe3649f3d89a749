//! Where the fields that probes read lie in this kernel. Rust has no CO-RE, so the daemon looks
//! them up and sets them as read-only globals before load.

use mapstorm_abi::globals;
use serde::Serialize;

use super::locks::LockLayout;

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
    /// `bpf_map.key_size`.
    pub map_key_size: u32,
    /// `bpf_map.value_size`.
    pub map_value_size: u32,
    /// `bpf_htab.freelist`, in an anonymous union with `lru`.
    pub htab_freelist: u32,
    /// Where a map's locks lie; `None` where they cannot all be found, and then their classes are not
    /// told apart.
    pub locks: Option<LockLayout>,
    /// What only some kernels have.
    pub optional: Optional,
}

/// Offsets of what some kernels have and others do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Optional {
    /// `bpf_map.memory.pages`: before 5.11.
    pub map_pages: Option<u32>,
    /// `bpf_map.elem_count`: since 6.6, and in some older kernels that leave it empty.
    pub map_elem_count: Option<u32>,
    /// `bpf_htab.count`.
    pub htab_count: Option<u32>,
    /// `bpf_htab.use_percpu_counter`: since 6.1.
    pub htab_uses_percpu: Option<u32>,
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
            map_key_size: map("key_size")?,
            map_value_size: map("value_size")?,
            htab_freelist: btf.member_offset("bpf_htab", "freelist")?,
            locks: LockLayout::of(btf).ok(),
            optional: Optional::of(btf),
        })
    }

    /// Each offset with the name of the probes' global that takes it; 0 for what this kernel does
    /// not have: no field read here is the first of its struct.
    pub fn globals(&self) -> Vec<(&'static str, u32)> {
        let Optional {
            map_pages,
            map_elem_count,
            htab_count,
            htab_uses_percpu,
        } = self.optional;
        let mut globals = vec![
            (globals::OFFSET_MAP_ID, self.map_id),
            (globals::OFFSET_MAP_TYPE, self.map_type),
            (globals::OFFSET_MAP_MAX_ENTRIES, self.map_max_entries),
            (globals::OFFSET_MAP_FLAGS, self.map_flags),
            (globals::OFFSET_MAP_NAME, self.map_name),
            (globals::OFFSET_MAP_KEY_SIZE, self.map_key_size),
            (globals::OFFSET_MAP_VALUE_SIZE, self.map_value_size),
            (globals::OFFSET_HTAB_FREELIST, self.htab_freelist),
            (globals::OFFSET_MAP_PAGES, map_pages.unwrap_or(0)),
            (globals::OFFSET_MAP_ELEM_COUNT, map_elem_count.unwrap_or(0)),
            (globals::OFFSET_HTAB_COUNT, htab_count.unwrap_or(0)),
            (
                globals::OFFSET_HTAB_USES_PERCPU,
                htab_uses_percpu.unwrap_or(0),
            ),
        ];
        globals.extend(self.locks.iter().flat_map(LockLayout::globals));
        globals
    }
}

impl Optional {
    fn of(btf: &Btf) -> Self {
        let of = |name, member| btf.member_offset(name, member).ok();
        Self {
            map_pages: of("bpf_map", "memory.pages"),
            map_elem_count: of("bpf_map", "elem_count"),
            htab_count: of("bpf_htab", "count"),
            htab_uses_percpu: of("bpf_htab", "use_percpu_counter"),
        }
    }
}
