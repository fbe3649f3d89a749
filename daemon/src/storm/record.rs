//! The record of one storm, as logs, metrics and the API tell it.

use std::time::SystemTime;

use serde::{Serialize, Serializer};

use super::{FreelistUse, Kind};
use crate::{
    identity::{MapId, MapType},
    snapshot::Snapshot,
};

/// A storm: on which map, since when, how hard, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Storm {
    /// What it is about.
    pub kind: Kind,
    /// Id of the map.
    pub map_id: MapId,
    /// Its name, printable.
    pub map_name: String,
    /// Its type; serialized as bpftool names it.
    #[serde(serialize_with = "map_type")]
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
    /// Share of `max_entries` in use in the last window, 0 to 1; `None` where unknown.
    pub fill: Option<f64>,
    /// What the refused updates do to the free lists.
    pub freelist: FreelistUse,
    /// What to do.
    pub advice: Advice,
}

impl Storm {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// Number of the window.
    pub window: u64,
    /// Wall clock of its snapshot; serialized as RFC 3339 in UTC.
    #[serde(serialize_with = "time")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// When.
    #[serde(flatten)]
    pub at: Moment,
    /// Why.
    pub end: End,
}

/// Why a storm ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It was calm for `--storm-close-windows`.
    Calm,
    /// The map is gone, or its id is another map's now.
    MapGone,
}

impl End {
    /// The word for it in logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::MapGone => "map_gone",
        }
    }
}

/// One line of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What to do.
    pub action: &'static str,
    /// Why.
    pub reason: &'static str,
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

fn map_type<S: Serializer>(kind: &MapType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&kind.label())
}

fn time<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(&humantime::format_rfc3339_millis(*time)),
        None => serializer.serialize_none(),
    }
}
