//! The table in a file, programs that count in it as the real ones do, and what comes out.

use std::{fs::OpenOptions, os::fd::AsFd as _, thread};

use mapstorm_abi::{
    Outcome,
    bucket::index,
    slot::{KEY_EMPTY, KEY_TOMBSTONE, NO_TIMINGS, PROBES, key, next, slot_mask, start},
};

use super::*;
use crate::{
    fold::{Fold, GHOSTS, Listing},
    kernel::{MapIdentity, table::Table, tables::Geometry},
    pops::PopSource,
};

const GEOMETRY: Geometry = Geometry {
    cpus: 2,
    slots: 64,
    timings: 4,
};

/// A host: its table, and what it should say.
struct World {
    harvester: Harvester,
    now: Instant,
    past: BTreeMap<MapId, u64>,
}

impl World {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("mapstorm-{:?}", thread::current().id()));
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true);
        let file = file.open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let bytes = GEOMETRY.cpus * GEOMETRY.value_bytes();
        file.set_len(bytes.next_multiple_of(4096) as u64).unwrap();
        let tables = Tables::map(GEOMETRY, file.as_fd()).unwrap();
        Self {
            harvester: Harvester::new(tables),
            now: Instant::now(),
            past: BTreeMap::new(),
        }
    }

    fn values(&self) -> &Table {
        &self.harvester.tables.values
    }

    /// What a program does when an update of `map` ends on `cpu`; was there a slot?
    fn update(&self, cpu: usize, map: MapId) -> bool {
        let (key, mask) = (key(map, Op::Update), slot_mask(GEOMETRY.slots));
        let (mut offset, mut free) = (start(key, mask), None);
        for probe in 1..=PROBES {
            let slot = size_of::<CpuState>() + offset as usize;
            match self.values().word(cpu, slot).load(Ordering::Acquire) {
                found if found == key => return self.count(cpu, slot),
                KEY_EMPTY => {
                    free = free.or(Some(slot));
                    break;
                }
                KEY_TOMBSTONE => free = free.or(Some(slot)),
                _ => {}
            }
            offset = next(offset, probe, mask);
        }
        let Some(slot) = free else {
            return false;
        };
        let half = |at| self.values().half(cpu, at);
        half(slot + offset_of!(Slot, map_type)).store(MapType::HASH.0, Ordering::Relaxed);
        let fresh = half(offset_of!(CpuState, next_timings));
        let timings = match fresh.load(Ordering::Relaxed) {
            next if GEOMETRY.has_timings(next) => {
                fresh.store(next + size_of::<Timings>() as u32, Ordering::Relaxed);
                next
            }
            _ => half(offset_of!(CpuState, offered_timings)).swap(0, Ordering::Relaxed),
        };
        let timings = if timings == 0 { NO_TIMINGS } else { timings };
        half(slot + offset_of!(Slot, timings)).store(timings, Ordering::Relaxed);
        half(offset_of!(CpuState, claims)).fetch_add(1, Ordering::Relaxed);
        self.values().word(cpu, slot).store(key, Ordering::Release);
        self.count(cpu, slot)
    }

    fn count(&self, cpu: usize, slot: usize) -> bool {
        let add = |at, n| self.values().word(cpu, at).fetch_add(n, Ordering::Relaxed);
        add(
            slot + offset_of!(Slot, outcomes) + 8 * Outcome::Ok as usize,
            1,
        );
        let timings = self.values().half(cpu, slot + offset_of!(Slot, timings));
        let timings = timings.load(Ordering::Acquire);
        if GEOMETRY.has_timings(timings) {
            add(timings as usize + 8 * index(1000), 1);
        }
        true
    }

    /// A sample a second later, and what it and all before it say: updates, and those timed, by map.
    fn sample(&mut self, gone: &[MapId]) -> (Harvest, BTreeMap<MapId, u64>) {
        self.now += Duration::from_secs(1);
        let gone = gone.iter().copied().collect();
        let harvest = self.harvester.harvest(&gone, self.now);
        let timed = |row: &Row| row.durations.as_ref().map_or(0, Durations::count);
        for row in &harvest.left {
            *self.past.entry(row.map_id).or_default() += timed(row);
        }
        let mut all = self.past.clone();
        for row in &harvest.rows {
            *all.entry(row.map_id).or_default() += timed(row);
        }
        (harvest, all)
    }

    /// Samples until the tickets given by the first of them have passed.
    fn wait(&mut self, gone: &[MapId]) -> Harvest {
        let (mut all, _) = self.sample(gone);
        let ticket = self.harvester.grace.ticket();
        while !self.harvester.grace.has_passed(ticket) {
            let (harvest, _) = self.sample(gone);
            all.left.extend(harvest.left);
            all.buried.extend(harvest.buried);
            all.rows = harvest.rows;
            thread::sleep(Duration::from_millis(1));
        }
        all
    }
}

#[test]
fn only_maps_that_moved_are_read_and_each_of_them_whole() {
    let mut world = World::new();
    for (cpu, map) in [(0, 7), (1, 7), (1, 8)] {
        assert!(world.update(cpu, map));
    }
    assert_eq!(world.sample(&[]).0.rows.len(), 3);
    assert_eq!(
        world.sample(&[]).0.rows.len(),
        3,
        "a straggler may still time"
    );
    assert!(world.sample(&[]).0.rows.is_empty());
    world.update(0, 7);
    let (harvest, _) = world.sample(&[]);
    let rows: Vec<_> = harvest
        .rows
        .iter()
        .map(|row| (row.cpu, row.map_id))
        .collect();
    assert_eq!(rows, [(0, 7), (1, 7)]);
    assert_eq!((harvest.room.slots, harvest.room.slots_used), (64, 2));
    assert_eq!((harvest.room.timings, harvest.room.timings_used), (4, 2));
}

#[test]
fn a_buried_map_leaves_its_last_counts_and_its_slots_and_timings_to_the_next() {
    let mut world = World::new();
    for round in 0..10 {
        let maps = 4 * round + 1..4 * round + 5;
        for map in maps.clone() {
            assert!(world.update(0, map));
        }
        let (harvest, _) = world.sample(&[]);
        assert!(harvest.buried.is_empty());
        assert_eq!(harvest.room.slots_used, 4);
        // Too late for the sample, and not lost.
        world.update(0, maps.start);
        let gone: Vec<_> = maps.clone().collect();
        let harvest = world.wait(&gone);
        assert_eq!(harvest.buried, maps.clone().collect());
        let counted = harvest.left.iter().map(|row| row.outcomes[0]);
        assert_eq!(counted.sum::<u64>(), 5);
        assert_eq!(world.harvester.places.most(), 0);
    }
    assert_eq!(world.sample(&[]).0.room.slots_used, 0);
    let used = world.harvester.tables.timings_used(0);
    assert_eq!(used, 0, "only one is offered at a time, none is lost");
}

#[test]
fn tombstones_that_no_search_passes_become_free_slots_and_no_key_is_lost() {
    let mut world = World::new();
    let keys = |world: &World, wanted: u64| {
        let slots = 0..GEOMETRY.slots as u32;
        let keys = slots.map(|slot| {
            world
                .values()
                .word(0, slot_at(slot))
                .load(Ordering::Relaxed)
        });
        keys.filter(|&key| key == wanted).count()
    };
    for round in 0..20 {
        // Two stay, forty come and go.
        let maps = 100 * round + 1..100 * round + 41;
        for map in maps.clone().chain([1_000_000, 2_000_000]) {
            assert!(world.update(0, map));
        }
        world.sample(&[]);
        world.wait(&maps.collect::<Vec<_>>());
    }
    for _ in 0..20 {
        world.wait(&[]);
        world.now += Duration::from_secs(5);
    }
    let tombstones = keys(&world, KEY_TOMBSTONE);
    assert!(tombstones <= 2, "{tombstones} tombstones");
    for map in [1_000_000, 2_000_000] {
        world.update(0, map);
        assert_eq!(keys(&world, key(map, Op::Update)), 1);
    }
    let rows = world.sample(&[]).0.rows;
    assert!(rows.iter().all(|row| row.outcomes[0] == 21));
}

#[test]
fn a_map_that_gives_a_sign_of_life_is_not_buried() {
    let mut world = World::new();
    world.update(0, 7);
    let ticket = world.harvester.grace.ticket();
    world.sample(&[7]);
    world.sample(&[]);
    while !world.harvester.grace.has_passed(ticket) {
        world.sample(&[]);
        thread::sleep(Duration::from_millis(1));
    }
    assert!(world.sample(&[7]).0.buried.is_empty(), "a new wait begins");
}

#[test]
fn timings_go_to_the_busiest_while_programs_run_and_no_histogram_goes_back() {
    let mut world = World::new();
    // Eight maps for four timings, and the late ones do the work.
    let updates = |map: MapId| if map <= 4 { 1 } else { 50 };
    let (mut before, mut truth) = (BTreeMap::new(), BTreeMap::<MapId, u64>::new());
    for round in 0..60 {
        for cpu in 0..GEOMETRY.cpus {
            for map in 1..=8 {
                for _ in 0..updates(map) {
                    assert!(world.update(cpu, map));
                    *truth.entry(map).or_default() += 1;
                }
            }
        }
        let (harvest, timed) = world.sample(&[]);
        for (map, &n) in &timed {
            let was = before.get(map).copied().unwrap_or(0);
            assert!(
                n >= was,
                "round {round}: {n} timed of map {map}, {was} before"
            );
        }
        for row in &harvest.rows {
            assert_eq!(2 * row.outcomes[0], truth[&row.map_id], "all are counted");
        }
        if round < 2 {
            assert_eq!(harvest.room.timings_used, 4);
        }
        before = timed;
        thread::sleep(Duration::from_millis(2));
    }
    let (harvest, _) = world.sample(&[]);
    assert_eq!(harvest.room.untimed_pairs, 4);
    let with_timings = |map| {
        let mut rows = harvest.rows.iter().filter(|row| row.map_id == map);
        rows.all(|row| row.durations.is_some())
    };
    let timed = (5..=8).filter(|&map| with_timings(map)).count();
    assert_eq!(timed, 4, "the busy ones are timed");
    let counted: u64 = (5..=8).map(|map| before[&map]).sum();
    assert!(counted > 4 * 2 * 50 * 20, "only {counted} were timed");
}

#[test]
fn o10_maps_that_come_and_go_leave_nothing_in_the_tables() {
    let mut world = World::new();
    let mut fold = Fold::new(Some(PopSource::Pop));
    let mut gone = Vec::new();
    let mut made = 0;
    while made < 4_000 {
        let maps: Vec<MapId> = (made + 1..made + 9).collect();
        made += 8;
        // Who finds no slot waits for those of the maps before.
        for cpu in 0..GEOMETRY.cpus {
            for &map in &maps {
                while !world.update(cpu, map) {
                    thread::sleep(Duration::from_millis(1));
                    churn(&mut world, &mut fold, &maps);
                }
            }
        }
        gone = maps;
        churn(&mut world, &mut fold, &gone);
    }
    drop(gone);
    while world.harvester.places.most() > 0 || world.harvester.tables.timings_used(0) > 0 {
        churn(&mut world, &mut fold, &[]);
        thread::sleep(Duration::from_millis(1));
    }
}

/// A sample of a host that has these maps and no others.
fn churn(world: &mut World, fold: &mut Fold, maps: &[MapId]) {
    world.now += Duration::from_millis(100);
    let identity = MapIdentity {
        map_type: 1,
        ..MapIdentity::default()
    };
    let listing = Listing {
        read: world.now,
        maps: maps.iter().map(|&map| (map, identity)).collect(),
    };
    world.now += Duration::from_millis(1);
    let harvest = world.harvester.harvest(fold.gone(), world.now);
    let snapshot = fold.fold(harvest, Some(&listing), world.now);
    let rows = snapshot.maps.len();
    let live = GEOMETRY.cpus * GEOMETRY.slots + maps.len();
    assert!(rows <= GHOSTS + live, "{rows} maps");
    for map in snapshot.maps.values() {
        let counted = map.updates(Outcome::Ok);
        assert!(counted <= 2, "{counted} updates of a map that had two");
    }
}
