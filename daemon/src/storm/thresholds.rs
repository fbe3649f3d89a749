//! What counts as evidence, and for how long it must hold: every number here is a flag.

use std::time::Duration;

/// Thresholds of all kinds, and the hysteresis that they share.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Kind `full`.
    pub full: FullThresholds,
    /// Kind `alloc`: updates per second that one map refuses for want of memory; above 0. Below half
    /// of it a window is calm.
    pub alloc_rejects_per_second: f64,
    /// Kind `lru`: the same, of an LRU map.
    pub lru_rejects_per_second: f64,
    /// Kinds `freelist`, `hot_bucket` and `lru`.
    pub contention: ContentionThresholds,
    /// From where on a storm is more than minor.
    pub severity: SeverityThresholds,
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

/// When time that CPUs lose to each other on one map is evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentionThresholds {
    /// Time lost by all CPUs together, as a share of one CPU; above 0. Below half of it a window is
    /// calm.
    pub cpu_ratio: f64,
    /// CPUs that must lose some; at least 2.
    pub cpus: u32,
    /// Share of the operations that must wait before waits count as lost, above 0 and up to 1; from half
    /// of it on they keep a storm open.
    pub waits_ratio: f64,
    /// The mean wait above which waits do not count: a lock's holder had its CPU taken away.
    pub mean_wait: Duration,
    /// How many times its calm median an operation's median must be before what is above counts as
    /// lost; above 1.
    pub latency_shift: f64,
    /// How many times the map's calm median the median of one CPU's operations must be before that CPU
    /// counts as starved by the others, whatever theirs is; above 1.
    pub starved_shift: f64,
    /// What stands in for the calm median of an operation that was never seen calm.
    pub calm_latency: Duration,
}

/// From where on a storm is major, and from where on critical; either number is enough.
#[derive(Clone, Debug, PartialEq)]
pub struct SeverityThresholds {
    /// Major.
    pub major: Scale,
    /// Critical.
    pub critical: Scale,
}

/// How large a storm is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// CPUs involved.
    pub cpus: u32,
    /// CPU time burnt, seconds per second.
    pub cpu_seconds_per_second: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            full: FullThresholds::default(),
            alloc_rejects_per_second: 1000.0,
            lru_rejects_per_second: 1000.0,
            contention: ContentionThresholds::default(),
            severity: SeverityThresholds::default(),
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

impl Default for ContentionThresholds {
    fn default() -> Self {
        Self {
            cpu_ratio: 0.05,
            cpus: 2,
            waits_ratio: 0.001,
            mean_wait: Duration::from_millis(1),
            latency_shift: 3.0,
            starved_shift: 16.0,
            calm_latency: Duration::from_micros(20),
        }
    }
}

impl Default for SeverityThresholds {
    fn default() -> Self {
        Self {
            major: Scale {
                cpus: 8,
                cpu_seconds_per_second: 0.5,
            },
            critical: Scale {
                cpus: 32,
                cpu_seconds_per_second: 4.0,
            },
        }
    }
}
