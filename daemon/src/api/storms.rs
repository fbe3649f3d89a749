//! `/api/v1/storms`: what is on now, and what was.

use std::collections::BTreeMap;

use mapstorm_abi::LockClass;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Caller;
use crate::storm;

/// Storms that match the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StormList {
    /// Number of the sample window that this is the state after.
    pub window: u64,
    /// Open storms, by map id.
    pub active: Vec<Storm>,
    /// Closed storms, the newest first.
    pub closed: Vec<Storm>,
    /// Closed storms that match and are remembered, told or not.
    pub closed_total: usize,
    /// Storms opened since the daemon started, by kind; those of earlier runs are not in it.
    pub totals: BTreeMap<String, u64>,
}

/// Kinds of storms that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StormKind {
    /// The map is full.
    Full,
    /// There is no memory for new elements.
    Alloc,
    /// CPUs fight for free elements.
    Freelist,
    /// CPUs fight for the lists of an LRU map.
    Lru,
    /// CPUs fight for one bucket.
    HotBucket,
}

impl From<storm::Kind> for StormKind {
    fn from(kind: storm::Kind) -> Self {
        match kind {
            storm::Kind::Full => Self::Full,
            storm::Kind::Alloc => Self::Alloc,
            storm::Kind::Freelist => Self::Freelist,
            storm::Kind::Lru => Self::Lru,
            storm::Kind::HotBucket => Self::HotBucket,
        }
    }
}

/// A storm: on which map, since when, how hard, by whom, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Storm {
    /// What it is about: `full`, …
    pub kind: String,
    /// Id of the map.
    pub map_id: u32,
    /// Its name, printable.
    pub map_name: String,
    /// Its type, as bpftool names it.
    pub map_type: String,
    /// First window of the evidence that opened it.
    pub since_window: u64,
    /// When it opened.
    pub opened: Moment,
    /// When and why it closed; `null` while it is open.
    pub closed: Option<StormEnd>,
    /// How bad it is, in a word; absent where that is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// What it was recognised by, in a line; absent where the figures below say it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The same in figures.
    #[serde(default)]
    pub measured: Measured,
    /// Refused updates per second in the last window.
    pub rejects_per_second: f64,
    /// The most in any window.
    pub peak_rejects_per_second: f64,
    /// CPUs involved in the last window.
    pub cpus: u32,
    /// The most in any window.
    pub peak_cpus: u32,
    /// Refused updates since the first window of the evidence.
    pub rejects: u64,
    /// CPU time burnt in the last window, seconds per second: by refused updates all that they took, in a
    /// fight what CPUs lost to each other. `null` where no time is measured.
    #[serde(default)]
    pub cpu_seconds_per_second: Option<f64>,
    /// The most in any window.
    #[serde(default)]
    pub peak_cpu_seconds_per_second: Option<f64>,
    /// Share of `max_entries` in use in the last window, 0 to 1; `null` where unknown.
    pub fill: Option<f64>,
    /// What the refused updates do to the kernel's free lists.
    pub freelist: String,
    /// Who called most lately, as far as it was sampled, the heaviest first.
    pub callers: Vec<Caller>,
    /// What to do.
    pub advice: Advice,
}

/// What a storm was recognised by, in figures; `null` is what was not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Measured {
    /// What tells of it: `refusals`, `lock_waits`, `pop_durations`, `durations`.
    pub told_by: String,
    /// How the median of an operation's durations has shifted.
    pub latency: Option<LatencyShift>,
    /// Time waited for the map's locks, CPU-seconds per second, by the lock's place. An undercount: of those
    /// who wait for a lock the kernel does not report the first.
    pub waited: Option<BTreeMap<String, f64>>,
    /// Time that operations took longer than in calm, CPU-seconds per second.
    pub excess_cpu_seconds_per_second: Option<f64>,
}

/// A median of the newest window beside the map's own in calm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LatencyShift {
    /// The operation.
    pub op: String,
    /// Median of the window, nanoseconds.
    pub median_ns: u64,
    /// Median in calm, nanoseconds.
    pub calm_ns: u64,
    /// Whether that was learnt from calm windows of this map; else it is assumed.
    pub calm_is_learnt: bool,
    /// How many times the one the other is.
    pub ratio: f64,
    /// CPUs that others starve, where the median is of their operations only, and at least so long.
    pub starved_cpus: Option<u32>,
}

/// The end of a sample window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Moment {
    /// Number of the window.
    pub window: u64,
    /// When it ended, RFC 3339; `null` where unknown.
    pub time: Option<String>,
}

/// How a storm ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StormEnd {
    /// Number of the window.
    pub window: u64,
    /// When it ended, RFC 3339; `null` where unknown.
    pub time: Option<String>,
    /// Why: `calm`, `map_gone`, `daemon_stopped` (it was open when the daemon ended; what came after, nobody saw).
    pub end: String,
}

/// One line of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Advice {
    /// What to do.
    pub action: String,
    /// Why.
    pub reason: String,
}

impl From<&storm::Storm> for Storm {
    fn from(storm: &storm::Storm) -> Self {
        let closed = storm.closed.as_ref();
        Self {
            kind: storm.kind.label().to_owned(),
            map_id: storm.map_id,
            map_name: storm.map_name.clone(),
            map_type: storm.map_type.label().into_owned(),
            since_window: storm.since_window,
            opened: (&storm.opened).into(),
            closed: closed.map(StormEnd::from),
            severity: Some(storm.severity.label().to_owned()),
            evidence: Some(storm.evidence.text.clone()),
            measured: (&storm.evidence).into(),
            rejects_per_second: storm.rejects_per_second,
            peak_rejects_per_second: storm.peak_rejects_per_second,
            cpus: storm.cpus,
            peak_cpus: storm.peak_cpus,
            rejects: storm.rejects,
            cpu_seconds_per_second: storm.cpu_seconds_per_second,
            peak_cpu_seconds_per_second: storm.peak_cpu_seconds_per_second,
            fill: storm.fill,
            freelist: storm.freelist.label().to_owned(),
            callers: storm.callers.iter().map(Caller::of).collect(),
            advice: Advice {
                action: storm.advice.action.to_string(),
                reason: storm.advice.reason.to_string(),
            },
        }
    }
}

impl From<&storm::Evidence> for Measured {
    fn from(evidence: &storm::Evidence) -> Self {
        let places = |waited: &storm::Waited| {
            [
                (LockClass::Bucket, waited.bucket),
                (LockClass::Freelist, waited.freelist),
                (LockClass::Lru, waited.lru),
            ]
            .map(|(place, seconds)| (place.label().to_owned(), seconds))
            .into()
        };
        Self {
            told_by: evidence.told_by.label().to_owned(),
            latency: evidence.latency.as_ref().map(|latency| LatencyShift {
                op: latency.op.to_string(),
                median_ns: latency.median_ns,
                calm_ns: latency.calm_ns,
                calm_is_learnt: latency.calm_is_learnt,
                ratio: latency.ratio,
                starved_cpus: latency.starved_cpus,
            }),
            waited: evidence.waited.as_ref().map(places),
            excess_cpu_seconds_per_second: evidence.excess_cpu_seconds_per_second,
        }
    }
}

impl From<&storm::Moment> for Moment {
    fn from(moment: &storm::Moment) -> Self {
        Self {
            window: moment.window,
            time: moment.time.map(super::rfc3339),
        }
    }
}

impl From<&storm::Closed> for StormEnd {
    fn from(closed: &storm::Closed) -> Self {
        let Moment { window, time } = (&closed.at).into();
        Self {
            window,
            time,
            end: closed.end.label().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_asked_for_by_the_words_they_are_told_by() {
        for kind in storm::Kind::ALL {
            let word = serde_json::to_value(StormKind::from(kind)).unwrap();
            assert_eq!(word, kind.label());
        }
    }
}
