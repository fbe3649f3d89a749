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
    /// Byte offset of `bpf_map.key_size`.
    OFFSET_MAP_KEY_SIZE;
    /// Byte offset of `bpf_map.value_size`.
    OFFSET_MAP_VALUE_SIZE;
    /// Byte offset of `bpf_map.memory.pages`, 0 where there is none.
    OFFSET_MAP_PAGES;
    /// Byte offset of `bpf_map.elem_count`, 0 where there is none.
    OFFSET_MAP_ELEM_COUNT;
    /// Byte offset of `bpf_htab.count`.
    OFFSET_HTAB_COUNT;
    /// Byte offset of `bpf_htab.use_percpu_counter`, 0 where there is none.
    OFFSET_HTAB_USES_PERCPU;
    /// Byte offset of `bpf_htab.freelist`.
    OFFSET_HTAB_FREELIST;
    /// Byte offset of `bpf_prog.type`.
    OFFSET_PROG_TYPE;
    /// Byte offset of `bpf_prog.tag`.
    OFFSET_PROG_TAG;
    /// Byte offset of `bpf_prog.aux`.
    OFFSET_PROG_AUX;
    /// Byte offset of `bpf_prog_aux.id`.
    OFFSET_AUX_ID;
    /// Byte offset of `bpf_prog_aux.name`.
    OFFSET_AUX_NAME;
    /// Byte offset of `bpf_prog_aux.ksym.start`.
    OFFSET_AUX_CODE;
    /// Byte offset of `bpf_prog_aux.used_maps`.
    OFFSET_AUX_MAPS;
    /// Byte offset of `bpf_prog_aux.used_map_cnt`.
    OFFSET_AUX_MAP_COUNT;
    /// Byte offset of `bpf_prog_aux.func`.
    OFFSET_AUX_FUNCTIONS;
    /// Byte offset of `bpf_prog_aux.func_cnt`.
    OFFSET_AUX_FUNCTION_COUNT;
    /// Byte offset of `bpf_prog_aux.load_time`.
    OFFSET_AUX_LOADED;
    /// Least time between two samples of one kind on one CPU, nanoseconds.
    SAMPLE_EVERY_NS;
    /// Byte offset of `bpf_htab.buckets`, 0 where the classes of locks cannot be told.
    OFFSET_HTAB_BUCKETS;
    /// Byte offset of `bpf_htab.n_buckets`.
    OFFSET_HTAB_N_BUCKETS;
    /// Size of `struct bucket`, bytes.
    SIZE_BUCKET;
    /// Byte offset in `bpf_htab` of the pointer to the CPUs' free lists.
    OFFSET_HTAB_FREELISTS;
    /// Size of `struct pcpu_freelist`, bytes.
    SIZE_FREELIST;
    /// Size of one CPU's free list, bytes.
    SIZE_FREELIST_HEAD;
    /// Byte offset of `bpf_htab.lru`.
    OFFSET_HTAB_LRU;
    /// Size of `struct bpf_lru`, bytes.
    SIZE_LRU;
    /// Byte offset in `bpf_htab` of the pointer to the CPUs' local lists of a common LRU.
    OFFSET_HTAB_LRU_LOCAL;
    /// Size of one CPU's local list, bytes.
    SIZE_LRU_LOCAL;
    /// Byte offset in `bpf_htab` of the pointer to the CPUs' lists of an LRU that is not common.
    OFFSET_HTAB_LRU_PERCPU;
    /// Size of one such list, bytes.
    SIZE_LRU_LIST;
    /// Byte offset of `bpf_array.pptrs`.
    OFFSET_ARRAY_PPTRS;
    /// Possible CPUs.
    POSSIBLE_CPUS;
    /// Mask of an offset within a CPU's slots.
    SLOT_MASK;
    /// Offset of the last timings in a CPU's value, bytes.
    LAST_TIMINGS;
}
