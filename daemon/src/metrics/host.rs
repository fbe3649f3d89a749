//! Rows about the host as a whole: always published, whatever the limit.

use std::collections::BTreeSet;

use mapstorm_abi::{
    Lost, Op, Outcome,
    slot::{POP_EMPTY, POP_OK},
};

use super::{family, histogram::classic, row::Row};
use crate::{
    coverage::{Coverage, coverage, of_storms},
    history,
    memory::Quality,
    notify::{self, Tally},
    plan::{POP, UPDATE},
    probes::{Mechanism, any_attached},
    snapshot::{Forgotten, Room},
    storm::Kind,
    view::View,
};

/// Every host-wide row but [`dropped`].
pub(super) fn rows(view: &View) -> Vec<Row> {
    let (host, snapshot) = (&view.host, &view.snapshot);
    let build = [
        host.build.version,
        host.build.revision,
        host.build.rustversion,
    ];
    let kernel = [host.kernel_release.as_str(), host.freelist.label()];
    let mut rows = vec![
        Row::count(&family::BUILD_INFO, &build, 1),
        Row::count(&family::KERNEL_INFO, &kernel, 1),
        Row::count(&family::SAMPLE_WINDOWS, &[], snapshot.window),
        Row::number(&family::SAMPLE_SECONDS, &[], view.sampling.as_secs_f64()),
    ];
    for probe in &*view.probes {
        let labels = [probe.probe, &probe.hook, probe.mechanism.label()];
        let attached = u64::from(probe.attached());
        rows.push(Row::count(&family::PROBE_ATTACHED, &labels, attached));
    }
    // A probe may be refused on several functions for one reason: that is one series.
    let refusals = view.probes.iter().filter_map(|probe| {
        let refusal = probe.refusal.as_ref()?;
        Some([probe.probe, refusal.reason])
    });
    for labels in BTreeSet::from_iter(refusals) {
        rows.push(Row::count(&family::PROBE_UNAVAILABLE, &labels, 1));
    }
    for (probe, &misses) in &snapshot.misses {
        rows.push(Row::count(&family::PROBE_MISSES, &[probe], misses));
    }
    for Coverage {
        signal,
        source,
        ratio,
    } in coverage(&view.probes)
        .into_iter()
        .chain(of_storms(&view.probes))
    {
        rows.push(Row::number(
            &family::COVERAGE,
            &[signal, source.label()],
            ratio,
        ));
    }
    let by_map = attached(view, UPDATE, Mechanism::counts_by_map);
    // Where no update is seen, nothing can be lost and no storm can be told: no zero says otherwise.
    for lost in Lost::ALL.into_iter().filter(|_| by_map) {
        let n = snapshot.lost[lost as usize];
        rows.push(Row::count(&family::EVENTS_LOST, &[lost.label()], n));
    }
    if by_map {
        let due = snapshot.samples_due;
        rows.push(Row::count(&family::CALLER_SAMPLES_DUE, &[], due));
        let taken = snapshot.callers.totals();
        rows.extend(taken.map(|(source, n)| Row::count(&family::CALLER_SAMPLES, &[source], n)));
    }
    for (cpu, durations) in &snapshot.cpu_pops {
        let labels = [&*cpu.to_string()];
        rows.push(Row::histogram(
            &family::CPU_POP_DURATION,
            &labels,
            classic(durations),
        ));
    }
    let seen = of_storms(&view.probes).map(|coverage| coverage.ratio > 0.0);
    for kind in Kind::ALL.into_iter().filter(|&kind| seen[kind as usize]) {
        let n = view.storms.totals[kind as usize];
        rows.push(Row::count(&family::STORMS, &[kind.label()], n));
    }
    rows.extend(snapshot.memory.map(|quality| {
        let estimated = u64::from(quality == Quality::Estimated);
        Row::count(&family::MEMORY_ESTIMATED, &[], estimated)
    }));
    rows.extend(without_map(view));
    rows.extend(room(&snapshot.room, by_map));
    for reason in Forgotten::ALL.into_iter().filter(|_| by_map) {
        let n = snapshot.forgotten[reason as usize];
        rows.push(Row::count(&family::MAPS_FORGOTTEN, &[reason.label()], n));
    }
    rows
}

/// What the probes' table takes, and how much of it is in use; that only where it is `used` at all.
fn room(room: &Room, used: bool) -> Vec<Row> {
    let count = |family, table, n| Row::count(family, &[table], n as u64);
    let mut rows = vec![
        count(&family::PROBE_MEMORY, "state", room.state_bytes),
        count(&family::PROBE_MEMORY, "counters", room.counter_bytes),
        count(&family::PROBE_MEMORY, "timings", room.timing_bytes),
    ];
    if used {
        rows.extend([
            count(&family::PROBE_SLOTS, "counters", room.slots),
            count(&family::PROBE_SLOTS, "timings", room.timings),
            count(&family::PROBE_SLOTS_USED, "counters", room.slots_used),
            count(&family::PROBE_SLOTS_USED, "timings", room.timings_used),
            Row::count(&family::UNTIMED_PAIRS, &[], room.untimed_pairs as u64),
        ]);
    }
    rows
}

/// Counts of all maps together, with empty map labels, where only return probes see them.
fn without_map(view: &View) -> Vec<Row> {
    let host = &view.snapshot.host;
    let for_the_host = |mechanism| mechanism == Mechanism::Kretprobe;
    let mut rows = Vec::new();
    if attached(view, UPDATE, for_the_host) {
        rows.extend(Outcome::ALL.map(|outcome| {
            let labels = ["", "", "", Op::Update.label(), outcome.label()];
            Row::count(&family::OPERATIONS, &labels, host.updates[outcome as usize])
        }));
    }
    if attached(view, POP, for_the_host) {
        let outcomes = [("ok", host.pops[POP_OK]), ("empty", host.pops[POP_EMPTY])];
        rows.extend(
            outcomes.map(|(outcome, n)| Row::count(&family::POPS, &["", "", "", outcome], n)),
        );
    }
    rows
}

/// Is any probe of a signal attached in this way?
fn attached(view: &View, signal: &str, way: fn(Mechanism) -> bool) -> bool {
    any_attached(&view.probes, |p| p.signal == signal && way(p.mechanism))
}

/// What became of the records of storms.
pub(super) fn kept(tally: &history::Tally) -> impl Iterator<Item = Row> {
    let outcomes = history::Outcome::ALL.into_iter();
    outcomes.map(|outcome| {
        let labels = [outcome.label()];
        Row::count(&family::HISTORY, &labels, tally.get(outcome))
    })
}

/// What became of alerts.
pub(super) fn notified(tally: &Tally) -> impl Iterator<Item = Row> {
    let outcomes = notify::Outcome::ALL.into_iter();
    outcomes.map(|outcome| {
        let labels = [outcome.label()];
        Row::count(&family::NOTIFICATIONS, &labels, tally.get(outcome))
    })
}

/// Maps that are not published one by one.
pub(super) fn hidden(maps: usize) -> Row {
    Row::count(&family::MAPS_HIDDEN, &[], maps as u64)
}

/// Series left out so far, this scrape included.
pub(super) fn dropped(series: u64) -> Row {
    Row::count(&family::SERIES_DROPPED, &[], series)
}
