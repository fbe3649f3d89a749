//! Rows about the host as a whole: always published, whatever the limit.

use std::collections::BTreeSet;

use mapstorm_abi::{
    Lost, Op, Outcome,
    slot::{POP_EMPTY, POP_OK},
};

use super::{family, histogram::classic, row::Row};
use crate::{
    coverage::{Coverage, coverage},
    plan::{POP, UPDATE},
    probes::Mechanism,
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
    {
        rows.push(Row::number(&family::COVERAGE, &[signal, source], ratio));
    }
    let by_map = attached(view, UPDATE, Mechanism::Fexit);
    // Where no update is seen, nothing can be lost and no storm can be told: no zero says otherwise.
    for lost in Lost::ALL.into_iter().filter(|_| by_map) {
        let n = snapshot.lost[lost as usize];
        rows.push(Row::count(&family::EVENTS_LOST, &[lost.label()], n));
    }
    for (cpu, durations) in &snapshot.cpu_pops {
        let labels = [&*cpu.to_string()];
        rows.push(Row::histogram(
            &family::CPU_POP_DURATION,
            &labels,
            classic(durations),
        ));
    }
    for kind in Kind::ALL.into_iter().filter(|_| by_map) {
        let n = view.storms.totals[kind as usize];
        rows.push(Row::count(&family::STORMS, &[kind.label()], n));
    }
    rows.extend(without_map(view));
    rows
}

/// Counts of all maps together, with empty map labels, where only return probes see them.
fn without_map(view: &View) -> Vec<Row> {
    let host = &view.snapshot.host;
    let mut rows = Vec::new();
    if attached(view, UPDATE, Mechanism::Kretprobe) {
        rows.extend(Outcome::ALL.map(|outcome| {
            let labels = ["", "", "", Op::Update.label(), outcome.label()];
            Row::count(&family::OPERATIONS, &labels, host.updates[outcome as usize])
        }));
    }
    if attached(view, POP, Mechanism::Kretprobe) {
        let outcomes = [("ok", host.pops[POP_OK]), ("empty", host.pops[POP_EMPTY])];
        rows.extend(
            outcomes.map(|(outcome, n)| Row::count(&family::POPS, &["", "", "", outcome], n)),
        );
    }
    rows
}

/// Is any probe of a signal attached in this way?
fn attached(view: &View, signal: &str, mechanism: Mechanism) -> bool {
    let mut probes = view.probes.iter();
    probes.any(|p| p.attached() && p.signal == signal && p.mechanism == mechanism)
}

/// Series left out so far, this scrape included.
pub(super) fn dropped(series: u64) -> Row {
    Row::count(&family::SERIES_DROPPED, &[], series)
}
