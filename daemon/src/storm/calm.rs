//! How long operations on each map take while nobody is in anybody's way: learnt from calm windows
//! only, so that a storm never becomes the custom.
//!
//! A median is taken down quickly and up slowly. A shorter one is nearer to what the operation costs
//! alone; a longer one may be the begin of a fight that is still too small to be one, and must last
//! for some seconds before it is believed.

use std::collections::BTreeMap;

use mapstorm_abi::Op;

use super::Change;
use crate::{identity::MapId, snapshot::Durations};

/// Calls of a window below which its median says nothing: a few that had their CPU taken away in the
/// middle would make it.
pub(super) const ENOUGH: u64 = 32;
/// Share of a longer median that is believed at once.
const UP: f64 = 1.0 / 16.0;
/// The same of a shorter one.
const DOWN: f64 = 0.5;

/// What a map is like in calm; a few numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Calm {
    /// Medians by operation, nanoseconds.
    medians: BTreeMap<Op, f64>,
    /// That of pops.
    pop: Option<f64>,
}

/// All maps that were seen calm and are still there.
#[derive(Clone, Debug, Default)]
pub(super) struct Customs {
    maps: BTreeMap<MapId, Calm>,
}

impl Customs {
    /// What is known of a map.
    pub(super) fn of(&self, map: MapId) -> Option<&Calm> {
        self.maps.get(&map)
    }

    /// Learns from a window that was calm.
    pub(super) fn learn(&mut self, change: &Change<'_>) {
        let ops = change.timed().filter(|(_, durations)| is_enough(durations));
        for (op, durations) in ops {
            let calm = self.maps.entry(change.id).or_default();
            if let Some(median) = durations.median_ns() {
                let known = calm.medians.entry(op).or_insert(median);
                *known = nearer(*known, median);
            }
        }
        let pops = change.pops().filter(is_enough);
        if let Some(median) = pops.and_then(|pops| pops.median_ns()) {
            let known = self.maps.entry(change.id).or_default();
            known.pop = Some(known.pop.map_or(median, |known| nearer(known, median)));
        }
    }

    /// Forgets maps that are gone: no more is kept than there are maps.
    pub(super) fn forget(&mut self, gone: impl Fn(MapId) -> bool) {
        self.maps.retain(|&map, _| !gone(map));
    }
}

impl Calm {
    /// The calm median of an operation, nanoseconds.
    pub(super) fn median(&self, op: Op) -> Option<f64> {
        self.medians.get(&op).copied()
    }

    /// The calm median of a pop, nanoseconds.
    pub(super) fn pop(&self) -> Option<f64> {
        self.pop
    }
}

/// Are these enough calls to take a median of?
pub(super) fn is_enough(durations: &Durations) -> bool {
    durations.count() >= ENOUGH
}

/// `known`, moved towards `median`.
fn nearer(known: f64, median: f64) -> f64 {
    let step = if median < known { DOWN } else { UP };
    known + step * (median - known)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::change::tests::timed;
    use super::*;

    fn learnt(windows: &[(u64, u64)]) -> Option<f64> {
        let mut customs = Customs::default();
        for &(ns, calls) in windows {
            let map = timed(&[(0, ns, calls)]);
            let change = Change::new(7, None, &map, Duration::from_millis(250)).unwrap();
            customs.learn(&change);
        }
        customs.of(7).and_then(|calm| calm.median(Op::Update))
    }

    #[test]
    fn a_few_calls_teach_nothing() {
        assert_eq!(learnt(&[(1000, ENOUGH - 1)]), None);
        assert!(learnt(&[(1000, ENOUGH)]).is_some_and(|ns| (800.0..1200.0).contains(&ns)));
    }

    #[test]
    fn shorter_is_believed_soon_and_longer_late() {
        let known = learnt(&[(1000, 100)]).unwrap();
        let down = learnt(&[(1000, 100), (500, 100)]).unwrap();
        let up = learnt(&[(1000, 100), (2000, 100)]).unwrap();
        assert!(
            down < 0.8 * known && up < 1.1 * known && up > known,
            "{down} {known} {up}"
        );
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let mut customs = Customs::default();
        let map = timed(&[(0, 500, 100)]);
        for id in [7, 8] {
            customs.learn(&Change::new(id, None, &map, Duration::from_secs(1)).unwrap());
        }
        customs.forget(|id| id == 7);
        assert!(customs.of(7).is_none() && customs.of(8).is_some());
    }
}
