//! mapstorm watches BPF maps on a live Linux host: how long operations on them take, whether they
//! are full, and when many CPUs fight over one.
//!
//! The middle is pure ([`plan`], [`fold`], [`snapshot`], [`storm`], [`identity`], [`who`]); effects are at the rim, each big
//! dependency used by one room only: `kernel` (aya), [`metrics`] (prometheus), [`http`] (axum), [`symbols`]
//! (blazesym), [`client`] (ureq), [`top`] (ratatui), [`history`] (redb).

pub mod api;
pub mod bench;
pub mod build_info;
pub mod busiest;
pub mod cgroups;
pub mod cli;
pub mod client;
pub mod config;
pub mod coverage;
pub mod departed;
pub mod doctor;
pub mod drill;
pub mod facts;
pub mod fill;
pub mod fold;
pub mod history;
pub mod http;
pub mod identity;
pub mod kernel;
pub mod logging;
pub mod maps;
pub mod memory;
pub mod metrics;
pub mod motion;
pub mod notify;
pub mod occupancy;
pub mod plan;
pub mod pops;
pub mod preflight;
pub mod probes;
pub mod publisher;
pub mod require;
pub mod sampler;
pub mod selection;
pub mod serve;
pub mod signals;
pub mod snapshot;
pub mod storm;
pub mod symbols;
pub mod terminal;
pub mod top;
pub mod units;
pub mod view;
pub mod who;
mod work;
