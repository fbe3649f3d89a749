//! Tells receivers of alerts about storms: opened, still there, closed, in the format of Alertmanager's v2 API.
//!
//! A receiver reads the published views like every other reader, so the sampler never waits for one; what a dead
//! one has not been told is bounded, and the newest state of a storm takes the place of an older one.

mod alert;
mod outbox;
mod patience;
mod receiver;
mod tally;

use std::time::Duration;

use crate::client::Target;

pub use alert::{Alert, Source};
pub use outbox::{BATCH, CAPACITY, Outbox, Sent, Ticket};
pub use patience::Patience;
pub use receiver::{Recipient, TIMEOUT};
pub use tally::{Outcome, Tally};

/// Where alerts go when a URL names no path.
pub const ALERTS_PATH: &str = "/api/v2/alerts";

/// Who is told of storms, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyConfig {
    /// Where alerts are posted to.
    pub targets: Vec<Target>,
    /// How often an open storm is told again; a receiver that hears nothing for [`Self::SILENCES`] of these takes it
    /// for over.
    pub interval: Duration,
}

impl NotifyConfig {
    /// Least and most time between two alerts about one storm.
    pub const INTERVALS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3600)];
    /// Intervals after which an alert ends by itself: two may fail.
    pub const SILENCES: u32 = 3;
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            interval: Duration::from_secs(60),
        }
    }
}
