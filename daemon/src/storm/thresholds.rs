//! What counts as evidence, and for how long it must hold: every number here is a flag.

/// Thresholds of all kinds, and the hysteresis that they share.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Kind `full`.
    pub full: FullThresholds,
    /// Consecutive windows of evidence that open a storm; at least 1.
    pub open_windows: u32,
    /// Consecutive calm windows that close one; at least 1.
    pub close_windows: u32,
}

/// When updates refused by a full map are evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct FullThresholds {
    /// Refusals by exhaustion per second on one map; above 0. Below half of it a window is calm.
    pub rejects_per_second: f64,
    /// Share of `max_entries` in use, 0 to 1, where that is known. Below half of it a window is calm.
    pub fill_ratio: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            full: FullThresholds::default(),
            open_windows: 2,
            close_windows: 2,
        }
    }
}

impl Default for FullThresholds {
    fn default() -> Self {
        Self {
            rejects_per_second: 1000.0,
            fill_ratio: 0.9,
        }
    }
}
