//! What is left without trampolines or without BTF: return probes that know no map, and so count
//! for the whole host. The kernel keeps them quiet while bpf(2) works on a map: they see what
//! programs do and not what system calls do.

use aya_ebpf::{macros::kretprobe, programs::RetProbeContext};
use mapstorm_abi::{
    Outcome,
    slot::{POP_EMPTY, POP_OK},
};

use crate::tables::{armed, atomic_add, cpu};

/// Counts an update by its outcome.
#[inline(always)]
fn update(ctx: &RetProbeContext) -> Option<()> {
    let cpu = cpu()?;
    if armed(cpu) {
        atomic_add(
            &cpu.host_updates[Outcome::of(ctx.ret::<u64>() as i32) as usize],
            1,
        );
    }
    Some(())
}

/// One program per kernel function, so that each is attached and refused on its own.
macro_rules! returns {
    ($($name:ident)*) => {
        $(
            /// Return probe of an update function.
            #[kretprobe]
            pub(crate) fn $name(ctx: RetProbeContext) -> u32 {
                update(&ctx);
                0
            }
        )*
    };
}

returns! {
    htab_update_ret
    lru_update_ret
    percpu_update_ret
    in_place_update_ret
    lru_percpu_update_ret
}

/// Counts a pop: NULL means that every list was empty.
#[inline(always)]
fn pop(ctx: &RetProbeContext) -> Option<()> {
    let cpu = cpu()?;
    if armed(cpu) {
        let index = if ctx.ret::<u64>() == 0 {
            POP_EMPTY
        } else {
            POP_OK
        };
        atomic_add(&cpu.host_pops[index], 1);
    }
    Some(())
}

/// Return probe of `__pcpu_freelist_pop`.
#[kretprobe]
pub(crate) fn pop_ret(ctx: RetProbeContext) -> u32 {
    pop(&ctx);
    0
}
