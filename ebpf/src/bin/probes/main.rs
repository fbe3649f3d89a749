//! The observing programs: one entry and one exit program per kernel function, and an iterator.
//!
//! They use arrays only: a hash map in here would re-enter what is being measured. Nothing here
//! takes a lock, sleeps, or reads memory through a helper that lockdown takes away.
#![cfg_attr(target_arch = "bpf", no_std, no_main, feature(asm_experimental_arch))]

#[cfg(target_arch = "bpf")]
mod frames;
#[cfg(target_arch = "bpf")]
mod globals;
#[cfg(target_arch = "bpf")]
mod inventory;
#[cfg(target_arch = "bpf")]
mod pop;
#[cfg(target_arch = "bpf")]
mod remark;
#[cfg(target_arch = "bpf")]
mod slots;
#[cfg(target_arch = "bpf")]
mod tables;
#[cfg(target_arch = "bpf")]
mod untyped;
#[cfg(target_arch = "bpf")]
mod update;

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
