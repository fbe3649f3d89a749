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
/// Byte offset of `bpf_map.key_size`.
pub const OFFSET_MAP_KEY_SIZE: &str = "OFFSET_MAP_KEY_SIZE";
/// Byte offset of `bpf_map.value_size`.
pub const OFFSET_MAP_VALUE_SIZE: &str = "OFFSET_MAP_VALUE_SIZE";
/// Byte offset of `bpf_map.memory.pages`, before 5.11; 0 where there is none.
pub const OFFSET_MAP_PAGES: &str = "OFFSET_MAP_PAGES";
/// Byte offset of `bpf_map.elem_count`; 0 where there is none.
pub const OFFSET_MAP_ELEM_COUNT: &str = "OFFSET_MAP_ELEM_COUNT";
/// Byte offset of `bpf_htab.count`; 0 where there is none.
pub const OFFSET_HTAB_COUNT: &str = "OFFSET_HTAB_COUNT";
/// Byte offset of `bpf_htab.use_percpu_counter`, since 6.1; 0 where there is none.
pub const OFFSET_HTAB_USES_PERCPU: &str = "OFFSET_HTAB_USES_PERCPU";
/// Byte offset of `bpf_htab.freelist`, which lies in an anonymous union with `lru`.
pub const OFFSET_HTAB_FREELIST: &str = "OFFSET_HTAB_FREELIST";
/// Byte offset of `bpf_prog.type`.
pub const OFFSET_PROG_TYPE: &str = "OFFSET_PROG_TYPE";
/// Byte offset of `bpf_prog.tag`.
pub const OFFSET_PROG_TAG: &str = "OFFSET_PROG_TAG";
/// Byte offset of `bpf_prog.aux`.
pub const OFFSET_PROG_AUX: &str = "OFFSET_PROG_AUX";
/// Byte offset of `bpf_prog_aux.id`.
pub const OFFSET_AUX_ID: &str = "OFFSET_AUX_ID";
/// Byte offset of `bpf_prog_aux.name`.
pub const OFFSET_AUX_NAME: &str = "OFFSET_AUX_NAME";
/// Byte offset of `bpf_prog_aux.ksym.start`; `end` follows.
pub const OFFSET_AUX_CODE: &str = "OFFSET_AUX_CODE";
/// Byte offset of `bpf_prog_aux.used_maps`, an array of pointers.
pub const OFFSET_AUX_MAPS: &str = "OFFSET_AUX_MAPS";
/// Byte offset of `bpf_prog_aux.used_map_cnt`.
pub const OFFSET_AUX_MAP_COUNT: &str = "OFFSET_AUX_MAP_COUNT";
/// Byte offset of `bpf_prog_aux.func`, an array of pointers.
pub const OFFSET_AUX_FUNCTIONS: &str = "OFFSET_AUX_FUNCTIONS";
/// Byte offset of `bpf_prog_aux.func_cnt`.
pub const OFFSET_AUX_FUNCTION_COUNT: &str = "OFFSET_AUX_FUNCTION_COUNT";
/// Byte offset of `bpf_prog_aux.load_time`.
pub const OFFSET_AUX_LOADED: &str = "OFFSET_AUX_LOADED";
/// Least time between two samples of one kind on one CPU, nanoseconds.
pub const SAMPLE_EVERY_NS: &str = "SAMPLE_EVERY_NS";
/// [`slot_mask`](crate::slot::slot_mask) of the slots per CPU.
pub const SLOT_MASK: &str = "SLOT_MASK";
/// Offset of the last timings in a CPU's value, bytes.
pub const LAST_TIMINGS: &str = "LAST_TIMINGS";
/// Byte offset of `bpf_htab.buckets`; zero, like all that follow but the last, where the types of this
/// kernel do not tell the classes of locks.
pub const OFFSET_HTAB_BUCKETS: &str = "OFFSET_HTAB_BUCKETS";
/// Byte offset of `bpf_htab.n_buckets`.
pub const OFFSET_HTAB_N_BUCKETS: &str = "OFFSET_HTAB_N_BUCKETS";
/// Size of `struct bucket`, bytes.
pub const SIZE_BUCKET: &str = "SIZE_BUCKET";
/// Byte offset in `bpf_htab` of the pointer to the CPUs' free lists.
pub const OFFSET_HTAB_FREELISTS: &str = "OFFSET_HTAB_FREELISTS";
/// Size of `struct pcpu_freelist`, bytes.
pub const SIZE_FREELIST: &str = "SIZE_FREELIST";
/// Size of one CPU's free list, bytes.
pub const SIZE_FREELIST_HEAD: &str = "SIZE_FREELIST_HEAD";
/// Byte offset of `bpf_htab.lru`.
pub const OFFSET_HTAB_LRU: &str = "OFFSET_HTAB_LRU";
/// Size of `struct bpf_lru`, bytes.
pub const SIZE_LRU: &str = "SIZE_LRU";
/// Byte offset in `bpf_htab` of the pointer to the CPUs' local lists of a common LRU.
pub const OFFSET_HTAB_LRU_LOCAL: &str = "OFFSET_HTAB_LRU_LOCAL";
/// Size of one CPU's local list, bytes.
pub const SIZE_LRU_LOCAL: &str = "SIZE_LRU_LOCAL";
/// Byte offset in `bpf_htab` of the pointer to the CPUs' lists of an LRU that is not common.
pub const OFFSET_HTAB_LRU_PERCPU: &str = "OFFSET_HTAB_LRU_PERCPU";
/// Size of one such list, bytes.
pub const SIZE_LRU_LIST: &str = "SIZE_LRU_LIST";
/// Byte offset of `bpf_array.pptrs`.
pub const OFFSET_ARRAY_PPTRS: &str = "OFFSET_ARRAY_PPTRS";
/// Possible CPUs.
pub const POSSIBLE_CPUS: &str = "POSSIBLE_CPUS";
