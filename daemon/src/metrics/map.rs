//! Rows about one map, in three tiers of detail.

use mapstorm_abi::{Op, Outcome};

use super::{
    By, Settings, by_name,
    cap::{MapRows, Rank},
    family,
    histogram::classic,
    row::Row,
};
use crate::{
    identity::MapId,
    snapshot::{LockOutcome, MapStats, OpStats, PopStats},
    view::View,
};

/// Value of the label `op` for `alloc_htab_elem`, timed where a pop cannot be.
const OP_ALLOC: &str = "alloc";

/// Users of a map that are published: the API lists all.
const MAX_USERS: usize = 16;

/// The rows of every map of the view that is published, and how many are not.
pub(super) fn all(view: &View, settings: &Settings) -> (Vec<MapRows>, usize) {
    let shown = |name: &str| settings.maps.shows(name);
    let all = view.snapshot.maps.iter().map(|(&id, map)| (id, &**map));
    let maps = all.filter(|(_, map)| shown(&map.name));
    let hidden = view.snapshot.maps.len() - maps.clone().count();
    let rows = match settings.by {
        By::Map => maps
            .map(|(id, map)| one(view, id, &id.to_string(), map))
            .collect(),
        By::Name => by_name::sums(view, maps, shown),
    };
    (rows, hidden)
}

/// What a map had counted that has left.
pub(super) fn totals(id_text: &str, map: &MapStats) -> MapRows {
    let kind = map.kind.label();
    let labels = [id_text, &map.name, &kind];
    MapRows {
        rank: Rank::Idle,
        events: map.events(),
        facts: Vec::new(),
        counts: counts(map, labels),
        details: durations(map, labels),
    }
}

/// The rows of one map, under this value of the label `map_id`.
pub(super) fn one(view: &View, id: MapId, id_text: &str, map: &MapStats) -> MapRows {
    let kind = map.kind.label();
    let labels = [id_text, &map.name, &kind];
    let storms = storms(view, id, labels);
    let rank = match () {
        () if view.storms.active.iter().any(|storm| storm.map_id == id) => Rank::Storm,
        () if view.idle.contains(&id) => Rank::Idle,
        () => Rank::Busy,
    };
    let mut facts = facts(map, labels);
    facts.extend(storms);
    let mut details = durations(map, labels);
    details.extend(users(view, id, labels));
    MapRows {
        rank,
        events: map.ops.values().map(OpStats::total).sum(),
        facts,
        counts: counts(map, labels),
        details,
    }
}

/// What the map is, and how full.
fn facts(map: &MapStats, labels: [&str; 3]) -> Vec<Row> {
    let [id, name, kind] = labels;
    let flags = format!("{:#x}", map.flags);
    let listed = map.listed.as_ref();
    let [key_size, value_size] = [
        listed.map_or_else(String::new, |listed| listed.key_size.to_string()),
        listed.map_or_else(String::new, |listed| listed.value_size.to_string()),
    ];
    let max_entries = map.max_entries.into();
    let mut rows = vec![
        Row::count(
            &family::MAP_INFO,
            &[id, name, kind, &flags, &key_size, &value_size],
            1,
        ),
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
    let memory = listed.and_then(|listed| listed.memory);
    rows.extend(memory.map(|bytes| Row::count(&family::MAP_MEMORY, &labels, bytes)));
    rows
}

/// Operations and pops by outcome: all that can be seen together, so that `increase()` sees a first
/// event; none of an operation that was never seen.
fn counts(map: &MapStats, labels: [&str; 3]) -> Vec<Row> {
    let [id, name, kind] = labels;
    let operations = |(op, stats): (&Op, &OpStats)| {
        Outcome::ALL.map(|outcome| {
            let labels = [id, name, kind, op.label(), outcome.label()];
            Row::count(&family::OPERATIONS, &labels, stats.count(outcome))
        })
    };
    let elements = |(op, stats): (&Op, &OpStats)| {
        let labels = [id, name, kind, op.label()];
        op.is_batch()
            .then(|| Row::count(&family::BATCH_ELEMENTS, &labels, stats.elements))
    };
    let pops = |pops: &PopStats| {
        let outcomes = [("ok", pops.ok), ("empty", Some(pops.empty))];
        outcomes.into_iter().filter_map(|(outcome, n)| {
            let labels = [id, name, kind, outcome];
            Some(Row::count(&family::POPS, &labels, n?))
        })
    };
    let waits = map.locks.iter().flat_map(|(class, stats)| {
        LockOutcome::ALL.map(|outcome| {
            let labels = [id, name, kind, class.label(), outcome.label()];
            Row::count(&family::LOCK_WAITS, &labels, stats.count(outcome))
        })
    });
    let operations = map.ops.iter().flat_map(operations);
    operations
        .chain(map.ops.iter().filter_map(elements))
        .chain(map.pops.iter().flat_map(pops))
        .chain(waits)
        .collect()
}

/// Durations, each only where it was measured.
fn durations(map: &MapStats, labels: [&str; 3]) -> Vec<Row> {
    let [id, name, kind] = labels;
    let pops = map.pops.as_ref();
    let operations = map.ops.iter();
    let operations =
        operations.filter_map(|(op, stats)| Some((op.label(), stats.durations.as_ref()?)));
    let alloc = pops.and_then(|pops| Some((OP_ALLOC, pops.alloc.as_ref()?)));
    let operations = operations.chain(alloc).map(|(op, durations)| {
        let labels = [id, name, kind, op];
        Row::histogram(&family::OPERATION_DURATION, &labels, classic(durations))
    });
    let pops = pops.and_then(|pops| pops.durations.as_ref());
    let pops = pops.map(|pops| Row::histogram(&family::POP_DURATION, &labels, classic(pops)));
    let waits = map.locks.iter().filter_map(|(class, stats)| {
        let labels = [id, name, kind, class.label()];
        let waits = classic(stats.durations.as_ref()?);
        Some(Row::histogram(&family::LOCK_WAIT, &labels, waits))
    });
    operations.chain(pops).chain(waits).collect()
}

/// The programs that use the map.
fn users(view: &View, id: MapId, labels: [&str; 3]) -> Vec<Row> {
    let [id_text, name, kind] = labels;
    let users = view.snapshot.programs.users(id).take(MAX_USERS);
    users
        .map(|(program_id, program)| {
            let (program_id, program_kind) = (program_id.to_string(), program.kind.label());
            let labels = [
                id_text,
                name,
                kind,
                &program_id,
                &program.name,
                &program_kind,
            ];
            Row::count(&family::MAP_USER_INFO, &labels, 1)
        })
        .collect()
}

/// The map's open storms, and a zero for those it has had.
fn storms(view: &View, id: MapId, labels: [&str; 3]) -> Vec<Row> {
    let [id_text, name, kind] = labels;
    let mut rows = Vec::new();
    for storm in view.storms.active.iter().filter(|storm| storm.map_id == id) {
        let labels = [id_text, name, kind, storm.kind.label()];
        let severity = storm.severity.number();
        rows.push(Row::count(&family::STORM_ACTIVE, &labels, 1));
        rows.push(Row::count(&family::STORM_CPUS, &labels, storm.cpus.into()));
        rows.push(Row::count(&family::STORM_SEVERITY, &labels, severity));
        let rejects = storm.kind.refuses().then_some(storm.rejects_per_second);
        rows.extend(rejects.map(|n| Row::number(&family::STORM_REJECTS, &labels, n)));
        let burnt = storm.cpu_seconds_per_second;
        rows.extend(burnt.map(|s| Row::number(&family::STORM_CPU_SECONDS, &labels, s)));
    }
    for (_, calmed) in view.storms.calmed.iter().filter(|(map, _)| *map == id) {
        let labels = [id_text, name, kind, calmed.label()];
        rows.push(Row::count(&family::STORM_ACTIVE, &labels, 0));
    }
    rows
}
