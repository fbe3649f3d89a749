//! What both sides of the kernel boundary share, stated once: table layouts, keys, outcomes and
//! bucket arithmetic. The BPF programs write these types, the daemon reads them through a mapping.
//!
//! Everything is plain old data of fixed layout; the sizes are asserted at compile time where the
//! types stand.

#![no_std]

pub mod batch;
pub mod bucket;
pub mod contention;
pub mod cpu;
pub mod globals;
pub mod hook;
pub mod inventory;
pub mod outcome;
pub mod programs;
pub mod sample;
pub mod slot;
pub mod workload;

pub use contention::{Counted, LockClass, Wait};
pub use cpu::{CpuState, Frame, Lost, Popped};
pub use hook::{Hook, Op};
pub use outcome::Outcome;
pub use slot::{Histogram, Slot, Timings};
