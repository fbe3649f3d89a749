//! Fights made by hand, one of each sort.

use super::*;

#[test]
fn o21_one_key_from_all_cpus_is_a_hot_bucket() {
    let fight = Fight::slow(20_000);
    let (opened, closed, storm) = one(
        MapType::HASH,
        &[CALM, CALM, fight, fight, fight, CALM, IDLE],
    );
    assert_eq!((opened, closed, storm.kind), (4, 7, Kind::HotBucket));
    assert_eq!(
        storm.evidence.told_by,
        ToldBy::PopDurations,
        "pops are as ever"
    );
    assert!(
        storm
            .peak_cpu_seconds_per_second
            .is_some_and(|lost| lost > 0.5),
        "{storm:?}"
    );
    assert!(storm.advice.action.contains("per-CPU map"), "{storm:?}");
    assert_eq!((storm.rejects, storm.peak_cpus), (0, 2));
}

#[test]
fn waits_for_free_lists_are_a_freelist_storm_at_once() {
    let fight = Fight {
        waits_ns: [1000, WAITS, 0],
        ..CALM
    };
    let (opened, _, storm) = one(MapType::HASH, &[fight, fight, fight, IDLE, IDLE]);
    assert_eq!((opened, storm.kind), (2, Kind::Freelist));
    assert_eq!(storm.evidence.told_by, ToldBy::LockWaits);
    assert!(
        storm.evidence.text.contains("waited for free-list locks"),
        "{storm:?}"
    );
}

#[test]
fn a_fight_that_is_better_known_in_its_second_window_opens_under_its_better_name() {
    let untold = Fight {
        pops_ns: 0,
        ..Fight::slow(5_000)
    };
    let told = Fight {
        waits_ns: [0, 4 * WAITS, 0],
        ..Fight::slow(5_000)
    };
    let windows = [CALM, untold, told, untold, untold, IDLE, IDLE];
    let (opened, closed, storm) = one(MapType::HASH, &windows);
    assert_eq!(
        (opened, closed, storm.kind),
        (3, 7, Kind::Freelist),
        "{storm:?}"
    );
    assert_eq!(storm.since_window, 2);
    assert!(storm.advice.action.contains("inserted them"), "{storm:?}");
}

#[test]
fn o22_a_fight_over_an_lru_map_is_its_own_kind_refused_or_not() {
    let fight = Fight {
        waits_ns: [0, 0, WAITS],
        ..CALM
    };
    let (_, _, storm) = one(MapType::LRU_HASH, &[fight, fight, IDLE, IDLE]);
    assert_eq!(storm.kind, Kind::Lru);
    assert!(
        storm
            .evidence
            .text
            .contains("BPF_F_NO_COMMON_LRU is not set"),
        "{storm:?}"
    );
    let refused = Fight {
        refused: [0, 500],
        ..CALM
    };
    let (_, _, storm) = one(MapType::LRU_PERCPU_HASH, &[refused, refused, IDLE, IDLE]);
    assert_eq!((storm.kind, storm.rejects), (Kind::Lru, 2000));
    assert!(
        storm.evidence.text.contains("nothing to evict"),
        "{storm:?}"
    );
    assert!(storm.peak_cpu_seconds_per_second.is_some(), "{storm:?}");
    let untimed = Fight {
        calls: 0,
        ..refused
    };
    let (_, _, storm) = one(MapType::LRU_HASH, &[untimed, untimed, IDLE, IDLE]);
    assert_eq!(storm.peak_cpu_seconds_per_second, None, "nothing was timed");
}

#[test]
fn want_of_memory_on_a_hash_is_kind_alloc() {
    let refused = Fight {
        refused: [0, 500],
        ..CALM
    };
    let (_, _, storm) = one(MapType::HASH, &[refused, refused, IDLE, IDLE]);
    assert_eq!(
        (storm.kind, storm.rejects, storm.peak_cpus),
        (Kind::Alloc, 2000, 2)
    );
    assert!(storm.evidence.text.contains("no memory"), "{storm:?}");
}

#[test]
fn a_fight_never_becomes_the_custom_however_long_it_lasts() {
    let mut windows = vec![CALM];
    windows.extend([Fight::slow(20_000); 500]);
    windows.extend([IDLE; 2]);
    let (_, closed, storm) = one(MapType::HASH, &windows);
    assert_eq!(closed, 503);
    assert!(
        storm
            .evidence
            .latency
            .is_some_and(|shift| shift.ratio > 15.0)
    );
}

#[test]
fn a_burst_shorter_than_the_windows_opens_nothing() {
    let burst = Fight {
        waits_ns: [WAITS; 3],
        refused: [0, 5000],
        ..Fight::slow(90_000)
    };
    for kind in [MapType::HASH, MapType::LRU_HASH] {
        let events = run(
            &mut detector(),
            kind,
            &[CALM, burst, CALM, CALM, burst, IDLE],
        );
        assert!(events.is_empty(), "{events:?}");
    }
}

#[test]
fn a_map_that_is_refused_for_being_full_has_no_fight_beside() {
    let both = Fight {
        waits_ns: [WAITS, WAITS, 0],
        refused: [5000, 0],
        ..CALM
    };
    let mut detector = detector();
    let mut windows = [both; 4];
    let full = |event: &(u64, StormEvent)| event.1.storm().kind == Kind::Full;
    // The map of these tests is half full, so its refusals would be failed locks: let it be unknown.
    let start = MapStats {
        entries: None,
        ..timed(&[])
    };
    let mut previous = Snapshot {
        maps: [(7, Arc::new(start))].into(),
        ..Snapshot::default()
    };
    let mut events = Vec::new();
    for (window, fight) in (1..).zip(&mut windows) {
        let mut map = Arc::clone(&previous.maps[&7]);
        fight.add_to(Arc::make_mut(&mut map));
        let current = Snapshot {
            window,
            elapsed: WINDOW,
            maps: [(7, map)].into(),
            ..Snapshot::default()
        };
        let seen = detector.observe(&previous, &current);
        events.extend(seen.into_iter().map(|event| (window, event)));
        previous = current;
    }
    assert!(events.len() == 1 && events.iter().all(full), "{events:?}");
}
