//! What a storm is believed for: numbers, and the same in one line.

use std::{borrow::Cow, fmt::Write as _};

use serde::{Deserialize, Serialize};

/// The evidence of a storm's newest window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// In one line.
    pub text: String,
    /// What tells it.
    pub told_by: ToldBy,
    /// How the medians of durations have shifted; `None` where too few calls were timed.
    pub latency: Option<LatencyShift>,
    /// Time waited for the map's locks; `None` where no wait was seen.
    pub waited: Option<Waited>,
    /// Time that operations took longer than in calm, CPU-seconds per second; `None` where that is not
    /// known.
    pub excess_cpu_seconds_per_second: Option<f64>,
}

/// What tells of a storm and of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldBy {
    /// Updates that were refused.
    #[default]
    Refusals,
    /// Waits for locks, by the lock.
    LockWaits,
    /// Operations that took longer, and whether it was the pops in them.
    PopDurations,
    /// Operations that took longer; at which lock cannot be told.
    Durations,
}

impl ToldBy {
    /// The word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Refusals => "refusals",
            Self::LockWaits => "lock_waits",
            Self::PopDurations => "pop_durations",
            Self::Durations => "durations",
        }
    }
}

/// A median of one window beside the map's own in calm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyShift {
    /// The operation, as the label `op` has it.
    pub op: Cow<'static, str>,
    /// Median of the window, nanoseconds.
    pub median_ns: u64,
    /// Median in calm, nanoseconds.
    pub calm_ns: u64,
    /// Was that learnt from calm windows of this map? Else it is `--storm-calm-latency`.
    pub calm_is_learnt: bool,
    /// How many times the one the other is.
    pub ratio: f64,
    /// CPUs that others starve, where the median is of their operations only, and at least so long.
    #[serde(default)]
    pub starved_cpus: Option<u32>,
}

/// Time waited for locks by their place, CPU-seconds per second. An undercount: of those who wait for
/// a lock the kernel does not report the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waited {
    /// Of buckets.
    pub bucket: f64,
    /// Of free lists.
    pub freelist: f64,
    /// Of lists of least recently used elements.
    pub lru: f64,
    /// Share of the operations that waited, 0 to 1; as much an undercount.
    pub share: f64,
}

impl Waited {
    /// All of it.
    pub fn all(&self) -> f64 {
        self.bucket + self.freelist + self.lru
    }
}

impl Evidence {
    /// Refused updates: `4 CPUs had 2000 updates a second refused`, and why.
    pub(super) fn of_refusals(cpus: u32, per_second: f64, why: &str) -> Self {
        let cpus = count(cpus);
        Self {
            text: format!("{cpus} had {per_second:.0} updates a second refused: {why}"),
            ..Self::default()
        }
    }

    /// Time lost by CPUs to each other: what is known of it follows.
    pub(super) fn of_contention(cpus: u32, cpu_seconds: f64) -> Self {
        let cpus = count(cpus);
        Self {
            text: format!("{cpus} lost {cpu_seconds:.2} CPU-seconds a second to each other"),
            ..Self::default()
        }
    }

    /// Adds what is known of durations.
    pub(super) fn with_latency(mut self, latency: Option<LatencyShift>) -> Self {
        if let Some(latency) = &latency {
            let LatencyShift { op, ratio, .. } = latency;
            let [median, calm] = [latency.median_ns, latency.calm_ns].map(time);
            let known = if latency.calm_is_learnt {
                "its calm"
            } else {
                "the assumed"
            };
            let whose = match latency.starved_cpus {
                Some(cpus) => format!(" or more on {}", count(cpus)),
                None => String::new(),
            };
            self.add(&format!(
                "median {op} {median}{whose}, {ratio:.1} times {known} {calm}"
            ));
        }
        self.latency = latency;
        self
    }

    /// Adds the waits that were seen.
    pub(super) fn with_waits(mut self, waited: Option<Waited>) -> Self {
        if let Some(waited) = &waited {
            let places = [
                ("bucket", waited.bucket),
                ("free-list", waited.freelist),
                ("LRU-list", waited.lru),
            ];
            for (place, seconds) in places.into_iter().filter(|(_, seconds)| *seconds > 0.0) {
                self.add(&format!("{seconds:.3} s a second waited for {place} locks"));
            }
            let percent = 100.0 * waited.share;
            self.add(&format!("{percent:.2} % of the operations waited"));
        }
        self.waited = waited;
        self
    }

    /// Adds words.
    pub(super) fn add(&mut self, words: &str) {
        // Writing to a string cannot fail.
        let _written = write!(self.text, "; {words}");
    }
}

fn count(cpus: u32) -> String {
    match cpus {
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    }
}

/// Nanoseconds as people say them.
fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        _ if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_has_all_that_is_known() {
        let waited = Waited {
            bucket: 1.25,
            freelist: 0.0,
            lru: 0.004,
            share: 0.0125,
        };
        let latency = LatencyShift {
            op: "update".into(),
            median_ns: 41_200,
            calm_ns: 980,
            calm_is_learnt: true,
            ratio: 42.04,
            starved_cpus: None,
        };
        let starved = LatencyShift {
            starved_cpus: Some(3),
            ..latency.clone()
        };
        let evidence = Evidence::of_contention(4, 1.5)
            .with_latency(Some(latency))
            .with_waits(Some(waited));
        assert_eq!(
            evidence.text,
            "4 CPUs lost 1.50 CPU-seconds a second to each other; median update 41.2 µs, 42.0 times \
             its calm 980 ns; 1.250 s a second waited for bucket locks; 0.004 s a second waited for \
             LRU-list locks; 1.25 % of the operations waited"
        );
        let starved = Evidence::default().with_latency(Some(starved));
        assert_eq!(
            starved.text,
            "; median update 41.2 µs or more on 3 CPUs, 42.0 times its calm 980 ns"
        );
        let refused = Evidence::of_refusals(1, 1999.6, "the map is full");
        assert_eq!(
            refused.text,
            "1 CPU had 2000 updates a second refused: the map is full"
        );
    }

    #[test]
    fn it_comes_back_from_json_as_it_went() {
        let evidence = Evidence {
            told_by: ToldBy::PopDurations,
            ..Evidence::of_contention(2, 0.1)
        };
        let json = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&json).unwrap(), evidence);
    }
}
