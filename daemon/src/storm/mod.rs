//! Storms: sustained fights over one map, found by comparing two snapshots. Pure but for [`log_event`].
//!
//! A kind of storm is a variant of [`Kind`], a file of its own that reads a [`Change`] into a
//! reading, and one arm in `Kind::read`; the detector, the record and every exporter follow.

mod calm;
mod change;
mod contention;
mod detector;
mod evidence;
mod excess;
mod freelist;
mod kinds;
mod ledger;
mod log;
mod record;
mod severity;
mod text;
mod thresholds;

#[cfg(test)]
mod examples;
#[cfg(test)]
mod fights;
#[cfg(test)]
mod properties;

pub use change::Change;
pub use detector::Detector;
pub use evidence::{Evidence, LatencyShift, ToldBy, Waited};
pub use freelist::FreelistUse;
pub use kinds::Kind;
pub use ledger::{Board, CLOSED_KEPT};
pub use log::log_event;
pub use record::{Advice, CALLERS_TOLD, Closed, End, Moment, Storm, StormEvent};
pub use severity::Severity;
pub use thresholds::{ContentionThresholds, FullThresholds, Scale, SeverityThresholds, Thresholds};

use kinds::Level;
