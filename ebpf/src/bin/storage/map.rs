//! A map of task local storage, which aya-ebpf 0.2 has no type for: by its BTF, as loaders read it.

use core::ptr;

use aya_ebpf::{
    bindings::{
        BPF_F_NO_PREALLOC, BPF_LOCAL_STORAGE_GET_F_CREATE, bpf_map_type::BPF_MAP_TYPE_TASK_STORAGE,
        task_struct,
    },
    helpers::generated::bpf_task_storage_get,
};

/// The definition of a map. Only the types of its fields say anything: nothing is ever read from it.
#[repr(C)]
pub(crate) struct TaskStorage<T> {
    r#type: *const [i32; BPF_MAP_TYPE_TASK_STORAGE as usize],
    key: *const i32,
    value: *const T,
    max_entries: *const [i32; 0],
    map_flags: *const [i32; BPF_F_NO_PREALLOC as usize],
}

impl<T> TaskStorage<T> {
    /// The task's element, made zeroed where it has none; null where no memory, or no lock, was to be had.
    #[inline(always)]
    pub(crate) fn get_or_make(&self, task: *mut task_struct) -> *mut T {
        let map = ptr::from_ref(self).cast_mut().cast();
        let create = u64::from(BPF_LOCAL_STORAGE_GET_F_CREATE);
        // SAFETY: the map is one of local storage, and the task comes from the kernel.
        unsafe { bpf_task_storage_get(map, task, ptr::null_mut(), create) }.cast()
    }
}
