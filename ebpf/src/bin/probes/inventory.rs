//! Every map on the host, by the kernel's own iterator: works without the right to enumerate ids.

use aya_ebpf::{bindings::seq_file, cty::c_void, helpers::bpf_seq_write};
use mapstorm_abi::inventory::MapRecord;

use crate::slots::{MapPtr, identity};

/// Context of `iter/bpf_map`: `struct bpf_iter__bpf_map`.
#[repr(C)]
pub(crate) struct IterContext {
    /// `struct bpf_iter_meta *`, whose first field is the `seq_file` to write to.
    meta: *const *mut seq_file,
    /// The map, NULL at the end.
    map: MapPtr,
}

/// Writes one record per map. The macros of aya-ebpf know no iterators, so the section is named
/// here by hand.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/bpf_map")]
extern "C" fn inventory(ctx: &IterContext) -> i32 {
    if ctx.map.is_null() {
        return 0;
    }
    let record: MapRecord = identity(ctx.map);
    let bytes = (&raw const record).cast::<c_void>().cast_mut();
    // SAFETY: the kernel passes valid metadata.
    let seq = unsafe { *ctx.meta };
    // SAFETY: `record` is initialised and of the size given. A full buffer makes the kernel call
    // again for the same map, so the result needs no look.
    unsafe { bpf_seq_write(seq, bytes, size_of::<MapRecord>() as u32) };
    0
}
