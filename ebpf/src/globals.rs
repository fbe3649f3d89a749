//! Names of the probes' read-only globals, which the daemon sets before load so that the verifier
//! sees constants. Each is a `u32`.
//!
//! The tables' geometry is among them: the verifier must see that an offset stays within the value.

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
/// [`slot_mask`](crate::slot::slot_mask) of the slots per CPU.
pub const SLOT_MASK: &str = "SLOT_MASK";
/// Offset of the last timings in a CPU's value, bytes.
pub const LAST_TIMINGS: &str = "LAST_TIMINGS";
