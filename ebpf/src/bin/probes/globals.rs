//! Read-only globals the daemon sets before load; the verifier then sees constants.

use aya_ebpf::Global;

/// Declares the globals: the symbol's name is the name in `mapstorm_abi::globals`.
macro_rules! globals {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])* #[unsafe(no_mangle)] pub(crate) static $name: Global<u32> = Global::new(0);)*
    };
}

globals! {
    /// Byte offset of `bpf_map.id`.
    OFFSET_MAP_ID;
    /// Byte offset of `bpf_map.map_type`.
    OFFSET_MAP_TYPE;
    /// Byte offset of `bpf_map.max_entries`.
    OFFSET_MAP_MAX_ENTRIES;
    /// Byte offset of `bpf_map.map_flags`.
    OFFSET_MAP_FLAGS;
    /// Byte offset of `bpf_map.name`.
    OFFSET_MAP_NAME;
    /// Byte offset of `bpf_htab.freelist`.
    OFFSET_HTAB_FREELIST;
    /// Mask of an offset within a CPU's slots.
    SLOT_MASK;
    /// Offset of the last timings in a CPU's value, bytes.
    LAST_TIMINGS;
}
