//! Storms: sustained fights over one map, found by comparing two snapshots. Pure but for [`log_event`].
//!
//! A kind of storm is a variant of [`Kind`], a file of its own that reads a [`Change`] into a
//! [`Reading`], and one arm in `Kind::read`; the detector, the record and every exporter follow.

mod change;
mod detector;
mod freelist;
mod full;
mod ledger;
mod log;
mod record;
mod thresholds;

#[cfg(test)]
mod examples;
#[cfg(test)]
mod properties;

pub use change::Change;
pub use detector::Detector;
pub use freelist::FreelistUse;
pub use ledger::{Board, CLOSED_KEPT};
pub use log::log_event;
pub use record::{Advice, Closed, End, Moment, Storm, StormEvent};
pub use thresholds::{FullThresholds, Thresholds};

use serde::Serialize;

/// What a storm is about; the label `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Updates refused because the map is full.
    Full,
}

impl Kind {
    /// How many kinds there are.
    pub const COUNT: usize = 1;

    /// All kinds, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [Self::Full];

    /// Value of the label `kind`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
        }
    }

    /// Reads one map's window for evidence of this kind.
    fn read(self, thresholds: &Thresholds, change: &Change<'_>) -> Reading {
        match self {
            Self::Full => full::read(&thresholds.full, change),
        }
    }

    /// What to do about a storm of this kind, and why.
    fn advice(self, freelist: FreelistUse) -> Advice {
        match self {
            Self::Full => full::advice(freelist),
        }
    }
}

/// What one window says about one kind of storm on one map.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    /// How the window weighs.
    level: Level,
    /// Refused updates of this kind in the window.
    rejects: u64,
    /// The same per second.
    rejects_per_second: f64,
    /// CPUs that such updates were refused on.
    cpus: u32,
}

/// How a window weighs: the two thresholds of the hysteresis make three levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Below half the threshold.
    Calm,
    /// Neither: it opens nothing and closes nothing.
    Between,
    /// The evidence holds.
    Storm,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_index_order_and_serialize_as_their_label() {
        for (i, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, i);
            let json = serde_json::to_string(kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.label()));
        }
    }
}
