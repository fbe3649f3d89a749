//! What one row of the tables adds to its map. Pure.

use std::collections::BTreeMap;

use mapstorm_abi::{
    Counted, LockClass, Op, Outcome,
    slot::{BATCH_ELEMENTS, NAME_LEN, POP_EMPTY, POP_OK},
};

use crate::{
    identity::{MapType, printable_name},
    kernel::Row,
    pops::PopSource,
    snapshot::{Durations, LockOutcome, MapStats, PopStats},
};

/// The map of a row, without its counts.
pub(super) fn described_by(row: &Row) -> MapStats {
    described(row.map_type, row.max_entries, row.flags, &row.name)
}

/// A map of which nothing is counted yet.
pub(super) fn described(
    kind: u32,
    max_entries: u32,
    flags: u32,
    name: &[u8; NAME_LEN],
) -> MapStats {
    MapStats {
        name: printable_name(name),
        kind: MapType(kind),
        max_entries,
        flags,
        entries: None,
        listed: None,
        ops: BTreeMap::new(),
        pops: None,
        locks: BTreeMap::new(),
    }
}

pub(super) fn pops_freelist(counted: Counted, map_type: u32, flags: u32) -> bool {
    counted == Counted::Op(Op::Update) && MapType(map_type).pops_freelist(flags)
}

/// Adds what one CPU has counted.
pub(super) fn add_row(map: &mut MapStats, row: Row, source: Option<PopSource>) {
    match row.counted {
        Counted::Op(op) => add_operations(map, op, row, source),
        Counted::Wait(class) => add_waits(map, class, row),
    }
}

/// Adds one CPU's waits for the locks of one class.
fn add_waits(map: &mut MapStats, class: LockClass, row: Row) {
    let locks = map.locks.entry(class).or_default();
    for (outcome, n) in Outcome::ALL.into_iter().zip(row.outcomes) {
        locks.outcomes[LockOutcome::of(outcome) as usize] += n;
    }
    if let Some(durations) = &row.durations {
        add_on_cpu(&mut locks.waited_ns_by_cpu, row.cpu, durations.sum_ns);
    }
    merge(&mut locks.durations, row.durations);
}

/// Adds one CPU's operations, and what happened inside of them.
fn add_operations(map: &mut MapStats, op: Op, row: Row, source: Option<PopSource>) {
    let exhausted = row.outcomes[Outcome::E2big as usize];
    let stats = map.ops.entry(op).or_default();
    add(&mut stats.outcomes, row.outcomes);
    add_on_cpu(&mut stats.by_cpu, row.cpu, row.outcomes.iter().sum());
    if op == Op::Update {
        let starved = row.outcomes[Outcome::Enomem as usize];
        add_on_cpu(&mut stats.exhausted_by_cpu, row.cpu, exhausted);
        add_on_cpu(&mut stats.starved_by_cpu, row.cpu, starved);
    }
    if op.is_batch() {
        stats.elements += row.inner[BATCH_ELEMENTS];
    }
    if let Some(durations) = &row.durations {
        stats.octaves_on(row.cpu as usize).add(durations);
    }
    merge(&mut stats.durations, row.durations);
    let pops = pops_freelist(row.counted, map.kind.0, map.flags);
    let Some(source) = source.filter(|_| pops) else {
        return;
    };
    let pops = map.pops.get_or_insert_with(PopStats::default);
    if source == PopSource::Derived {
        pops.empty += exhausted;
        return;
    }
    *pops.ok.get_or_insert(0) += row.inner[POP_OK];
    pops.empty += row.inner[POP_EMPTY];
    match source {
        PopSource::Alloc => merge(&mut pops.alloc, row.pop_durations),
        _ => merge(&mut pops.durations, row.pop_durations),
    }
}

/// Adds what one CPU has counted, where it has counted any.
fn add_on_cpu(by_cpu: &mut Vec<u64>, cpu: u32, n: u64) {
    let cpu = cpu as usize;
    if n > 0 {
        by_cpu.resize(by_cpu.len().max(cpu + 1), 0);
        by_cpu[cpu] += n;
    }
}

pub(super) fn add<const N: usize>(sums: &mut [u64; N], more: [u64; N]) {
    for (sum, n) in sums.iter_mut().zip(more) {
        *sum += n;
    }
}

fn merge(sum: &mut Option<Durations>, more: Option<Durations>) {
    match (sum, more) {
        (Some(sum), Some(more)) => sum.merge(&more),
        (sum @ None, more) => *sum = more,
        (Some(_), None) => {}
    }
}
