//! What this host and its kernel are, read once at start.
//!
//! Parsers are pure; effects are at the rim: each reader takes the path or root it reads from, so
//! that a test reads fixtures. Every fact may be unknown on its own and then carries its reason;
//! only another architecture is fatal.

pub mod btf;
pub mod cpus;
pub mod kernel;
pub mod locks;
pub mod offsets;
pub mod privilege;
pub mod program_offsets;
pub mod security;
pub mod spinlocks;
pub mod symbols;

mod read;

use std::{fmt, path::PathBuf};

use serde::{Serialize, Serializer, ser::SerializeMap as _};

pub use btf::{Btf, BtfError};
pub use cpus::{ChoiceError, CpuList, Cpus};
pub use kernel::{FreelistGeneration, Kernel, KernelError};
pub use offsets::Offsets;
pub use privilege::{Capability, Privilege};
pub use program_offsets::ProgramOffsets;
pub use read::FactError;
pub use security::{Lockdown, Security};
pub use spinlocks::Spinlocks;
pub use symbols::{Resolution, Symbols, Traceable};

/// Where the kernel's file systems are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// procfs.
    pub proc: PathBuf,
    /// sysfs, with securityfs and tracefs where it has them.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
        }
    }
}

/// All facts. Serializes to what `doctor --json` shows: a fact that is unknown is an object whose
/// only member, `unknown`, gives the reason.
#[derive(Debug, Serialize)]
pub struct Facts {
    /// The running kernel, and what follows from its release.
    pub kernel: Kernel,
    /// Possible and online CPUs.
    #[serde(serialize_with = "answer")]
    pub cpus: Result<Cpus, FactError>,
    /// How spinlocks wait.
    pub spinlocks: Spinlocks,
    /// Settings that restrict BPF.
    pub security: Security,
    /// What this process may do.
    pub privilege: Privilege,
    /// The kernel's types, some 6 MB: worth dropping once the plan is made.
    #[serde(serialize_with = "answer")]
    pub btf: Result<Btf, BtfError>,
    /// Offsets of the fields that probes read.
    #[serde(serialize_with = "answer")]
    pub offsets: Result<Offsets, OffsetsError>,
    /// Offsets of the fields that tell of a program.
    #[serde(serialize_with = "answer")]
    pub program_offsets: Result<ProgramOffsets, OffsetsError>,
    /// The functions asked about.
    #[serde(serialize_with = "answer")]
    pub symbols: Result<Symbols, FactError>,
}

/// Why there are no offsets, and so no map ids.
#[derive(Debug, thiserror::Error)]
pub enum OffsetsError {
    /// There is no type information to look them up in; the fact `btf` says why.
    #[error("no field offsets without the kernel's type information")]
    NoBtf,
    /// The type information lacks something.
    #[error("no field offsets: {0}")]
    Missing(BtfError),
}

impl Facts {
    /// Gathers the facts of this host. `functions` are the names that [`Symbols`] answers for.
    ///
    /// # Errors
    /// Only when mapstorm cannot work on this machine at all.
    pub fn gather(roots: &Roots, functions: &[&str]) -> Result<Self, KernelError> {
        Ok(Self::of(Kernel::running()?, roots, functions))
    }

    /// The same for a kernel that is already known.
    pub fn of(kernel: Kernel, Roots { proc, sys }: &Roots, functions: &[&str]) -> Self {
        let btf = Btf::read(&sys.join("kernel/btf/vmlinux"));
        Self {
            kernel,
            cpus: Cpus::read(sys),
            spinlocks: Spinlocks::running(),
            security: Security::read(proc, sys),
            privilege: Privilege::read(proc),
            offsets: match &btf {
                Ok(btf) => Offsets::of(btf).map_err(OffsetsError::Missing),
                Err(_) => Err(OffsetsError::NoBtf),
            },
            program_offsets: match &btf {
                Ok(btf) => ProgramOffsets::of(btf).map_err(OffsetsError::Missing),
                Err(_) => Err(OffsetsError::NoBtf),
            },
            btf,
            symbols: Symbols::read(proc, sys, functions),
        }
    }
}

/// Writes a fact, or `{"unknown": reason}`.
fn answer<T, E, S>(fact: &Result<T, E>, serializer: S) -> Result<S::Ok, S::Error>
where
    T: Serialize,
    E: fmt::Display,
    S: Serializer,
{
    match fact {
        Ok(fact) => fact.serialize(serializer),
        Err(error) => {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry("unknown", &error.to_string())?;
            map.end()
        }
    }
}

#[cfg(test)]
mod tests;
