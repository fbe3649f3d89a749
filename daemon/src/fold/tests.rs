//! Rows as the kernel's tables give them, and what becomes of them.

use std::time::Duration;

use mapstorm_abi::{Counted, LockClass, Op, Outcome, slot::NAME_LEN};

use super::*;
use crate::{
    identity::MapType,
    kernel::CpuRow,
    snapshot::{Durations, LockOutcome, Room},
};

const NO_PREALLOC: u32 = crate::identity::NO_PREALLOC;

fn name(text: &str) -> [u8; NAME_LEN] {
    let mut name = [0; NAME_LEN];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

fn durations(ns: u64, count: u64) -> Durations {
    let mut durations = Durations::default();
    durations.buckets[mapstorm_abi::bucket::index(ns)] = count;
    durations.sum_ns = ns * count;
    durations
}

/// A row of a preallocated hash: updates that succeeded, updates refused, each with its pop.
fn row(cpu: u32, map_id: MapId, ok: u64, full: u64) -> Row {
    let mut outcomes = [0; Outcome::COUNT];
    outcomes[Outcome::Ok as usize] = ok;
    outcomes[Outcome::E2big as usize] = full;
    Row {
        cpu,
        map_id,
        counted: Counted::Op(Op::Update),
        map_type: MapType::HASH.0,
        max_entries: 1000,
        flags: 0,
        name: name("flows"),
        outcomes,
        inner: [ok, full],
        durations: Some(durations(1000, ok + full)),
        pop_durations: Some(durations(100, ok + full)),
    }
}

fn identity(map_type: MapType) -> MapIdentity {
    MapIdentity {
        map_type: map_type.0,
        max_entries: 1000,
        flags: 0,
        name: name("flows"),
        ..MapIdentity::default()
    }
}

fn listing(read: Instant, ids: &[MapId]) -> Listing {
    let maps = ids.iter().map(|&id| (id, identity(MapType::HASH)));
    Listing {
        read,
        maps: maps.collect(),
    }
}

/// A sample of rows that have moved, and the pops in them by CPU.
fn moved(rows: Vec<Row>) -> Harvest {
    let mut cpu_pops = BTreeMap::<u32, Durations>::new();
    for row in &rows {
        if let Some(pops) = &row.pop_durations {
            cpu_pops.entry(row.cpu).or_default().merge(pops);
        }
    }
    Harvest {
        rows,
        cpu_pops,
        ..Harvest::default()
    }
}

/// One snapshot of these rows by a new fold.
fn folded(source: Option<PopSource>, rows: Vec<Row>) -> Snapshot {
    Fold::new(source).fold(moved(rows), None, Instant::now())
}

#[test]
fn cpus_are_summed_and_exhaustion_is_kept_by_cpu() {
    let rows = vec![row(0, 7, 5, 0), row(2, 7, 1, 3), row(2, 8, 9, 0)];
    let snapshot = folded(Some(PopSource::Pop), rows);
    let map = &snapshot.maps[&7];
    assert_eq!(
        (&*map.name, map.kind, map.max_entries),
        ("flows", MapType::HASH, 1000)
    );
    assert_eq!(
        (map.updates(Outcome::Ok), map.updates(Outcome::E2big)),
        (6, 3)
    );
    assert_eq!(map.exhausted_by_cpu(), [0, 0, 3]);
    assert_eq!(map.ops[&Op::Update].by_cpu, [5, 0, 4]);
    assert!(map.starved_by_cpu().is_empty());
    let pops = map.pops.as_ref().unwrap();
    assert_eq!((pops.ok, pops.empty), (Some(6), 3));
    assert_eq!(pops.durations, Some(durations(100, 9)));
    assert_eq!(pops.alloc, None);
    assert_eq!(map.events(), 18);
    assert!(snapshot.maps[&8].exhausted_by_cpu().is_empty());
    assert_eq!(snapshot.cpu_pops[&0].count(), 5);
    assert_eq!(snapshot.cpu_pops[&2].count(), 4 + 9);
}

#[test]
fn what_is_timed_around_a_pop_is_not_published_as_a_pop() {
    let snapshot = folded(Some(PopSource::Alloc), vec![row(0, 7, 5, 2)]);
    let pops = snapshot.maps[&7].pops.as_ref().unwrap();
    assert_eq!((pops.ok, pops.empty), (Some(5), 2));
    assert_eq!((&pops.durations, pops.alloc.is_some()), (&None, true));
    assert!(snapshot.cpu_pops.is_empty());
}

#[test]
fn derived_pops_know_the_empty_ones_only() {
    let mut refused = row(0, 7, 5, 2);
    (refused.inner, refused.pop_durations) = ([0, 0], None);
    let snapshot = folded(Some(PopSource::Derived), vec![refused.clone()]);
    let pops = snapshot.maps[&7].pops.as_ref().unwrap();
    assert_eq!((pops.ok, pops.empty, &pops.durations), (None, 2, &None));
    assert!(folded(None, vec![refused]).maps[&7].pops.is_none());
}

#[test]
fn a_map_without_a_freelist_has_no_pops() {
    for (map_type, flags) in [(MapType::LRU_HASH, 0), (MapType::HASH, NO_PREALLOC)] {
        let row = Row {
            map_type: map_type.0,
            flags,
            ..row(0, 7, 5, 2)
        };
        let snapshot = folded(Some(PopSource::Derived), vec![row]);
        assert!(snapshot.maps[&7].pops.is_none(), "{map_type:?} {flags}");
        assert!(snapshot.maps[&7].ops.contains_key(&Op::Update));
    }
}

#[test]
fn a_map_that_nobody_touched_is_known_without_a_single_zero() {
    let now = Instant::now();
    let mut listing = listing(now, &[7, 9]);
    listing.maps.insert(9, identity(MapType::LRU_HASH));
    let mut fold = Fold::new(Some(PopSource::Pop));
    let snapshot = fold.fold(moved(vec![row(0, 7, 1, 0)]), Some(&listing), now);
    assert!(snapshot.maps[&7].ops.contains_key(&Op::Update));
    let idle = &snapshot.maps[&9];
    assert_eq!((&*idle.name, idle.kind), ("flows", MapType::LRU_HASH));
    assert!(idle.ops.is_empty() && idle.pops.is_none());
}

#[test]
fn losses_are_summed_over_cpus() {
    let mut lost = [0; Lost::COUNT];
    lost[Lost::NoSlot as usize] = 3;
    let cpu = CpuRow {
        lost,
        host_updates: [1; Outcome::COUNT],
        host_pops: [2, 3],
        samples_due: 4,
    };
    let harvest = Harvest {
        cpus: vec![cpu, cpu],
        ..Harvest::default()
    };
    let snapshot = Fold::new(None).fold(harvest, None, Instant::now());
    assert_eq!(snapshot.lost[Lost::NoSlot as usize], 6);
    assert_eq!(snapshot.host.updates, [2; Outcome::COUNT]);
    assert_eq!(snapshot.host.pops, [4, 6]);
}

/// A fold and the time it lives in.
struct World {
    fold: Fold,
    start: Instant,
}

impl World {
    fn new() -> Self {
        Self {
            fold: Fold::new(Some(PopSource::Pop)),
            start: Instant::now(),
        }
    }

    /// The snapshot at this second, when the inventory has just been read, before the harvest.
    fn see(&mut self, second: u64, ids: &[MapId], harvest: Harvest) -> Snapshot {
        let now = self.start + Duration::from_secs(second);
        let listing = listing(now - Duration::from_millis(1), ids);
        self.fold.fold(harvest, Some(&listing), now)
    }
}

/// A sample in which maps were buried that had these rows at last.
fn buried(rows: Vec<Row>) -> Harvest {
    Harvest {
        buried: rows.iter().map(|row| row.map_id).collect(),
        left: rows,
        ..Harvest::default()
    }
}

#[test]
fn maps_whose_counters_stand_still_are_those_of_the_snapshot_before() {
    let mut world = World::new();
    let before = world.see(0, &[7, 8, 9], moved(vec![row(0, 7, 5, 0), row(0, 8, 1, 0)]));
    let after = world.see(1, &[7, 8, 9], moved(vec![row(0, 8, 2, 0)]));
    assert!(Arc::ptr_eq(&before.maps[&7], &after.maps[&7]));
    assert!(Arc::ptr_eq(&before.maps[&9], &after.maps[&9]));
    assert_eq!(after.maps[&8].updates(Outcome::Ok), 2);
}

#[test]
fn a_map_that_is_gone_stays_for_two_minutes_and_leaves_its_pops_to_the_host() {
    let mut world = World::new();
    let rows = || vec![row(0, 7, 5, 0), row(0, 8, 1, 0)];
    world.see(0, &[7, 8], moved(rows()));
    assert!(world.fold.gone().is_empty());
    world.see(1, &[8], Harvest::default());
    assert_eq!(*world.fold.gone(), [7].into());
    let mut last = buried(vec![row(0, 7, 6, 0)]);
    last.cpu_pops = moved(vec![row(0, 8, 1, 0)]).cpu_pops;
    for (second, harvest) in [(2, last.clone()), (121, Harvest::default())] {
        let snapshot = world.see(second, &[8], harvest);
        assert_eq!(snapshot.maps[&7].updates(Outcome::Ok), 6, "its final count");
        assert!(world.fold.gone().is_empty(), "it has no rows any more");
        assert_eq!(snapshot.forgotten, [0, 0]);
    }
    let (buried, left) = (BTreeSet::new(), Vec::new());
    let rest = Harvest {
        buried,
        left,
        ..last
    };
    let snapshot = world.see(122, &[8], rest);
    assert_eq!(snapshot.maps.keys().collect::<Vec<_>>(), [&8]);
    assert_eq!(snapshot.cpu_pops[&0].count(), 7, "a counter never falls");
    assert_eq!(snapshot.forgotten, [1, 0]);
}

#[test]
fn a_map_newer_than_the_inventory_or_still_counting_is_not_gone() {
    let mut world = World::new();
    let old = listing(world.start, &[]);
    for second in [0, 100, 200] {
        let now = world.start + Duration::from_secs(second);
        let snapshot = world
            .fold
            .fold(moved(vec![row(0, 7, 1, 0)]), Some(&old), now);
        assert_eq!(snapshot.maps.len(), 1);
        assert!(
            world.fold.gone().is_empty(),
            "an unread inventory ends nothing"
        );
    }
    let mut world = World::new();
    for second in [0, 100, 200] {
        let snapshot = world.see(second, &[], moved(vec![row(0, 7, second, 0)]));
        assert_eq!(snapshot.maps.len(), 1);
        assert!(world.fold.gone().is_empty(), "its counters move");
    }
}

#[test]
fn a_map_that_nobody_touched_leaves_with_the_inventory() {
    let mut world = World::new();
    assert_eq!(world.see(0, &[7], Harvest::default()).maps.len(), 1);
    assert!(world.see(1, &[], Harvest::default()).maps.is_empty());
    assert_eq!(world.see(1, &[], Harvest::default()).forgotten, [0, 0]);
}

#[test]
fn of_too_many_maps_that_are_gone_the_first_leave_early_and_nothing_piles_up() {
    let mut world = World::new();
    let maps = 3 * GHOSTS as MapId;
    for first in (1..=maps).step_by(64) {
        let rows = || (first..first + 64).map(|id| row(0, id, 1, 0)).collect();
        let second = u64::from(first / 64);
        world.see(second / 8, &[], moved(rows()));
        let snapshot = world.see(second / 8, &[], buried(rows()));
        assert!(snapshot.maps.len() <= GHOSTS);
    }
    let snapshot = world.see(10, &[], Harvest::default());
    assert_eq!(snapshot.forgotten, [0, 2 * GHOSTS as u64]);
    assert_eq!(snapshot.cpu_pops[&0].count(), u64::from(maps));
    let fold = &world.fold;
    assert!(fold.live.is_empty() && fold.gone.is_empty());
    assert_eq!(fold.remains.sizes(), (GHOSTS, GHOSTS));
}

#[test]
fn what_timings_counted_before_they_went_to_another_stays_in_the_histograms() {
    let mut world = World::new();
    world.see(0, &[7], moved(vec![row(0, 7, 5, 0)]));
    let mut taken = row(0, 7, 0, 0);
    taken.durations = Some(durations(1000, 5));
    taken.pop_durations = Some(durations(100, 5));
    let mut untimed = row(0, 7, 8, 0);
    (untimed.durations, untimed.pop_durations) = (None, None);
    let harvest = Harvest {
        left: vec![taken],
        ..moved(vec![untimed])
    };
    let snapshot = world.see(1, &[7], harvest);
    let map = &snapshot.maps[&7];
    assert_eq!(map.updates(Outcome::Ok), 8);
    let update = &map.ops[&Op::Update];
    assert_eq!(update.durations, Some(durations(1000, 5)));
    assert_eq!(snapshot.cpu_pops[&0].count(), 5);
    let room = Room::default();
    assert_eq!(snapshot.room, room);
}

/// A row of waits of 500 ns, some of which failed.
fn waits(cpu: u32, class: LockClass, ok: u64, failed: &[(Outcome, u64)]) -> Row {
    let mut row = Row {
        counted: Counted::Wait(class),
        inner: [0; 2],
        pop_durations: None,
        ..row(cpu, 7, ok, 0)
    };
    for &(outcome, n) in failed {
        row.outcomes[outcome as usize] = n;
    }
    row.durations = Some(durations(500, row.outcomes.iter().sum()));
    row
}

#[test]
fn o31_waits_are_summed_by_class_and_outcome_and_an_unknown_errno_is_still_counted() {
    let failed = [
        (Outcome::Edeadlk, 2),
        (Outcome::Etimedout, 3),
        (Outcome::Ebusy, 4),
        (Outcome::Other, 5),
    ];
    let rows = vec![
        waits(0, LockClass::Bucket, 10, &failed),
        waits(2, LockClass::Bucket, 1, &[]),
        waits(2, LockClass::Freelist, 6, &[]),
        row(0, 7, 20, 0),
    ];
    let snapshot = folded(Some(PopSource::Pop), rows);
    let map = &snapshot.maps[&7];
    let bucket = &map.locks[&LockClass::Bucket];
    let counts = LockOutcome::ALL.map(|outcome| bucket.count(outcome));
    assert_eq!(counts, [11, 2, 3, 9]);
    assert_eq!(bucket.waited_ns_by_cpu, [24 * 500, 0, 500]);
    assert_eq!(bucket.waited_ns(), Some(25 * 500));
    assert_eq!(bucket.durations, Some(durations(500, 25)));
    assert_eq!(map.locks[&LockClass::Freelist].count(LockOutcome::Ok), 6);
    assert_eq!(map.locks.len(), 2, "no class that nobody waited for");
    assert_eq!(map.updates(Outcome::Ok), 20, "waits are no updates");
    assert_eq!(map.pops.as_ref().unwrap().ok, Some(20));
    assert_eq!(snapshot.cpu_pops.len(), 1);
}

#[test]
fn a_wait_without_timings_is_counted_and_how_long_it_took_is_not_known() {
    let untimed = Row {
        durations: None,
        ..waits(1, LockClass::Lru, 8, &[])
    };
    let snapshot = folded(None, vec![untimed]);
    let lru = &snapshot.maps[&7].locks[&LockClass::Lru];
    assert_eq!((lru.count(LockOutcome::Ok), lru.waited_ns()), (8, None));
    assert_eq!(lru.durations, None);
}
