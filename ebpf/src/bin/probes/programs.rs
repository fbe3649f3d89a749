//! Every BPF program on the host, by the kernel's own iterator: what it is, where its code lies, and
//! which maps it uses.

use aya_ebpf::{bindings::seq_file, cty::c_void, helpers::bpf_seq_write};
use mapstorm_abi::{
    programs::{CodeRange, MAX_FUNCTIONS, MAX_MAPS, ProgramRecord},
    slot::NAME_LEN,
};

use crate::{
    globals::{
        OFFSET_AUX_CODE, OFFSET_AUX_FUNCTION_COUNT, OFFSET_AUX_FUNCTIONS, OFFSET_AUX_ID,
        OFFSET_AUX_LOADED, OFFSET_AUX_MAP_COUNT, OFFSET_AUX_MAPS, OFFSET_AUX_NAME, OFFSET_MAP_ID,
        OFFSET_PROG_AUX, OFFSET_PROG_TAG, OFFSET_PROG_TYPE,
    },
    slots::field,
    tables::peek,
};

/// Context of `iter/bpf_prog`: `struct bpf_iter__bpf_prog`.
#[repr(C)]
pub(crate) struct IterContext {
    /// `struct bpf_iter_meta *`, whose first field is the `seq_file` to write to.
    meta: *const *mut seq_file,
    /// The `struct bpf_prog`, NULL at the end.
    program: *const u8,
}

/// Writes one record per program, without its maps and functions: they are behind pointers to
/// pointers, which the verifier follows for nobody.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/bpf_prog")]
extern "C" fn programs(ctx: &IterContext) -> i32 {
    if !ctx.program.is_null() {
        write(ctx, &describe(ctx.program, aux(ctx.program)));
    }
    0
}

/// Writes one record per program with the ids of its maps and the code of its functions. It reads
/// memory by a helper that `lockdown=confidentiality` takes away.
#[unsafe(no_mangle)]
#[unsafe(link_section = "iter/bpf_prog")]
extern "C" fn users(ctx: &IterContext) -> i32 {
    if ctx.program.is_null() {
        return 0;
    }
    let aux = aux(ctx.program);
    let maps: u64 = field(aux, OFFSET_AUX_MAPS.load());
    let functions: u64 = field(aux, OFFSET_AUX_FUNCTIONS.load());
    let mut record = describe(ctx.program, aux);
    record.maps = field::<u32>(aux, OFFSET_AUX_MAP_COUNT.load()).min(MAX_MAPS);
    record.functions = field::<u32>(aux, OFFSET_AUX_FUNCTION_COUNT.load()).min(MAX_FUNCTIONS);
    write(ctx, &record);
    for index in 0..u64::from(MAX_MAPS) {
        if index >= u64::from(record.maps) {
            break;
        }
        let id: u32 = peek(peek::<u64>(maps + 8 * index) + u64::from(OFFSET_MAP_ID.load()));
        write(ctx, &id);
    }
    for index in 0..u64::from(MAX_FUNCTIONS) {
        if index >= u64::from(record.functions) {
            break;
        }
        let function: u64 = peek(functions + 8 * index);
        let aux: u64 = peek(function + u64::from(OFFSET_PROG_AUX.load()));
        let code: CodeRange = peek(aux + u64::from(OFFSET_AUX_CODE.load()));
        write(ctx, &code);
    }
    0
}

/// The program's `struct bpf_prog_aux`.
#[inline(always)]
fn aux(program: *const u8) -> *const u8 {
    field(program, OFFSET_PROG_AUX.load())
}

/// What the program is.
#[inline(always)]
fn describe(program: *const u8, aux: *const u8) -> ProgramRecord {
    let (name, tag, code) = (
        OFFSET_AUX_NAME.load(),
        OFFSET_PROG_TAG.load(),
        OFFSET_AUX_CODE.load(),
    );
    // Words, because byte by byte would be many loads; the tag is aligned to four bytes only.
    let name: [u64; 2] = [field(aux, name), field(aux, name + NAME_LEN as u32 / 2)];
    let tag: [u32; 2] = [field(program, tag), field(program, tag + 4)];
    ProgramRecord {
        id: field(aux, OFFSET_AUX_ID.load()),
        kind: field(program, OFFSET_PROG_TYPE.load()),
        // SAFETY: any bytes are a name.
        name: unsafe { core::mem::transmute::<[u64; 2], [u8; NAME_LEN]>(name) },
        // SAFETY: any bytes are a tag.
        tag: unsafe { core::mem::transmute::<[u32; 2], [u8; 8]>(tag) },
        loaded_ns: field(aux, OFFSET_AUX_LOADED.load()),
        code: CodeRange {
            start: field(aux, code),
            end: field(aux, code + 8),
        },
        maps: 0,
        functions: 0,
    }
}

/// Appends a value to what the reader gets.
#[inline(always)]
fn write<T>(ctx: &IterContext, value: &T) {
    let bytes = core::ptr::from_ref(value).cast::<c_void>().cast_mut();
    // SAFETY: the kernel passes valid metadata.
    let seq = unsafe { *ctx.meta };
    // SAFETY: `value` is initialised and of the size given. When the buffer is full the kernel drops
    // what was written for this program and calls again for it, so the result needs no look.
    unsafe { bpf_seq_write(seq, bytes, size_of::<T>() as u32) };
}
