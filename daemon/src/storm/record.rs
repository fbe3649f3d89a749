//! The record of one storm, as logs, metrics and the API tell it.

use std::{borrow::Cow, time::SystemTime};

use serde::{Deserialize, Serialize};

use super::{Evidence, FreelistUse, Kind, Severity, text};
use crate::{
    identity::{MapId, MapType},
    snapshot::Snapshot,
    who::TopCaller,
};

/// A storm: on which map, since when, how hard, and what to do about it. Its JSON is what `--state-dir` keeps:
/// a field that comes later needs a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storm {
    /// What it is about.
    pub kind: Kind,
    /// How bad it is; of an open storm, how bad it has been so far.
    pub severity: Severity,
    /// Id of the map.
    pub map_id: MapId,
    /// Its name, printable.
    pub map_name: String,
    /// Its type; serialized as bpftool names it.
    #[serde(with = "text::map_type")]
    pub map_type: MapType,
    /// First window of the evidence that opened it.
    pub since_window: u64,
    /// When it opened: `--storm-open-windows` later.
    pub opened: Moment,
    /// When and why it closed; `None` while it is open.
    pub closed: Option<Closed>,
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
    /// CPU time burnt in the last window, seconds per second: by refused updates all that they took, in
    /// a fight what CPUs lost to each other. `None` where no time is measured.
    pub cpu_seconds_per_second: Option<f64>,
    /// The most in any window.
    pub peak_cpu_seconds_per_second: Option<f64>,
    /// Share of `max_entries` in use in the last window, 0 to 1; `None` where unknown.
    pub fill: Option<f64>,
    /// What updates that find no free element do to the free lists.
    pub freelist: FreelistUse,
    /// What it is believed for, as of the newest window that was not calm.
    pub evidence: Evidence,
    /// Who called most lately, as far as it was sampled: [`CALLERS_TOLD`] at most.
    pub callers: Vec<TopCaller>,
    /// What to do.
    pub advice: Advice,
}

/// Callers that a storm's record tells.
pub const CALLERS_TOLD: usize = 3;

impl Storm {
    /// The callers in words: `program 21 "flows" 83 %`, the heaviest first; `unknown` when none
    /// was sampled.
    pub fn callers_text(&self) -> String {
        if self.callers.is_empty() {
            return "unknown".to_owned();
        }
        let callers = self.callers.iter().map(|top| {
            let percent = (100.0 * top.share).round();
            format!("{} {percent} %", top.caller.words())
        });
        callers.collect::<Vec<_>>().join(", ")
    }

    /// CPU time burnt in the last window, as text: a number, or `unknown`.
    pub fn cpu_seconds_text(&self) -> String {
        seconds_text(self.cpu_seconds_per_second)
    }

    /// The most in any window, likewise.
    pub fn peak_cpu_seconds_text(&self) -> String {
        seconds_text(self.peak_cpu_seconds_per_second)
    }

    /// Windows from the opening to the close; `None` while the storm is open.
    pub fn duration_windows(&self) -> Option<u64> {
        let closed = self.closed.as_ref()?;
        Some(closed.at.window.saturating_sub(self.opened.window))
    }

    /// The fill as text: a number of 0 to 1, or `unknown`.
    pub fn fill_text(&self) -> String {
        self.fill
            .map_or_else(|| "unknown".to_owned(), |fill| format!("{fill:.3}"))
    }
}

/// A window's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Number of the window.
    pub window: u64,
    /// Wall clock of its snapshot; serialized as RFC 3339 in UTC.
    #[serde(with = "text::time")]
    pub time: Option<SystemTime>,
}

impl Moment {
    /// The end of the window that `snapshot` ended.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            window: snapshot.window,
            time: snapshot.taken,
        }
    }

    /// The time as RFC 3339 in UTC, to the millisecond; empty where unknown.
    pub fn rfc3339(&self) -> String {
        self.time.map_or_else(String::new, |time| {
            humantime::format_rfc3339_millis(time).to_string()
        })
    }
}

/// How a storm ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// When.
    #[serde(flatten)]
    pub at: Moment,
    /// Why.
    pub end: End,
}

/// Why a storm ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It was calm for `--storm-close-windows`.
    Calm,
    /// The map is gone, or its id is another map's now.
    MapGone,
    /// The daemon ended while it was open: what became of it nobody saw.
    DaemonStopped,
}

impl End {
    /// The word for it in logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::MapGone => "map_gone",
            Self::DaemonStopped => "daemon_stopped",
        }
    }
}

/// One line of advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What to do.
    pub action: Cow<'static, str>,
    /// Why.
    pub reason: Cow<'static, str>,
}

impl Advice {
    /// This, for that reason.
    pub const fn new(action: &'static str, reason: &'static str) -> Self {
        Self {
            action: Cow::Borrowed(action),
            reason: Cow::Borrowed(reason),
        }
    }
}

/// What became of a storm in the window just observed.
#[derive(Clone, Debug, PartialEq)]
pub enum StormEvent {
    /// It opened.
    Opened(Storm),
    /// It closed.
    Closed(Storm),
}

impl StormEvent {
    /// The storm.
    pub fn storm(&self) -> &Storm {
        match self {
            Self::Opened(storm) | Self::Closed(storm) => storm,
        }
    }
}

fn seconds_text(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "unknown".to_owned(), |seconds| format!("{seconds:.3}"))
}
