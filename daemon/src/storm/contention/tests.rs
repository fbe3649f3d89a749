//! Windows with waits, with longer calls, and with calls that had their CPU taken away.

use std::time::Duration;

use super::super::{
    calm::Customs,
    change::tests::timed,
    fights::{Fight, waited},
};
use super::*;
use crate::{
    identity::MapType,
    snapshot::{LockStats, MapStats},
};

const SECOND: Duration = Duration::from_secs(1);

/// What one second of this map comes to, after a calm second of updates of `calm_ns`.
fn contention(calm_ns: Option<u64>, map: &MapStats) -> Contention {
    contention_where(calm_ns, map, false)
}

/// The same on a kernel that does, or does not, report waits.
fn contention_where(calm_ns: Option<u64>, map: &MapStats, waits_are_seen: bool) -> Contention {
    let mut customs = Customs::default();
    let calm = calm_ns.map(|ns| timed(&[(0, ns, 1000)]));
    if let Some(calm) = &calm {
        customs.learn(&Change::new(7, None, calm, SECOND).unwrap());
    }
    let change = Change::new(7, None, map, SECOND).unwrap();
    Contention::of(
        &change,
        customs.of(7),
        &ContentionThresholds::default(),
        waits_are_seen,
    )
}

fn level(calm_ns: Option<u64>, map: &MapStats) -> Level {
    contention(calm_ns, map).level(&ContentionThresholds::default())
}

#[test]
fn calls_that_all_take_longer_than_in_calm_are_time_lost_by_the_cpus_that_made_them() {
    let map = timed(&[(0, 10_000, 3000), (2, 10_000, 1000)]);
    let lost = contention(Some(1000), &map);
    assert!((0.03..0.05).contains(&lost.cpu_seconds), "{lost:?}");
    assert_eq!(lost.cpus, 2);
    let shift = lost.latency.unwrap();
    assert!(
        shift.calm_is_learnt && (8.0..13.0).contains(&shift.ratio),
        "{shift:?}"
    );
    assert_eq!(
        level(Some(1000), &timed(&[(0, 10_000, 5000), (2, 10_000, 5000)])),
        Level::Storm
    );
}

#[test]
fn where_waits_are_reported_three_cpus_that_fight_are_seen_to_wait() {
    let slow = |cpus: usize| timed(&(0..cpus).map(|cpu| (cpu, 10_000, 5000)).collect::<Vec<_>>());
    let level = |map: &MapStats, waits_are_seen| {
        contention_where(Some(1000), map, waits_are_seen).level(&ContentionThresholds::default())
    };
    assert_eq!(level(&slow(3), false), Level::Storm);
    assert_eq!(
        level(&slow(2), true),
        Level::Storm,
        "nobody is the second to wait"
    );
    assert_eq!(level(&slow(3), true), Level::Calm);
    let unknown_locks = MapStats {
        kind: MapType::RHASH,
        ..slow(3)
    };
    assert_eq!(
        level(&unknown_locks, true),
        Level::Storm,
        "a map whose locks nobody knows"
    );
    let mut fought = slow(3);
    waited(&mut fought, LockClass::Bucket, &[1_000_000; 3]);
    assert_eq!(level(&fought, true), Level::Storm);
}

#[test]
fn a_few_long_waits_are_for_a_holder_whose_cpu_was_taken_away() {
    let mut map = timed(&[(0, 1000, 500_000), (1, 1000, 500_000)]);
    let locks = map.locks.entry(LockClass::Bucket).or_default();
    locks.waited_ns_by_cpu = vec![100_000_000; 2];
    for (waits, expected) in [
        (300, Level::Calm),
        (499, Level::Calm),
        (500, Level::Between),
        (999, Level::Between),
        (1000, Level::Storm),
    ] {
        let locks = map.locks.entry(LockClass::Bucket).or_default();
        locks.outcomes[0] = waits;
        assert_eq!(level(Some(1000), &map), expected, "{waits} waits");
    }
}

#[test]
fn windows_behind_one_holder_whose_cpu_was_taken_away_are_no_fight() {
    // Everyone waits, so that there are hardly any operations and many of them waited.
    let mut map = timed(&[(0, 1000, 100), (1, 1000, 100)]);
    let locks = map.locks.entry(LockClass::Bucket).or_default();
    locks.waited_ns_by_cpu = vec![900_000_000; 2];
    for (waits, expected) in [
        (100, Level::Calm),
        (1799, Level::Calm),
        (1800, Level::Storm),
    ] {
        let locks = map.locks.entry(LockClass::Bucket).or_default();
        locks.outcomes[0] = waits;
        assert_eq!(level(Some(1000), &map), expected, "{waits} waits");
    }
}

#[test]
fn a_cpu_alone_fights_nobody_however_long_its_calls_take() {
    assert_eq!(
        level(Some(1000), &timed(&[(0, 100_000, 9000)])),
        Level::Calm
    );
    assert_eq!(
        level(Some(1000), &timed(&[(0, 100_000, 9000), (1, 100_000, 1)])),
        Level::Calm
    );
}

#[test]
fn cpus_that_others_starve_fight_although_nearly_all_calls_are_short() {
    let winner = (0, 1000, 500_000);
    let starved = timed(&[winner, (1, 160_000, 3000), (2, 160_000, 4000)]);
    let lost = contention(Some(1000), &starved);
    assert_eq!(lost.level(&ContentionThresholds::default()), Level::Storm);
    assert!((0.6..1.2).contains(&lost.cpu_seconds), "{lost:?}");
    assert_eq!(lost.cpus, 2, "the winner loses nothing");
    let shift = lost.latency.unwrap();
    assert_eq!(shift.starved_cpus, Some(2));
    assert!((80.0..160.0).contains(&shift.ratio), "{shift:?}");
    for calm in [
        timed(&[winner, (1, 160_000, 7000)]),
        timed(&[winner, (1, 10_000, 30_000), (2, 10_000, 40_000)]),
        timed(&[winner, (1, 160_000, 20), (2, 160_000, 20)]),
    ] {
        assert_eq!(level(Some(1000), &calm), Level::Calm, "{calm:?}");
    }
}

#[test]
fn a_few_calls_whose_cpu_was_taken_away_are_no_fight() {
    let map = timed(&[
        (0, 1000, 5000),
        (1, 1000, 5000),
        (0, 40_000_000, 10),
        (1, 40_000_000, 10),
    ]);
    let lost = contention(Some(1000), &map);
    assert_eq!((lost.cpu_seconds, lost.cpus), (0.0, 0), "{lost:?}");
}

#[test]
fn twice_as_long_is_another_mix_of_calls_and_no_fight() {
    let map = timed(&[(0, 2000, 200_000), (1, 2000, 200_000)]);
    assert_eq!(contention(Some(1000), &map).cpu_seconds, 0.0);
}

#[test]
fn without_a_calm_of_its_own_a_map_is_measured_by_the_flag() {
    assert_eq!(
        level(None, &timed(&[(0, 15_000, 20_000), (1, 15_000, 20_000)])),
        Level::Calm
    );
    let map = timed(&[(0, 60_000, 8000), (1, 60_000, 8000)]);
    let lost = contention(None, &map);
    assert!(lost.cpu_seconds > 0.5, "{lost:?}");
    assert!(
        lost.latency
            .is_some_and(|shift| !shift.calm_is_learnt && shift.calm_ns == 20_000)
    );
}

#[test]
fn a_wait_is_inside_of_a_call_so_the_greater_of_the_two_counts() {
    let mut map = timed(&[(0, 10_000, 5000), (1, 10_000, 5000)]);
    let calls_only = contention(Some(1000), &map).cpu_seconds;
    waited(&mut map, LockClass::Bucket, &[10_000_000, 10_000_000]);
    assert_eq!(contention(Some(1000), &map).cpu_seconds, calls_only);
    waited(&mut map, LockClass::Bucket, &[200_000_000, 0]);
    let both = contention(Some(1000), &map);
    assert!((0.25..0.26).contains(&both.cpu_seconds), "{both:?}");
}

#[test]
fn nobody_loses_more_than_the_window_and_the_allocators_locks_are_not_the_maps() {
    let mut map = timed(&[]);
    waited(&mut map, LockClass::Other, &[900_000_000, 900_000_000]);
    assert_eq!(contention(None, &map), Contention::default());
    waited(&mut map, LockClass::Bucket, &[3_000_000_000, 3_000_000_000]);
    assert_eq!(contention(None, &map).cpu_seconds, 2.0);
}

#[test]
fn the_lock_that_was_waited_for_names_the_place() {
    let mut map = timed(&[]);
    waited(&mut map, LockClass::Freelist, &[50_000_000, 50_000_000]);
    waited(&mut map, LockClass::Bucket, &[10_000_000, 10_000_000]);
    let Places {
        freelist,
        bucket,
        witness,
    } = contention(None, &map).places;
    assert!(freelist > bucket && witness == Witness::Locks);
}

#[test]
fn without_waits_the_pops_name_the_place_and_without_pops_nothing_does() {
    let fought = Fight {
        pops_ns: 9_000,
        ..Fight::slow(10_000)
    };
    let by_pops = |fight: Fight| {
        let mut customs = Customs::default();
        let calm = Fight::slow(1000).map();
        customs.learn(&Change::new(7, None, &calm, SECOND).unwrap());
        let map = fight.map();
        let change = Change::new(7, None, &map, SECOND).unwrap();
        Contention::of(
            &change,
            customs.of(7),
            &ContentionThresholds::default(),
            false,
        )
        .places
    };
    let at_lists = by_pops(fought);
    assert!(at_lists.freelist > at_lists.bucket && at_lists.witness == Witness::Pops);
    let at_buckets = by_pops(Fight::slow(10_000));
    assert!(at_buckets.freelist < at_buckets.bucket && at_buckets.witness == Witness::Pops);
    let untold = by_pops(Fight {
        pops_ns: 0,
        ..Fight::slow(10_000)
    });
    assert!(untold.bucket > 0.0 && untold.witness == Witness::None);
}

#[test]
fn waits_of_lock_classes_are_told_apart() {
    let mut map = timed(&[]);
    map.locks.insert(LockClass::Lru, LockStats::default());
    assert_eq!(contention(None, &map).waited, None, "nobody waited");
    waited(&mut map, LockClass::Lru, &[1_000_000]);
    let told = contention(None, &map).waited.unwrap();
    assert_eq!((told.bucket, told.freelist, told.lru), (0.0, 0.0, 0.001));
}
