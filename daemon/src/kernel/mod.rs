//! Everything that talks to BPF: the only user of aya. Objects are loaded, programs attached, one
//! switch arms them, and from then on the tables are read through a mapping, without system calls.

mod attach;
mod dump;
mod error;
mod fight;
mod gets;
mod grace;
mod harvest;
mod inventory;
mod leases;
mod object;
mod observer;
mod places;
mod programs;
mod reclaim;
mod refusal;
mod samples;
mod slow;
pub mod storage;
mod sweep;
mod sys;
mod table;
mod tables;
pub mod workload;

pub use aya::Btf;
pub use dump::{Dump, Dumped};
pub use error::KernelError;
pub use harvest::Harvest;
pub use inventory::{Inventory, MapIdentity};
pub use observer::{Armed, Attached, Loaded, Parameters};
pub use programs::ProgramList;
pub use samples::Samples;
pub use tables::{CpuRow, Geometry, Row, Tables};
