//! A host on which things happen, made by hand: samples go through the real detector to the real readers.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use mapstorm::{
    identity::MapType,
    motion::History,
    probes::{Mechanism, ProbeStatus, Refusal},
    publisher::Publisher,
    snapshot::{Durations, Listed, MapStats, OpStats, PopStats, Snapshot},
    storm::{Board, Detector, Thresholds},
    view::{Phase, View, Views},
};
use mapstorm_abi::{Op, Outcome, bucket};

use crate::by_hand;

/// Length of a sample window.
pub(crate) const INTERVAL: Duration = Duration::from_millis(250);
/// CPUs of the host.
const CPUS: u32 = 6;
/// What a storm makes of durations.
const SLOWER: u64 = 300;
/// The map that gets into a storm is the first; its id has callers in the view made by hand.
const NAMES: [&str; 9] = [
    "flows",
    "conn_track",
    "dns_cache",
    "tenants",
    "ratelimit",
    "sessions",
    "nat_ports",
    "policy",
    "events_idx",
];

/// A host in some window.
pub(crate) struct Scene {
    publisher: Publisher,
    snapshot: Snapshot,
    storm: bool,
    pops_are_timed: bool,
}

impl Scene {
    /// A calm host whose kernel shows how long pops take, or does not.
    pub(crate) fn start(pops_are_timed: bool) -> (Self, Views) {
        let by_hand = by_hand::view();
        let maps = NAMES.iter().zip(by_hand::FULL..);
        let maps = maps.map(|(name, id)| (id, Arc::new(map(name, id, pops_are_timed))));
        let snapshot = Snapshot {
            window: 1,
            taken: None,
            elapsed: INTERVAL,
            maps: maps.collect(),
            cpu_pops: Default::default(),
            ..Snapshot::clone(&by_hand.snapshot)
        };
        let view = View {
            phase: Phase::Armed,
            snapshot: Arc::new(snapshot.clone()),
            probes: probes(pops_are_timed),
            storms: Board::default(),
            history: History::default(),
            ..by_hand
        };
        let detector = Detector::new(Thresholds::default(), view.host.freelist);
        let (publisher, views) = Publisher::new(view, detector);
        let scene = Self {
            publisher,
            snapshot,
            storm: false,
            pops_are_timed,
        };
        (scene, views)
    }

    /// From now on the first map is full and refuses what it is given, slowly, or no longer is and does.
    pub(crate) fn set_storm(&mut self, storm: bool) {
        self.storm = storm;
    }

    /// One window passes, and ends at `taken`.
    pub(crate) fn pass(&mut self, taken: SystemTime) {
        self.snapshot.window += 1;
        self.snapshot.taken = Some(taken);
        let wave = 1.0 + (self.snapshot.window as f64 / 40.0).sin();
        for (rank, (&id, map)) in (0u32..).zip(&mut self.snapshot.maps) {
            let map = Arc::make_mut(map);
            let stormy = self.storm && id == by_hand::FULL;
            let events = if stormy {
                9000
            } else {
                (4000.0 / f64::from(rank + 1)) as u64
            };
            let calm = 300 + 100 * u64::from(rank) + (200.0 * wave) as u64;
            let pop = if stormy { calm * SLOWER } else { calm };
            if id == by_hand::FULL {
                map.entries = Some(if self.storm { 65_536 } else { 41_000 });
            }
            update(map, events, pop + 400, stormy);
            if self.pops_are_timed
                && let Some(pops) = &mut map.pops
            {
                time(pops.durations.get_or_insert_default(), events, pop);
                for cpu in 0..CPUS {
                    let cpu_pops = self.snapshot.cpu_pops.entry(cpu).or_default();
                    let slower = pop * u64::from(4 + cpu) / 4;
                    time(cpu_pops, events / u64::from(CPUS), slower);
                }
            }
        }
        self.publisher
            .publish(self.snapshot.clone(), Duration::ZERO);
    }
}

/// A map that nothing has happened on yet.
fn map(name: &str, id: u32, pops_are_timed: bool) -> MapStats {
    let lru = id % 3 == 1 && id != by_hand::FULL;
    let max_entries = 65_536;
    MapStats {
        name: name.to_owned(),
        kind: if lru {
            MapType::LRU_HASH
        } else {
            MapType::HASH
        },
        max_entries,
        flags: 0,
        // Of some maps it is not known.
        entries: (!lru).then(|| u64::from(max_entries) * u64::from(id % 7) / 8),
        listed: Some(Listed {
            key_size: 16,
            value_size: 48,
            memory: Some(7_340_032 / u64::from(id)),
        }),
        ops: Default::default(),
        pops: (!lru).then(|| PopStats {
            ok: Some(0),
            durations: pops_are_timed.then(Durations::default),
            ..PopStats::default()
        }),
        locks: Default::default(),
    }
}

fn update(map: &mut MapStats, events: u64, ns: u64, refused: bool) {
    let update: &mut OpStats = map.ops.entry(Op::Update).or_default();
    let outcome = if refused { Outcome::E2big } else { Outcome::Ok };
    update.outcomes[outcome as usize] += events;
    let by_cpu = |counts: &mut Vec<u64>| {
        counts.resize(CPUS as usize, 0);
        counts
            .iter_mut()
            .for_each(|count| *count += events / u64::from(CPUS));
    };
    by_cpu(&mut update.by_cpu);
    if refused {
        by_cpu(&mut update.exhausted_by_cpu);
    }
    time(update.durations.get_or_insert_default(), events, ns);
}

/// Most take `ns`, some more, some less.
fn time(durations: &mut Durations, events: u64, ns: u64) {
    for (share, ns) in [
        (events / 2, ns),
        (events / 3, ns * 2 / 3),
        (events / 6, ns * 2),
    ] {
        durations.buckets[bucket::index(ns)] += share;
        durations.sum_ns += share * ns;
    }
}

fn probes(pops_are_timed: bool) -> Arc<[ProbeStatus]> {
    let probe = |probe, signal, hook: &str, refusal| ProbeStatus {
        probe,
        signal,
        hook: hook.to_owned(),
        mechanism: Mechanism::Fexit,
        refusal,
    };
    let inlined = (!pops_are_timed).then(|| Refusal {
        reason: "inlined",
        detail: "the function is not in this kernel".to_owned(),
        remedy: String::new(),
    });
    Arc::new([
        probe("htab_update_exit", "update", "htab_map_update_elem", None),
        probe("pop_exit", "pop", "__pcpu_freelist_pop", inlined),
    ])
}
