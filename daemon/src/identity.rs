//! What a map is called: its id, its type by the kernel's numbers, its name made printable.

/// Id of a BPF map, as the kernel gives it; never zero.
pub type MapId = u32;

/// `BPF_F_NO_PREALLOC`: the map allocates elements as they come and has no freelist.
pub const NO_PREALLOC: u32 = 1;

/// A map's type by number, `enum bpf_map_type` of the kernel's uapi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapType(pub u32);

impl MapType {
    /// `BPF_MAP_TYPE_HASH`.
    pub const HASH: Self = Self(1);
    /// `BPF_MAP_TYPE_ARRAY`.
    pub const ARRAY: Self = Self(2);
    /// `BPF_MAP_TYPE_PROG_ARRAY`.
    pub const PROG_ARRAY: Self = Self(3);
    /// `BPF_MAP_TYPE_PERF_EVENT_ARRAY`.
    pub const PERF_EVENT_ARRAY: Self = Self(4);
    /// `BPF_MAP_TYPE_PERCPU_HASH`.
    pub const PERCPU_HASH: Self = Self(5);
    /// `BPF_MAP_TYPE_PERCPU_ARRAY`.
    pub const PERCPU_ARRAY: Self = Self(6);
    /// `BPF_MAP_TYPE_STACK_TRACE`.
    pub const STACK_TRACE: Self = Self(7);
    /// `BPF_MAP_TYPE_CGROUP_ARRAY`.
    pub const CGROUP_ARRAY: Self = Self(8);
    /// `BPF_MAP_TYPE_LRU_HASH`.
    pub const LRU_HASH: Self = Self(9);
    /// `BPF_MAP_TYPE_LRU_PERCPU_HASH`.
    pub const LRU_PERCPU_HASH: Self = Self(10);
    /// `BPF_MAP_TYPE_ARRAY_OF_MAPS`.
    pub const ARRAY_OF_MAPS: Self = Self(12);
    /// `BPF_MAP_TYPE_HASH_OF_MAPS`.
    pub const HASH_OF_MAPS: Self = Self(13);
    /// `BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE`.
    pub const PERCPU_CGROUP_STORAGE: Self = Self(21);
    /// `BPF_MAP_TYPE_QUEUE`.
    pub const QUEUE: Self = Self(22);
    /// `BPF_MAP_TYPE_STACK`.
    pub const STACK: Self = Self(23);
    /// `BPF_MAP_TYPE_RINGBUF`.
    pub const RINGBUF: Self = Self(27);
    /// `BPF_MAP_TYPE_USER_RINGBUF`.
    pub const USER_RINGBUF: Self = Self(31);
    /// `BPF_MAP_TYPE_RHASH` (7.x).
    pub const RHASH: Self = Self(35);

    /// Names by number, as bpftool prints them.
    const NAMES: [&str; 36] = [
        "unspec",
        "hash",
        "array",
        "prog_array",
        "perf_event_array",
        "percpu_hash",
        "percpu_array",
        "stack_trace",
        "cgroup_array",
        "lru_hash",
        "lru_percpu_hash",
        "lpm_trie",
        "array_of_maps",
        "hash_of_maps",
        "devmap",
        "sockmap",
        "cpumap",
        "xskmap",
        "sockhash",
        "cgroup_storage",
        "reuseport_sockarray",
        "percpu_cgroup_storage",
        "queue",
        "stack",
        "sk_storage",
        "devmap_hash",
        "struct_ops",
        "ringbuf",
        "inode_storage",
        "task_storage",
        "bloom_filter",
        "user_ringbuf",
        "cgrp_storage",
        "arena",
        "insn_array",
        "rhash",
    ];

    /// Value of the label `map_type`: the name bpftool prints, `type_N` for a newer one.
    pub fn label(self) -> std::borrow::Cow<'static, str> {
        match Self::NAMES.get(self.0 as usize) {
            Some(&name) => name.into(),
            None => format!("type_{}", self.0).into(),
        }
    }

    /// The type of this label; `None` when no type has it.
    pub fn of_label(label: &str) -> Option<Self> {
        let known = Self::NAMES.iter().position(|&name| name == label);
        let number = match known {
            Some(number) => u32::try_from(number).ok()?,
            None => label.strip_prefix("type_")?.parse().ok()?,
        };
        Some(Self(number))
    }

    /// Does the map evict what was not used lately?
    pub fn is_lru(self) -> bool {
        matches!(self, Self::LRU_HASH | Self::LRU_PERCPU_HASH)
    }

    /// Is it a hash map with buckets, each with a lock of its own? The kernel's `struct bpf_htab` is its head.
    pub fn is_htab(self) -> bool {
        self.is_lru() || matches!(self, Self::HASH | Self::PERCPU_HASH | Self::HASH_OF_MAPS)
    }

    /// Does it have a value for each CPU?
    pub fn is_per_cpu(self) -> bool {
        matches!(
            self,
            Self::PERCPU_HASH
                | Self::LRU_PERCPU_HASH
                | Self::PERCPU_ARRAY
                | Self::PERCPU_CGROUP_STORAGE
        )
    }

    /// Are its values descriptors, on the outside?
    pub fn holds_fds(self) -> bool {
        matches!(
            self,
            Self::PERF_EVENT_ARRAY
                | Self::PROG_ARRAY
                | Self::CGROUP_ARRAY
                | Self::ARRAY_OF_MAPS
                | Self::HASH_OF_MAPS
        )
    }

    /// Does an insert into such a map take its element from the per-CPU freelist?
    pub fn pops_freelist(self, flags: u32) -> bool {
        flags & NO_PREALLOC == 0 && self.is_htab() && !self.is_lru()
    }
}

/// A map's name as text. Printable ASCII stays as it is; every other byte and the backslash become
/// `\xNN`, so that two names that differ in the kernel differ here.
pub fn printable_name(raw: &[u8]) -> String {
    let end = raw.iter().position(|&byte| byte == 0).unwrap_or(raw.len());
    let mut name = String::with_capacity(end);
    for &byte in &raw[..end] {
        match byte {
            b'\\' | 0..=0x1f | 0x7f.. => name.push_str(&format!("\\x{byte:02x}")),
            _ => name.push(char::from(byte)),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o09_names_that_are_not_utf8_stay_distinct() {
        assert_eq!(printable_name(b"m\xe9\0\0"), "m\\xe9");
        assert_eq!(printable_name(b"m\xe8\0\0"), "m\\xe8");
        assert_ne!(printable_name(b"m\\xe9"), printable_name(b"m\xe9"));
    }

    #[test]
    fn a_name_of_fifteen_bytes_ends_at_its_zero_and_one_without_a_zero_at_the_end() {
        assert_eq!(printable_name(b"fifteen_bytes_x\0"), "fifteen_bytes_x");
        assert_eq!(printable_name(b"sixteen_bytes_xy"), "sixteen_bytes_xy");
    }

    #[test]
    fn types_are_named_as_bpftool_does_and_unknown_ones_by_number() {
        assert_eq!(MapType::LRU_PERCPU_HASH.label(), "lru_percpu_hash");
        assert_eq!(MapType(33).label(), "arena");
        assert_eq!(MapType::RHASH.label(), "rhash");
        assert_eq!(MapType(99).label(), "type_99");
        for number in 0..40 {
            let kind = MapType(number);
            assert_eq!(MapType::of_label(&kind.label()), Some(kind));
        }
        assert_eq!(MapType::of_label("type_x"), None);
    }

    #[test]
    fn only_preallocated_hashes_pop() {
        assert!(MapType::PERCPU_HASH.pops_freelist(0));
        assert!(!MapType::HASH.pops_freelist(NO_PREALLOC));
        assert!(!MapType::LRU_HASH.pops_freelist(0));
    }
}
