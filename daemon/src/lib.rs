//! mapstorm watches BPF maps on a live Linux host: how long operations on them take, whether they
//! are full, and when many CPUs fight over one.
//!
//! The middle is pure ([`plan`], [`fold`], [`snapshot`], [`storm`], [`identity`]); effects are at the rim, each big
//! dependency used by one room only: `kernel` (aya), [`metrics`] (prometheus), [`http`] (axum).

pub mod build_info;
pub mod cli;
pub mod config;
pub mod coverage;
pub mod doctor;
pub mod drill;
pub mod facts;
pub mod fold;
pub mod http;
pub mod identity;
pub mod kernel;
pub mod logging;
pub mod metrics;
pub mod plan;
pub mod pops;
pub mod preflight;
pub mod probes;
pub mod publisher;
pub mod require;
pub mod sampler;
pub mod serve;
pub mod signals;
pub mod snapshot;
pub mod storm;
pub mod view;
