//! How fast things go on every map, over about the last second.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::Tally;
use crate::{identity::MapId, snapshot::Snapshot};

/// How far back rates look: a window alone is too short to read.
const SPAN: Duration = Duration::from_secs(1);

/// Per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Finished operations.
    pub operations: f64,
    /// Finished updates.
    pub updates: f64,
    /// Refused operations.
    pub rejects: f64,
    /// CPU time that operations took, seconds; `None` where none was timed.
    pub busy: Option<f64>,
}

/// How fast things go on every map. Only those on which something happened are kept: on the others, all
/// is still.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    maps: BTreeMap<MapId, Rate>,
    known: bool,
}

/// The snapshots of the last second, the oldest first.
#[derive(Debug, Default)]
pub struct Recent(VecDeque<Arc<Snapshot>>);

impl Pace {
    /// How fast it goes on the map; `None` before there are two samples.
    pub fn of(&self, map: MapId) -> Option<Rate> {
        let known = self.known.then(Rate::default);
        self.maps.get(&map).copied().or(known)
    }
}

impl Recent {
    /// Takes the newest snapshot, and says how fast things have gone since the oldest.
    pub fn advance(&mut self, now: Arc<Snapshot>) -> Pace {
        let windows = SPAN.div_duration_f64(now.elapsed.max(Duration::from_millis(1)));
        while self.0.len() > windows.round() as usize {
            self.0.pop_front();
        }
        let elapsed: Duration = { self.0.iter().skip(1) }
            .chain([&now])
            .map(|snapshot| snapshot.elapsed)
            .sum();
        let pace = match self.0.front() {
            Some(before) if !elapsed.is_zero() => pace(before, &now, elapsed),
            _ => Pace::default(),
        };
        self.0.push_back(now);
        pace
    }
}

fn pace(before: &Snapshot, now: &Snapshot, elapsed: Duration) -> Pace {
    let moved = now.maps.iter().filter_map(|(&id, map)| {
        let earlier = before.maps.get(&id);
        if earlier.is_some_and(|earlier| Arc::ptr_eq(earlier, map)) {
            return None;
        }
        let tally = Tally::between(earlier.map(|earlier| &**earlier), map);
        (tally.operations > 0).then(|| (id, tally.rate(elapsed)))
    });
    Pace {
        maps: moved.collect(),
        known: true,
    }
}
