//! What moved is what was counted, and it is bounded.

use mapstorm_abi::{Op, Outcome, bucket};
use proptest::prelude::*;

use super::*;
use crate::{
    identity::MapType,
    snapshot::{Durations, MapStats, OpStats},
};

/// A map with so many updates done, so many refused, each of them a microsecond long.
fn map(ok: u64, refused: u64) -> Arc<MapStats> {
    let mut update = OpStats::default();
    update.outcomes[Outcome::Ok as usize] = ok;
    update.outcomes[Outcome::E2big as usize] = refused;
    let mut durations = Durations::default();
    durations.buckets[bucket::index(1000)] = ok + refused;
    durations.sum_ns = 1000 * (ok + refused);
    update.durations = Some(durations);
    Arc::new(MapStats {
        name: "flows".to_owned(),
        kind: MapType::HASH,
        max_entries: 10,
        flags: 0,
        entries: None,
        listed: None,
        ops: [(Op::Update, update)].into(),
        pops: None,
        locks: BTreeMap::new(),
    })
}

fn snapshot(window: u64, maps: impl IntoIterator<Item = (MapId, Arc<MapStats>)>) -> Snapshot {
    Snapshot {
        window,
        elapsed: Duration::from_millis(250),
        maps: maps.into_iter().collect(),
        ..Snapshot::default()
    }
}

const NOBODY: fn(MapId) -> bool = |_| false;

#[test]
fn a_map_that_stood_still_is_not_in_it_and_one_that_moved_is_with_its_time() {
    let still = map(5, 0);
    let before = snapshot(1, [(1, Arc::clone(&still)), (2, map(10, 2))]);
    let now = snapshot(2, [(1, still), (2, map(11, 5))]);
    let motion = Motion::between(&before, &now, NOBODY);
    assert_eq!(motion.moved, 1);
    let moved = &motion.maps[&2];
    let tally = Tally {
        operations: 4,
        updates: 4,
        rejects: 3,
        busy_ns: Some(4000),
    };
    assert_eq!(moved.tally, tally);
    assert_eq!(moved.update, [(bucket::index(1000) as u8, 4)]);
    assert_eq!(&motion.host, moved);
    let rate = tally.rate(motion.elapsed);
    assert_eq!((rate.updates, rate.rejects), (16.0, 12.0));
    assert_eq!(rate.busy, Some(4000.0 / 1e9 / 0.25));
}

#[test]
fn the_cheapest_maps_are_left_out_but_not_one_in_a_storm() {
    let maps = (1..=200).map(|id| (id, map(u64::from(id), 0)));
    let motion = Motion::between(&Snapshot::default(), &snapshot(1, maps), |id| id == 3);
    assert_eq!((motion.moved, motion.maps.len()), (200, MAPS_KEPT + 1));
    assert!(motion.maps.contains_key(&3) && motion.maps.contains_key(&200));
    assert!(!motion.maps.contains_key(&4));
    assert_eq!(motion.host.tally.updates, (1..=200).sum::<u64>());
}

#[test]
fn a_minute_is_kept_and_no_more() {
    let mut history = History::default();
    for window in 1..=1000 {
        let motion = Motion {
            window,
            windows: 1,
            ..Motion::default()
        };
        history = history.with(motion);
    }
    assert_eq!(history.iter().count(), WINDOWS_KEPT);
    let since = |after| history.since(after, NOBODY).map(|sum| sum.windows);
    assert_eq!(since(1000), None);
    assert_eq!(since(990), Some(10));
    assert_eq!(
        since(0),
        Some(WINDOWS_KEPT as u64),
        "and says how much it is"
    );
}

#[test]
fn rates_are_those_of_the_last_second() {
    let mut recent = Recent::default();
    let mut pace = recent.advance(Arc::new(snapshot(1, [(7, map(0, 0))])));
    assert_eq!(pace.of(7), None, "one sample is no rate");
    for window in 2..=9 {
        // A thousand a window, then none.
        let done = 1000 * window.min(5);
        pace = recent.advance(Arc::new(snapshot(window, [(7, map(done, 0))])));
        if window == 5 {
            assert_eq!(pace.of(7).map(|rate| rate.updates), Some(5000.0));
        }
    }
    assert_eq!(pace.of(7), Some(Rate::default()));
}

proptest! {
    #[test]
    fn the_sum_of_windows_is_what_happened_between_their_ends(
        counts in proptest::collection::vec((0u64..1000, 0u64..1000), 2..20),
    ) {
        let (mut ok, mut refused) = (0, 0);
        let snapshots: Vec<_> = { counts.iter().enumerate() }
            .map(|(i, (more_ok, more_refused))| {
                ok += more_ok;
                refused += more_refused;
                snapshot(i as u64, [(7, map(ok, refused))])
            })
            .collect();
        let history = snapshots.windows(2).fold(History::default(), |history, pair| {
            history.with(Motion::between(&pair[0], &pair[1], NOBODY))
        });
        let sum = history.since(0, NOBODY).unwrap();
        let (first, last) = (&snapshots[0], &snapshots[snapshots.len() - 1]);
        let whole = Motion::between(first, last, NOBODY);
        prop_assert_eq!(&sum.host, &whole.host);
        prop_assert_eq!(&sum.maps, &whole.maps);
    }
}
