//! Lookups in the running task's local storage, in up to a thousand maps in turn; driven by
//! `bpf_prog_test_run` without being attached.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod get;
#[cfg(target_arch = "bpf")]
mod map;

/// The kernel's licence check: the helpers used here are for GPL-compatible programs.
#[cfg(target_arch = "bpf")]
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

/// Never reached: nothing here can panic, and the linker drops it.
#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

/// Off BPF there is nothing to run; the daemon embeds the object that the BPF target gives.
#[cfg(not(target_arch = "bpf"))]
fn main() {}
