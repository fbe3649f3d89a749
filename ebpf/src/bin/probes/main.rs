//! The observing programs: entry and exit of each kernel function, by trampolines or by kprobes; the tracepoints of waits
//! for locks; iterators that list maps and programs.
//!
//! They use arrays only, and a ring buffer for rare samples: a hash map in here would re-enter what is
//! being measured. Nothing here sleeps, and only a sample takes a lock, the ring buffer's. Whatever reads memory
//! through a helper that lockdown takes away is optional: waits for locks, kprobes, the list of
//! users, elements before 6.6.
#![cfg_attr(target_arch = "bpf", no_std, no_main, feature(asm_experimental_arch))]

#[cfg(target_arch = "bpf")]
mod batch;
#[cfg(target_arch = "bpf")]
mod contention;
#[cfg(target_arch = "bpf")]
mod frames;
#[cfg(target_arch = "bpf")]
mod globals;
#[cfg(target_arch = "bpf")]
mod inventory;
#[cfg(target_arch = "bpf")]
mod lock;
#[cfg(target_arch = "bpf")]
mod operation;
#[cfg(target_arch = "bpf")]
mod pairs;
#[cfg(target_arch = "bpf")]
mod pop;
#[cfg(target_arch = "bpf")]
mod programs;
#[cfg(target_arch = "bpf")]
mod remark;
#[cfg(target_arch = "bpf")]
mod sample;
#[cfg(target_arch = "bpf")]
mod sites;
#[cfg(target_arch = "bpf")]
mod slots;
#[cfg(target_arch = "bpf")]
mod tables;
#[cfg(target_arch = "bpf")]
mod untyped;

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
