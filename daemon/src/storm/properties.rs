//! What holds for every sequence of snapshots, checked on random ones against a plain oracle.

use std::{collections::BTreeMap, time::Duration};

use mapstorm_abi::Outcome;
use proptest::{collection::vec, option, prelude::*};

use super::{
    Detector, End, StormEvent, Thresholds,
    change::tests::map,
    examples::{HALF, STORM, WINDOW, snapshot},
};
use crate::{facts::FreelistGeneration, identity::MapId, snapshot::Snapshot};

/// One map's part in one step: refusals on each of two CPUs, elements; or it is not there.
type Part = Option<([u64; 2], Option<u64>)>;

/// What happens in one window.
#[derive(Clone, Debug)]
struct Step {
    /// No time passes.
    still: bool,
    /// Map 1 is replaced by a fresh one of the same id.
    replaced: bool,
    /// Maps 1 and 2.
    parts: Vec<Part>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let refusals = || {
        prop_oneof![
            Just(0),
            Just(HALF - 1),
            Just(HALF),
            Just(STORM),
            0..2 * STORM
        ]
    };
    let entries = option::of(prop_oneof![Just(449), Just(899), Just(900), 0..=1000u64]);
    let part = option::weighted(0.9, ([refusals(), refusals()], entries));
    let rarely = || prop::bool::weighted(0.05);
    let step = (rarely(), rarely(), vec(part, 2));
    let step = step.prop_map(|(still, replaced, parts)| Step {
        still,
        replaced,
        parts,
    });
    vec(step, 1..60)
}

/// The snapshots that steps lead to: counters are running totals.
#[derive(Default)]
struct World {
    window: u64,
    totals: BTreeMap<MapId, [u64; 2]>,
}

impl World {
    fn after(&mut self, step: &Step) -> Snapshot {
        self.window += 1;
        let elapsed = if step.still { Duration::ZERO } else { WINDOW };
        let mut next = snapshot(self.window, elapsed, &[]);
        for (id, part) in (1..).zip(&step.parts) {
            let Some((refusals, entries)) = part else {
                self.totals.remove(&id);
                continue;
            };
            let total = self.totals.entry(id).or_default();
            for (total, n) in total.iter_mut().zip(refusals) {
                *total += n;
            }
            if id == 1 && step.replaced {
                *total = [0; 2];
            }
            next.maps.insert(id, map(total, *entries).into());
        }
        next
    }
}

/// What the definition says of one map.
#[derive(Default)]
struct Oracle {
    /// Its windows so far: does the evidence hold, is it calm?
    windows: Vec<(bool, bool)>,
    open: bool,
}

impl Oracle {
    fn evidence(&self, windows: u32) -> bool {
        self.last(windows, |window| window.0)
    }

    fn calm(&self, windows: u32) -> bool {
        self.last(windows, |window| window.1)
    }

    fn last(&self, windows: u32, holds: impl Fn(&(bool, bool)) -> bool) -> bool {
        let start = self.windows.len().checked_sub(windows as usize);
        start.is_some_and(|start| self.windows[start..].iter().all(holds))
    }
}

/// Judges every map's window by the definition. Returns the maps that are gone, or others now.
fn judge(
    oracles: &mut BTreeMap<MapId, Oracle>,
    previous: &Snapshot,
    current: &Snapshot,
) -> Vec<MapId> {
    let refused = |snapshot: &Snapshot, id| {
        let map = snapshot.maps.get(&id);
        map.map(|map| map.updates(Outcome::E2big))
    };
    let mut gone = Vec::new();
    for (&id, oracle) in &mut *oracles {
        if refused(current, id).is_none_or(|now| refused(previous, id).is_some_and(|n| n > now)) {
            oracle.windows.clear();
            gone.push(id);
        }
    }
    for (&id, map) in current.maps.iter().filter(|_| !current.elapsed.is_zero()) {
        let now = map.updates(Outcome::E2big);
        let before = refused(previous, id).filter(|&before| before <= now);
        let n = now - before.unwrap_or(0);
        let fill = map.entries.unwrap_or(1000);
        let window = (n >= STORM && fill >= 900, n < HALF || fill < 450);
        oracles.entry(id).or_default().windows.push(window);
    }
    gone
}

proptest! {
    #[test]
    fn storms_open_on_their_evidence_and_close_in_calm(
        steps in steps(),
        open_windows in 1..4u32,
        close_windows in 1..4u32,
    ) {
        let thresholds = Thresholds { open_windows, close_windows, ..Thresholds::default() };
        let mut detector = Detector::new(thresholds, FreelistGeneration::Unknown);
        let (mut world, mut oracles) = (World::default(), BTreeMap::new());
        let (mut previous, mut opened) = (Snapshot::default(), 0);
        for step in &steps {
            let current = world.after(step);
            let gone = judge(&mut oracles, &previous, &current);
            for event in detector.observe(&previous, &current) {
                let storm = event.storm();
                let oracle = oracles.entry(storm.map_id).or_default();
                if let StormEvent::Opened(_) = event {
                    prop_assert!(!oracle.open, "opened twice");
                    prop_assert!(oracle.evidence(open_windows), "opened without evidence");
                    prop_assert!(storm.closed.is_none() && storm.rejects > 0 && storm.cpus > 0);
                    opened += 1;
                } else {
                    prop_assert!(oracle.open, "closed but never opened");
                    let is_gone = gone.contains(&storm.map_id);
                    let end = if is_gone { End::MapGone } else { End::Calm };
                    prop_assert!(is_gone || oracle.calm(close_windows), "closed too early");
                    prop_assert_eq!(storm.closed.map(|closed| closed.end), Some(end));
                }
                oracle.open = !oracle.open;
            }
            for (id, oracle) in &oracles {
                prop_assert!(step.still || !oracle.open || !oracle.calm(close_windows), "{id} stays");
                prop_assert!(step.still || oracle.open || !oracle.evidence(open_windows), "{id} misses");
            }
            let expected = oracles.iter().filter(|(_, oracle)| oracle.open).map(|(&id, _)| id);
            let active = detector.active().map(|storm| storm.map_id);
            prop_assert!(active.eq(expected), "each open storm is active, once");
            prop_assert_eq!(detector.totals(), [opened, 0, 0, 0, 0]);
            previous = current;
        }
    }
}
