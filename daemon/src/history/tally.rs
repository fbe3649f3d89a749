//! What became of records, counted for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// What became of a storm's record; the label `outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is on disk.
    Written,
    /// It could not be written: it is tried again.
    Failed,
    /// Too many waited already.
    Dropped,
}

impl Outcome {
    /// How many there are.
    pub const COUNT: usize = 3;

    /// All, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [Self::Written, Self::Failed, Self::Dropped];

    /// Value of the label `outcome`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

/// Records by [`Outcome`].
#[derive(Debug, Default)]
pub struct Tally([AtomicU64; Outcome::COUNT]);

impl Tally {
    /// Counts `n` records.
    pub(super) fn add(&self, outcome: Outcome, n: usize) {
        self.0[outcome as usize].fetch_add(n as u64, Ordering::Relaxed);
    }

    /// How many there were so far.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize].load(Ordering::Relaxed)
    }
}
