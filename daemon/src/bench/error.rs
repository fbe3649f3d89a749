//! What can go wrong with a bench; each says what, on what, and the remedy.

use std::io;

use crate::{
    cgroups::CgroupError,
    facts::{self, ChoiceError, FactError},
    kernel::KernelError,
    preflight::PreflightError,
    probes::ProbeStatus,
    serve,
};

/// Why a bench could not be run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// mapstorm cannot work on this machine.
    #[error(transparent)]
    Machine(#[from] facts::KernelError),
    /// Nobody tells which CPUs there are.
    #[error(transparent)]
    Cpus(#[from] FactError),
    /// A CPU that was asked for does not run.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// There are fewer CPUs than are to work.
    #[error(
        "--producers {producers}: there are {cpus} CPUs to work on: choose fewer, or more with --cpus"
    )]
    TooMany {
        /// Asked for.
        producers: usize,
        /// There are.
        cpus: usize,
    },
    /// The map has too few entries for all who work on it.
    #[error("--max-entries {max_entries}: {what} takes {least} at least: choose more")]
    TooSmall {
        /// Asked for.
        max_entries: u32,
        /// For what.
        what: String,
        /// It takes.
        least: u64,
    },
    /// The probes could not be tried.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The kernel lets nothing be seen.
    #[error(
        "--watch: nothing can be observed on this host; the bench itself runs without --watch:{}",
        serve::reasons(.0)
    )]
    Blind(Vec<ProbeStatus>),
    /// The programs or their maps were refused, or failed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// An element could not be put into the map.
    #[error("filling the map: key {key}: {error}")]
    Fill {
        /// The key.
        key: u32,
        /// How it failed.
        error: io::Error,
    },
    /// A thread could not be kept on its CPU.
    #[error(
        "{error}; CPU {cpu} may be outside of what this process is allowed to use (taskset, cpuset): choose \
         others with --cpus"
    )]
    Pin {
        /// The CPU.
        cpu: u32,
        /// What the system said.
        error: KernelError,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for CPU {cpu}: {error}; choose fewer with --producers")]
    Thread {
        /// The CPU.
        cpu: u32,
        /// What the system said.
        error: io::Error,
    },
    /// A thread died.
    #[error("the thread of CPU {0} died: report it with the text above")]
    Panic(u32),
    /// A file of the system could not be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// The map's cgroup refuses.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// Signals could not be caught.
    #[error("catching signals: {0}")]
    Signals(io::Error),
}
