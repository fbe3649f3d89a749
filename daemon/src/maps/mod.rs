//! `mapstorm maps`: every map of a host, as a table or as JSON, by its daemon or by the kernel itself.

pub mod columns;
#[cfg(test)]
pub(crate) mod examples;
mod local;
mod text;

use std::io;

use crate::{
    api::MapList,
    client::{ClientError, Daemon},
    config::{Ask, MapsConfig},
    facts,
    preflight::PreflightError,
    probes::ProbeStatus,
    serve,
};

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum MapsError {
    /// The daemon cannot be asked.
    #[error(
        "{0}; is a daemon running (mapstorm serve), and is --url its address? --local asks the kernel"
    )]
    Daemon(#[from] ClientError),
    /// mapstorm cannot work on this machine.
    #[error(transparent)]
    Machine(#[from] facts::KernelError),
    /// Nothing could be tried.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The kernel does not tell its maps.
    #[error("the kernel does not tell its maps:{}", serve::reasons(.0))]
    Blind(Vec<ProbeStatus>),
    /// It began to, and failed.
    #[error("reading the kernel's list of maps: {0}")]
    List(io::Error),
    /// The question makes no sense.
    #[error("{0}")]
    Question(String),
}

/// The maps that are asked for.
///
/// # Errors
/// When whoever is asked does not tell.
pub fn list(config: &MapsConfig) -> Result<MapList, MapsError> {
    match &config.ask {
        Ask::Daemon(target) => Ok(Daemon::at(target.clone()).maps(&config.question)?),
        Ask::Kernel => local::list(&config.question),
    }
}

/// The list as a table, in colours or without.
pub fn text(list: &MapList, colour: bool) -> String {
    text::table(list, colour)
}
