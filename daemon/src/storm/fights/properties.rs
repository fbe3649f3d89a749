//! What holds for every sequence of fights, of all kinds.

use proptest::{collection::vec, prelude::*};

use super::*;

fn fights() -> impl Strategy<Value = Vec<Fight>> {
    let update_ns = prop_oneof![Just(1000u64), Just(2500), 1000..90_000u64, Just(40_000)];
    let pops_ns = prop_oneof![Just(0u64), Just(500), Just(30_000)];
    let calls = prop_oneof![Just(0u64), Just(ENOUGH / 2 - 1), Just(5000), 0..20_000u64];
    let waits = || prop_oneof![3 => Just(0u64), 1 => Just(WAITS), 1 => 0..WAITS];
    let refused = || prop_oneof![4 => Just(0u64), 1 => Just(500), 1 => 0..1000u64];
    let fight = (
        update_ns,
        pops_ns,
        calls,
        [waits(), waits(), waits()],
        [refused(), refused()],
    );
    let fight = fight.prop_map(|(update_ns, pops_ns, calls, waits_ns, refused)| Fight {
        update_ns,
        pops_ns,
        calls,
        waits_ns,
        refused,
    });
    vec(fight, 1..40)
}

/// May this window be evidence of the kind? What is asked for here the definition needs, whatever the
/// calm of the map is taken to be.
fn may_be(kind: Kind, map: MapType, entries: Option<u64>, fight: &Fight) -> bool {
    let [exhausted, starved] = fight.refused;
    let per_second = |n: u64| 2.0 * n as f64 / WINDOW.as_secs_f64();
    let lost_ns = 2 * (fight.waits_ns.iter().sum::<u64>()).max(fight.update_ns * fight.calls);
    let lost = lost_ns as f64 / WINDOW.as_nanos() as f64 >= 0.04;
    let full = exhausted > 0 && entries.is_none_or(|n| n >= 900);
    match kind {
        Kind::Full => per_second(exhausted) >= 1000.0 && full,
        Kind::Alloc => !map.is_lru() && per_second(starved) >= 1000.0,
        Kind::Lru => map.is_lru() && (lost || per_second(starved) >= 1000.0),
        Kind::Freelist | Kind::HotBucket => !map.is_lru() && !full && lost,
    }
}

/// Are these windows evidence for certain, all of refusals or all of a fight?
fn must_be(map: MapType, entries: Option<u64>, fights: &[Fight]) -> bool {
    let full = |fight: &Fight| fight.refused[0] > 0 && entries.is_none_or(|n| n >= 900);
    let starved = |fight: &Fight| fight.refused[1] >= 125;
    let fought = |fight: &Fight| {
        fight.waits_ns.iter().sum::<u64>() >= WAITS && (map.is_lru() || !full(fight))
    };
    fights.iter().all(starved) || fights.iter().all(fought)
}

proptest! {
    #[test]
    fn no_kind_opens_without_its_evidence_and_none_stays_open_in_calm(
        fights in fights(),
        is_lru in any::<bool>(),
        is_full in any::<bool>(),
        open_windows in 1..4u32,
        close_windows in 1..4u32,
    ) {
        let thresholds = Thresholds { open_windows, close_windows, ..Thresholds::default() };
        let mut detector = Detector::new(thresholds, FreelistGeneration::Unknown);
        let kind = if is_lru { MapType::LRU_HASH } else { MapType::HASH };
        let entries = is_full.then_some(950);
        let start = MapStats { kind, entries, ..timed(&[]) };
        let mut previous = Snapshot { maps: [(7, Arc::new(start))].into(), ..Snapshot::default() };
        let mut open = Vec::new();
        let calm = vec![IDLE; close_windows as usize];
        for (at, fight) in fights.iter().chain(&calm).enumerate() {
            let mut map = Arc::clone(&previous.maps[&7]);
            fight.add_to(Arc::make_mut(&mut map));
            let current = Snapshot {
                window: at as u64 + 1,
                elapsed: WINDOW,
                maps: [(7, map)].into(),
                ..Snapshot::default()
            };
            for event in detector.observe(&previous, &current) {
                let storm = event.storm();
                match event {
                    StormEvent::Opened(_) => {
                        let since = (at + 1).checked_sub(open_windows as usize);
                        let windows = &fights[since.expect("opened too early")..=at];
                        // A fight may have had the other name in its first windows.
                        let mut held = windows.iter().map(|fight| may_be(storm.kind, kind, entries, fight));
                        prop_assert!(held.all(|held| held), "{:?} by {windows:?}", storm.kind);
                        prop_assert!(storm.cpus > 0 && !storm.evidence.text.is_empty());
                        prop_assert!(!open.contains(&storm.kind));
                        open.push(storm.kind);
                    }
                    StormEvent::Closed(_) => {
                        prop_assert_eq!(storm.closed.map(|closed| closed.end), Some(End::Calm));
                        prop_assert!(storm.severity.number() >= 1);
                        open.retain(|kind| *kind != storm.kind);
                    }
                }
            }
            let both = open.contains(&Kind::Freelist) && open.contains(&Kind::HotBucket);
            prop_assert!(!both, "one fight has two names");
            let since = (at + 1).saturating_sub(open_windows as usize);
            let certain = at + 1 >= open_windows as usize && at < fights.len()
                && must_be(kind, entries, &fights[since..=at]);
            prop_assert!(!certain || !open.is_empty(), "missed at {at}");
            prop_assert_eq!(detector.active().count(), open.len());
            previous = current;
        }
        prop_assert!(open.is_empty(), "{open:?} stay open after calm");
    }
}
