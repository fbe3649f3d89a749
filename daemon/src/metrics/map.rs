//! Rows about one map, in three tiers of detail.

use mapstorm_abi::{Op, Outcome};

use super::{
    cap::{MapRows, Rank},
    family,
    histogram::classic,
    row::Row,
};
use crate::{
    identity::MapId,
    snapshot::{MapStats, OpStats, PopStats},
    view::View,
};

/// Value of the label `op` for `alloc_htab_elem`, timed where a pop cannot be.
const OP_ALLOC: &str = "alloc";

/// The rows of every map of the view.
pub(super) fn all(view: &View) -> Vec<MapRows> {
    let maps = view.snapshot.maps.iter();
    maps.map(|(&id, map)| one(view, id, map)).collect()
}

fn one(view: &View, id: MapId, map: &MapStats) -> MapRows {
    let (id_text, kind) = (id.to_string(), map.kind.label());
    let labels = [id_text.as_str(), &map.name, &kind];
    let storms = storms(view, id, labels);
    let rank = match () {
        () if view.storms.active.iter().any(|storm| storm.map_id == id) => Rank::Storm,
        () if view.idle.contains(&id) => Rank::Idle,
        () => Rank::Busy,
    };
    let mut facts = facts(map, labels);
    facts.extend(storms);
    MapRows {
        rank,
        events: map.update_outcomes().iter().sum(),
        facts,
        counts: counts(map, labels),
        durations: durations(map, labels),
    }
}

/// What the map is, and how full.
fn facts(map: &MapStats, labels: [&str; 3]) -> Vec<Row> {
    let [id, name, kind] = labels;
    let flags = format!("{:#x}", map.flags);
    let max_entries = map.max_entries.into();
    let mut rows = vec![
        Row::count(&family::MAP_INFO, &[id, name, kind, &flags], 1),
        Row::count(&family::MAP_MAX_ENTRIES, &labels, max_entries),
    ];
    rows.extend(
        map.entries
            .map(|n| Row::count(&family::MAP_ENTRIES, &labels, n)),
    );
    rows.extend(
        map.fill()
            .map(|fill| Row::number(&family::MAP_FILL_RATIO, &labels, fill)),
    );
    rows
}

/// Operations and pops by outcome: all that can be seen together, so that `increase()` sees a first
/// event; none of an operation that was never seen.
fn counts(map: &MapStats, labels: [&str; 3]) -> Vec<Row> {
    let [id, name, kind] = labels;
    let update = Op::Update.label();
    let operations = |stats: &OpStats| {
        Outcome::ALL.map(|outcome| {
            let labels = [id, name, kind, update, outcome.label()];
            Row::count(&family::OPERATIONS, &labels, stats.count(outcome))
        })
    };
    let pops = |pops: &PopStats| {
        let outcomes = [("ok", pops.ok), ("empty", Some(pops.empty))];
        outcomes.into_iter().filter_map(|(outcome, n)| {
            let labels = [id, name, kind, outcome];
            Some(Row::count(&family::POPS, &labels, n?))
        })
    };
    let operations = map.update.iter().flat_map(operations);
    operations.chain(map.pops.iter().flat_map(pops)).collect()
}

/// Durations, each only where it was measured.
fn durations(map: &MapStats, labels: [&str; 3]) -> Vec<Row> {
    let [id, name, kind] = labels;
    let pops = map.pops.as_ref();
    let update = map.update.as_ref();
    let operations = [
        (
            Op::Update.label(),
            update.and_then(|update| update.durations.as_ref()),
        ),
        (OP_ALLOC, pops.and_then(|pops| pops.alloc.as_ref())),
    ];
    let operations = operations.into_iter().filter_map(|(op, durations)| {
        let labels = [id, name, kind, op];
        Some(Row::histogram(
            &family::OPERATION_DURATION,
            &labels,
            classic(durations?),
        ))
    });
    let pops = pops.and_then(|pops| pops.durations.as_ref());
    let pops = pops.map(|pops| Row::histogram(&family::POP_DURATION, &labels, classic(pops)));
    operations.chain(pops).collect()
}

/// The map's open storms, and a zero for those it has had.
fn storms(view: &View, id: MapId, labels: [&str; 3]) -> Vec<Row> {
    let [id_text, name, kind] = labels;
    let mut rows = Vec::new();
    for storm in view.storms.active.iter().filter(|storm| storm.map_id == id) {
        let labels = [id_text, name, kind, storm.kind.label()];
        let rejects = storm.rejects_per_second;
        rows.push(Row::count(&family::STORM_ACTIVE, &labels, 1));
        rows.push(Row::count(&family::STORM_CPUS, &labels, storm.cpus.into()));
        rows.push(Row::number(&family::STORM_REJECTS, &labels, rejects));
    }
    for (_, calmed) in view.storms.calmed.iter().filter(|(map, _)| *map == id) {
        let labels = [id_text, name, kind, calmed.label()];
        rows.push(Row::count(&family::STORM_ACTIVE, &labels, 0));
    }
    rows
}
