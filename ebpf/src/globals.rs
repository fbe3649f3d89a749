//! Names of the probes' read-only globals, which the daemon sets before load so that the verifier
//! sees constants. Each is a `u32`.

/// Byte offset of `bpf_map.id`; from the running kernel's BTF, like all offsets.
pub const OFFSET_MAP_ID: &str = "OFFSET_MAP_ID";
/// Byte offset of `bpf_map.map_type`.
pub const OFFSET_MAP_TYPE: &str = "OFFSET_MAP_TYPE";
/// Byte offset of `bpf_map.max_entries`.
pub const OFFSET_MAP_MAX_ENTRIES: &str = "OFFSET_MAP_MAX_ENTRIES";
/// Byte offset of `bpf_map.map_flags`.
pub const OFFSET_MAP_FLAGS: &str = "OFFSET_MAP_FLAGS";
/// Byte offset of `bpf_map.name`.
pub const OFFSET_MAP_NAME: &str = "OFFSET_MAP_NAME";
/// Byte offset of `bpf_htab.freelist`, which lies in an anonymous union with `lru`.
pub const OFFSET_HTAB_FREELIST: &str = "OFFSET_HTAB_FREELIST";
/// Counter slots per CPU, a power of two.
pub const SLOTS_PER_CPU: &str = "SLOTS_PER_CPU";
/// Histograms per CPU.
pub const HISTOGRAMS_PER_CPU: &str = "HISTOGRAMS_PER_CPU";
/// 1 where a program can run inside itself on one CPU (before 5.12), so that counters need atomic
/// adds; 0 elsewhere, where the verifier removes them.
pub const SELF_NESTING: &str = "SELF_NESTING";
