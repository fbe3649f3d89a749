//! What became of alerts, counted for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// What became of one alert to one receiver; the label `outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it.
    Sent,
    /// The receiver was not reached, or had no time: it is tried again.
    Failed,
    /// The receiver does not want it (3xx, 4xx): it is not tried again.
    Refused,
    /// Too many waited already.
    Dropped,
}

impl Outcome {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// All, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [Self::Sent, Self::Failed, Self::Refused, Self::Dropped];

    /// Value of the label `outcome`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
        }
    }
}

/// Alerts to all receivers together, by [`Outcome`].
#[derive(Debug, Default)]
pub struct Tally([AtomicU64; Outcome::COUNT]);

impl Tally {
    /// Counts `n` alerts.
    pub fn add(&self, outcome: Outcome, n: usize) {
        self.0[outcome as usize].fetch_add(n as u64, Ordering::Relaxed);
    }

    /// How many there were so far.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize].load(Ordering::Relaxed)
    }
}
