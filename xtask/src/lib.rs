//! The rooms of `cargo xtask`, shared by its program and by the two programs that run in guests.

pub mod artifacts;
pub mod bench;
pub mod cli;
pub mod demo;
pub mod interrupt;
pub mod kernels;
pub mod paths;
pub mod process;
pub mod setup;
pub mod test;
pub mod toolchain;
pub mod vendor;
pub mod vm;
