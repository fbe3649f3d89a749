//! What can go wrong before anything is observed; each says what, on what, and the remedy.

use std::io;

use aya::{EbpfError, maps::MapError, programs::ProgramError};
use thiserror::Error;

/// An error of the kernel room that ends the attempt. A probe that cannot be attached is none: see
/// [`ProbeStatus`](crate::probes::ProbeStatus).
#[derive(Debug, Error)]
pub enum KernelError {
    /// The binary holds stubs in place of the BPF objects.
    #[error(
        "this binary holds no BPF object `{0}`: it was built by plain `cargo build`; build it with \
         `cargo xtask build`"
    )]
    Stub(&'static str),
    /// The kernel refused the object's maps.
    #[error("cannot load the BPF object `{object}`: {}; {remedy}", chain(.source))]
    Load {
        /// Name of the object.
        object: &'static str,
        /// What aya said.
        source: Box<EbpfError>,
        /// What a person can do.
        remedy: &'static str,
    },
    /// A map or program is not in the object that we built.
    #[error(
        "the BPF object `{object}` lacks `{name}`: the build is inconsistent; run `cargo xtask build`"
    )]
    Missing {
        /// Name of the object.
        object: &'static str,
        /// Name of the map or program.
        name: String,
    },
    /// A map operation failed.
    #[error("map `{map}`: {}", chain(.source))]
    Map {
        /// Name of the map.
        map: &'static str,
        /// What aya said.
        source: Box<MapError>,
    },
    /// A program could not be loaded, attached or run.
    #[error("program `{program}`: {}", chain(.source))]
    Program {
        /// Name of the program.
        program: &'static str,
        /// What aya said.
        source: Box<ProgramError>,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, on what.
        what: String,
        /// The errno.
        source: io::Error,
    },
}

/// An error and its causes in one line.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// The first operating system error among an error's causes.
pub(super) fn errno(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return io.raw_os_error();
        }
        cause = error.source();
    }
    None
}
