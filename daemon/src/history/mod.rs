//! Storms past, on disk: what `--state-dir` is for, so that a restart forgets nothing.
//!
//! The sampler hands the news to a [`Recorder`] and goes on; a [`Keeper`] writes them on a thread of its own. Each
//! storm has one place in between, and its newest state takes the place of an older one, so what waits is bounded
//! and a slow disk costs nothing but time. [`Store`] is the only user of redb.

mod entry;
mod error;
mod keeper;
mod shelf;
mod store;
mod tally;

pub use entry::{Entry, Key};
pub use error::HistoryError;
pub use keeper::{Batch, CAPACITY, Keeper, Recorder, UPDATE_WINDOWS};
pub use store::{Limits, Past, Store};
pub use tally::{Outcome, Tally};
