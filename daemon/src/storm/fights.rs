//! Fights over maps: what is made of them by hand, and what holds for every sequence of them.

mod by_hand;
mod properties;

use std::sync::Arc;

use mapstorm_abi::{LockClass, Op, Outcome, bucket};

use super::{
    Detector, End, Kind, StormEvent, Thresholds, ToldBy,
    calm::ENOUGH,
    change::tests::timed,
    examples::{WINDOW, detector},
};
use crate::{
    facts::FreelistGeneration,
    identity::MapType,
    snapshot::{Durations, LockOutcome, MapStats, PopStats, Snapshot},
};

/// What happens to one map in one window, on two CPUs alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fight {
    /// How long each update takes, and the pop in it; 0 for pops that cannot be timed.
    pub(super) update_ns: u64,
    pub(super) pops_ns: u64,
    /// Updates on each CPU.
    pub(super) calls: u64,
    /// Time that each CPU waits for locks of buckets, free lists and LRU lists.
    pub(super) waits_ns: [u64; 3],
    /// Updates refused because the map is full, and for want of memory, on each CPU.
    pub(super) refused: [u64; 2],
}

impl Fight {
    /// Updates of so many nanoseconds, 5,000 on each CPU; nobody is seen to wait.
    pub(super) fn slow(update_ns: u64) -> Self {
        Self {
            update_ns,
            pops_ns: 500,
            calls: 5000,
            waits_ns: [0; 3],
            refused: [0; 2],
        }
    }

    /// A hash after this window.
    pub(super) fn map(self) -> MapStats {
        let mut map = timed(&[]);
        self.add_to(&mut map);
        map
    }

    fn add_to(self, map: &mut MapStats) {
        let Self {
            update_ns,
            pops_ns,
            calls,
            waits_ns,
            refused: [exhausted, starved],
        } = self;
        let update = map.ops.entry(Op::Update).or_default();
        let time = |durations: &mut Option<Durations>, ns| {
            let durations = durations.get_or_insert_default();
            durations.buckets[bucket::index(ns)] += 2 * calls;
            durations.sum_ns += 2 * calls * ns;
        };
        time(&mut update.durations, update_ns);
        let mut of_one = Durations::default();
        of_one.buckets[bucket::index(update_ns)] = calls;
        for cpu in 0..2 {
            update.octaves_on(cpu).add(&of_one);
        }
        add(&mut update.by_cpu, [calls + exhausted + starved; 2]);
        add(&mut update.exhausted_by_cpu, [exhausted; 2]);
        add(&mut update.starved_by_cpu, [starved; 2]);
        update.outcomes[Outcome::Ok as usize] += 2 * calls;
        update.outcomes[Outcome::E2big as usize] += 2 * exhausted;
        update.outcomes[Outcome::Enomem as usize] += 2 * starved;
        if pops_ns > 0 {
            time(
                &mut map.pops.get_or_insert_with(PopStats::default).durations,
                pops_ns,
            );
        }
        let classes = [LockClass::Bucket, LockClass::Freelist, LockClass::Lru];
        for (class, ns) in classes.into_iter().zip(waits_ns).filter(|(_, ns)| *ns > 0) {
            waited(map, class, &[ns; 2]);
        }
    }
}

/// Waits of a class in a window of a fight, at least; more than one in a hundred of the operations of most.
const WAITS_OF_A_FIGHT: u64 = 500;
/// How long they take at most, in the mean, nanoseconds.
const WAIT_NS: u64 = 100_000;

/// Adds time waited by CPU, nanoseconds, in many waits.
pub(super) fn waited(map: &mut MapStats, class: LockClass, by_cpu: &[u64]) {
    let stats = map.locks.entry(class).or_default();
    stats.outcomes[LockOutcome::Ok as usize] +=
        WAITS_OF_A_FIGHT.max(by_cpu.iter().sum::<u64>() / WAIT_NS);
    add(&mut stats.waited_ns_by_cpu, by_cpu.iter().copied());
}

fn add(sums: &mut Vec<u64>, more: impl IntoIterator<Item = u64>) {
    for (cpu, n) in more.into_iter().enumerate() {
        sums.resize(sums.len().max(cpu + 1), 0);
        sums[cpu] += n;
    }
}

/// Leads map 7 of a type through windows; says in which what happened.
fn run(detector: &mut Detector, kind: MapType, windows: &[Fight]) -> Vec<(u64, StormEvent)> {
    let start = MapStats { kind, ..timed(&[]) };
    let snapshot = |window, map| Snapshot {
        window,
        elapsed: WINDOW,
        maps: [(7, map)].into(),
        ..Snapshot::default()
    };
    let mut previous = snapshot(0, Arc::new(start));
    let mut events = Vec::new();
    for (window, fight) in (1..).zip(windows) {
        let mut map = Arc::clone(&previous.maps[&7]);
        // A map that nobody touches stays the very same.
        if fight.calls > 0 || fight.refused != [0; 2] || fight.waits_ns != [0; 3] {
            fight.add_to(Arc::make_mut(&mut map));
        }
        let current = snapshot(window, map);
        let seen = detector.observe(&previous, &current);
        events.extend(seen.into_iter().map(|event| (window, event)));
        previous = current;
    }
    events
}

const CALM: Fight = Fight {
    update_ns: 1000,
    pops_ns: 500,
    calls: 5000,
    waits_ns: [0; 3],
    refused: [0; 2],
};
const IDLE: Fight = Fight { calls: 0, ..CALM };
/// Both CPUs wait for a fifth of the window.
const WAITS: u64 = WINDOW.as_nanos() as u64 / 5;

/// The one storm of these windows: where it opened, where it closed, what it was.
fn one(kind: MapType, windows: &[Fight]) -> (u64, u64, super::Storm) {
    let events = run(&mut detector(), kind, windows);
    let [
        (opened, StormEvent::Opened(_)),
        (closed, StormEvent::Closed(storm)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    (*opened, *closed, storm.clone())
}
