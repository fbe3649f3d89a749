//! The few sequences of windows that everyone should know by heart.

use std::{sync::Arc, time::Duration};

use mapstorm_abi::{Op, Outcome};

use super::{
    CALLERS_TOLD, Detector, End, FreelistUse, Kind, StormEvent, Thresholds, change::tests::map,
};
use crate::{facts::FreelistGeneration, identity::MapId, snapshot::Snapshot};

pub(super) const WINDOW: Duration = Duration::from_millis(250);
/// Refusals per window of [`WINDOW`] that are exactly the default threshold, and exactly half.
pub(super) const STORM: u64 = 250;
pub(super) const HALF: u64 = 125;

/// A snapshot in which each map has been refused this often per CPU.
pub(super) fn snapshot(
    window: u64,
    elapsed: Duration,
    maps: &[(MapId, &[u64], Option<u64>)],
) -> Snapshot {
    let maps = maps
        .iter()
        .map(|&(id, cpus, entries)| (id, map(cpus, entries)));
    Snapshot {
        window,
        elapsed,
        maps: maps.map(|(id, map)| (id, map.into())).collect(),
        ..Snapshot::default()
    }
}

pub(super) fn detector() -> Detector {
    Detector::new(Thresholds::default(), FreelistGeneration::LocksEveryList)
}

/// Runs map 7 through windows of these refusals on CPU 0; says in which windows what happened.
pub(super) fn run(detector: &mut Detector, refusals: &[u64]) -> Vec<(u64, StormEvent)> {
    let mut total = 0;
    let mut previous = snapshot(0, Duration::ZERO, &[(7, &[], None)]);
    let mut events = Vec::new();
    for (window, n) in (1..).zip(refusals) {
        total += n;
        let current = snapshot(window, WINDOW, &[(7, &[total], None)]);
        let seen = detector.observe(&previous, &current);
        events.extend(seen.into_iter().map(|event| (window, event)));
        previous = current;
    }
    events
}

#[test]
fn a_storm_opens_in_its_second_window_and_closes_in_the_second_calm_one() {
    let mut detector = detector();
    let events = run(
        &mut detector,
        &[0, STORM, 2 * STORM, HALF, 0, HALF, HALF - 1, 0, 0],
    );
    let [
        (3, StormEvent::Opened(opened)),
        (8, StormEvent::Closed(closed)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((opened.since_window, opened.opened.window), (2, 3));
    assert_eq!(
        (opened.rejects_per_second, opened.rejects),
        (2000.0, 3 * STORM)
    );
    assert_eq!(opened.freelist, FreelistUse::EveryListLocked);
    assert_eq!(
        (opened.fill, opened.fill_text().as_str()),
        (None, "unknown")
    );
    assert_eq!(closed.duration_windows(), Some(5));
    assert_eq!(closed.peak_rejects_per_second, 2000.0);
    assert_eq!(closed.closed.map(|closed| closed.end), Some(End::Calm));
    assert_eq!(detector.totals(), [1, 0, 0, 0, 0]);
    let board = detector.board();
    assert_eq!((board.active.len(), board.closed.len()), (0, 1));
    assert_eq!(board.calmed, [(7, Kind::Full)]);
}

#[test]
fn a_storm_names_its_top_callers_as_of_its_last_window() {
    let mut detector = detector();
    let before = snapshot(0, Duration::ZERO, &[(7, &[], None)]);
    let mut seen = vec![before];
    for window in 1..=2 {
        let mut current = snapshot(window, WINDOW, &[(7, &[window * STORM], None)]);
        current.callers = crate::who::tests::callers(7, window);
        let events = detector.observe(&seen[0], &current);
        seen.insert(0, current);
        if let [StormEvent::Opened(storm)] = &events[..] {
            assert_eq!(storm.callers.len(), CALLERS_TOLD);
            assert_eq!(storm.callers[0].last_window, 2);
            let words = "process 1 \"a\" 40 %, process 2 \"a\" 20 %, process 3 \"a\" 20 %";
            assert_eq!(storm.callers_text(), words);
        }
    }
    assert_eq!(detector.active().count(), 1);
}

#[test]
fn one_window_of_evidence_opens_nothing_and_leaves_nothing_behind() {
    let mut detector = detector();
    assert!(run(&mut detector, &[STORM, 0, STORM, HALF, STORM, 0]).is_empty());
    assert_eq!(detector.board().calmed, []);
}

#[test]
fn a_map_that_vanishes_or_is_replaced_closes_its_storm() {
    for replacement in [&[][..], &[(7, &[3][..], None)]] {
        let mut detector = detector();
        run(&mut detector, &[STORM, STORM]);
        assert_eq!(detector.active().count(), 1);
        let before = snapshot(2, WINDOW, &[(7, &[2 * STORM], None)]);
        let events = detector.observe(&before, &snapshot(3, Duration::ZERO, replacement));
        let [StormEvent::Closed(storm)] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(storm.closed.map(|closed| closed.end), Some(End::MapGone));
        assert_eq!(detector.active().count(), 0);
        assert_eq!(detector.board().calmed, []);
    }
}

#[test]
fn a_half_full_map_that_churns_never_opens_one() {
    let mut detector = detector();
    let mut previous = snapshot(0, WINDOW, &[(7, &[], Some(500))]);
    for window in 1..200 {
        let mut current = snapshot(window, WINDOW, &[(7, &[], Some(500))]);
        let stats = current.maps.get_mut(&7).unwrap();
        let update = Arc::make_mut(stats).ops.get_mut(&Op::Update).unwrap();
        update.outcomes[Outcome::Ok as usize] = window * 1_000_000;
        update.outcomes[Outcome::Eexist as usize] = window * 1_000_000;
        assert!(detector.observe(&previous, &current).is_empty());
        previous = current;
    }
}
