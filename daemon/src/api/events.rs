//! `/api/v1/events`: what the page draws, as it happens.
//!
//! `hello` comes first, then the last minute in one `window` event each; from then on a `window` event
//! after each sample, or after some where samples are short, and a `storm` event when one opens or closes.
//! A reader that is too slow for that gets fewer, longer windows: nothing is left out of their sums.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Kernel, Phase, Rates, Storm};
use crate::{
    motion::{Motion, Moved},
    view::View,
};

/// Events by bucket, only those that are not 0: pairs of the bucket's index and the number of events. The
/// upper bound of a bucket is 2^(index/4 − 24) seconds; 121 is whatever is longer than 64 s.
pub type Sparse = Vec<(u8, u64)>;

/// Event `hello`: who speaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Hello {
    /// The daemon's version.
    pub version: String,
    /// The kernel it runs on.
    pub kernel: Kernel,
    /// When the daemon started, RFC 3339: another time is another daemon, whose windows count anew.
    pub started: String,
    /// Length of a sample window, seconds.
    pub sample_seconds: f64,
}

/// Event `window`: what happened in one sample window or in several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WindowFrame {
    /// Number of the last window.
    pub window: u64,
    /// How many windows it is the sum of.
    pub windows: u64,
    /// When the last one ended, RFC 3339; `null` before the first sample.
    pub time: Option<String>,
    /// How long they took together, seconds.
    pub seconds: f64,
    /// How far the daemon is.
    pub phase: Phase,
    /// Maps on the host.
    pub maps_total: usize,
    /// Maps on which something happened.
    pub maps_moved: usize,
    /// All maps together.
    pub host: HostFrame,
    /// The maps that cost most, and every map with an open storm.
    pub maps: Vec<MapFrame>,
    /// Freelist pops by the CPU they ran on, the busiest CPUs; empty where pops are not timed.
    pub cpus: Vec<CpuFrame>,
    /// Open storms; `null` in a window of the past.
    pub storms: Option<Vec<Storm>>,
}

/// What happened on all maps together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostFrame {
    /// How fast.
    pub rates: Rates,
    /// Durations of freelist pops; empty where none was timed.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub pop: Sparse,
    /// Durations of updates.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub update: Sparse,
}

/// What happened on one map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MapFrame {
    /// Its id.
    pub id: u32,
    /// Its name, printable.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Share of `max_entries` in use, 0 to 1, at the end; `null` where unknown.
    pub fill: Option<f64>,
    /// How fast.
    pub rates: Rates,
    /// Durations of its freelist pops; empty where none was timed.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub pop: Sparse,
    /// Durations of its updates.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub update: Sparse,
}

/// Pops on one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CpuFrame {
    /// The CPU.
    pub cpu: u32,
    /// Durations of freelist pops on it.
    #[schema(value_type = Vec<Vec<u64>>)]
    pub pop: Sparse,
}

/// Event `storm`: one opened or closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StormNews {
    /// `opened` or `closed`.
    pub what: String,
    /// The storm.
    pub storm: Storm,
}

impl Hello {
    /// What the view tells.
    pub fn of(view: &View) -> Self {
        Self {
            version: view.host.build.version.to_owned(),
            kernel: Kernel::of(view),
            started: super::rfc3339(view.host.started),
            sample_seconds: view.host.sample_interval.as_secs_f64(),
        }
    }
}

impl WindowFrame {
    /// What happened up to the view.
    pub fn now(view: &View, motion: &Motion) -> Self {
        let storms = view.storms.active.iter().map(Storm::from);
        let mut frame = Self::past(view, motion);
        for map in &mut frame.maps {
            let known = view.snapshot.maps.get(&map.id);
            map.fill = known.and_then(|known| known.fill());
        }
        frame.storms = Some(storms.collect());
        frame
    }

    /// What happened earlier. Only what counts say is told of the past: not how full a map was.
    pub fn past(view: &View, motion: &Motion) -> Self {
        let maps = motion.maps.iter().filter_map(|(&id, moved)| {
            let known = view.snapshot.maps.get(&id)?;
            Some(MapFrame {
                id,
                name: known.name.clone(),
                kind: known.kind.label().into_owned(),
                fill: None,
                rates: rates(motion, moved),
                pop: moved.pop.clone(),
                update: moved.update.clone(),
            })
        });
        let cpus = motion.cpus.iter().map(|(&cpu, pop)| CpuFrame {
            cpu,
            pop: pop.clone(),
        });
        Self {
            window: motion.window,
            windows: motion.windows,
            time: motion.taken.map(super::rfc3339),
            seconds: motion.elapsed.as_secs_f64(),
            phase: view.phase.into(),
            maps_total: view.snapshot.maps.len(),
            maps_moved: motion.moved,
            host: HostFrame {
                rates: rates(motion, &motion.host),
                pop: motion.host.pop.clone(),
                update: motion.host.update.clone(),
            },
            maps: maps.collect(),
            cpus: cpus.collect(),
            storms: None,
        }
    }
}

fn rates(motion: &Motion, moved: &Moved) -> Rates {
    if motion.elapsed.is_zero() {
        return Rates::default();
    }
    moved.tally.rate(motion.elapsed).into()
}
