//! Rows as the kernel's tables give them, and what becomes of them.

use mapstorm_abi::Lost;

use super::*;

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
        op: Op::Update,
        map_type: MapType::HASH.0,
        max_entries: 1000,
        flags: 0,
        name: name("flows"),
        outcomes,
        pops: [ok, full],
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
    }
}

fn listing(read: Instant, ids: &[MapId]) -> Listing {
    let maps = ids.iter().map(|&id| (id, identity(MapType::HASH)));
    Listing {
        read,
        maps: maps.collect(),
    }
}

/// One snapshot of these rows by a new fold.
fn folded(source: Option<PopSource>, rows: Vec<Row>) -> Snapshot {
    Fold::new(source).fold(rows, [], None, Instant::now())
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
    (refused.pops, refused.pop_durations) = ([0, 0], None);
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
        assert!(snapshot.maps[&7].update.is_some());
    }
}

#[test]
fn a_map_that_nobody_touched_is_known_without_a_single_zero() {
    let now = Instant::now();
    let mut listing = listing(now, &[7, 9]);
    listing.maps.insert(9, identity(MapType::LRU_HASH));
    let mut fold = Fold::new(Some(PopSource::Pop));
    let snapshot = fold.fold([row(0, 7, 1, 0)], [], Some(&listing), now);
    assert!(snapshot.maps[&7].update.is_some());
    let idle = &snapshot.maps[&9];
    assert_eq!((&*idle.name, idle.kind), ("flows", MapType::LRU_HASH));
    assert!(idle.update.is_none() && idle.pops.is_none());
}

#[test]
fn losses_are_summed_over_cpus() {
    let mut lost = [0; Lost::COUNT];
    lost[Lost::NoSlot as usize] = 3;
    let cpu = CpuRow {
        lost,
        host_updates: [1; Outcome::COUNT],
        host_pops: [2, 3],
    };
    let cpus = [cpu, cpu];
    let snapshot = Fold::new(None).fold([], cpus, None, Instant::now());
    assert_eq!(snapshot.lost[Lost::NoSlot as usize], 6);
    assert_eq!(snapshot.host.updates, [2; Outcome::COUNT]);
    assert_eq!(snapshot.host.pops, [4, 6]);
}

#[test]
fn a_map_that_is_gone_stays_for_two_minutes_and_leaves_its_pops_to_the_host() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut fold = Fold::new(Some(PopSource::Pop));
    let rows = || vec![row(0, 7, 5, 0), row(0, 8, 1, 0)];
    let mut see = |seconds, ids: &[MapId], rows: Vec<Row>| {
        let listing = listing(at(seconds), ids);
        let snapshot = fold.fold(rows, [], Some(&listing), at(seconds));
        (snapshot, fold.departed().clone())
    };
    see(0, &[7, 8], rows());
    let (snapshot, departed) = see(119, &[8], rows());
    assert_eq!((snapshot.maps.len(), departed.len()), (2, 0));
    for seconds in [120, 121] {
        let (snapshot, departed) = see(seconds, &[8], rows());
        assert_eq!(snapshot.maps.keys().collect::<Vec<_>>(), [&8]);
        assert_eq!(departed, [7].into());
        assert_eq!(snapshot.cpu_pops[&0].count(), 6, "a counter never falls");
    }
    let (snapshot, departed) = see(122, &[8], vec![row(0, 8, 1, 0)]);
    assert!(departed.is_empty(), "its slot was freed");
    assert_eq!(snapshot.cpu_pops[&0].count(), 6);
}

#[test]
fn a_map_newer_than_the_inventory_or_still_counting_is_not_gone() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut fold = Fold::new(None);
    let old = listing(start, &[]);
    for seconds in [0, 100, 200, 300] {
        let snapshot = fold.fold([row(0, 7, 1, 0)], [], Some(&old), at(seconds));
        assert_eq!(snapshot.maps.len(), 1, "an unread inventory ages nothing");
    }
    let mut fold = Fold::new(None);
    for seconds in [0, 100, 200, 300] {
        let listing = listing(at(seconds), &[]);
        let snapshot = fold.fold([row(0, 7, seconds, 0)], [], Some(&listing), at(seconds));
        assert_eq!(snapshot.maps.len(), 1, "its counters move");
    }
}
