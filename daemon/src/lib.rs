//! mapstorm watches BPF maps on a live Linux host: how long operations on them take, whether they
//! are full, and when many CPUs fight over one.
//!
//! The middle is pure ([`snapshot`], [`storm`], [`identity`]); effects are at the rim, each big
//! dependency used by one room only: `kernel` (aya), [`metrics`] (prometheus), [`http`] (axum).

pub mod facts;
pub mod identity;
pub mod probes;
pub mod snapshot;
pub mod storm;
