//! Rows about the host as a whole: always published, whatever the limit.

use std::collections::BTreeSet;

use mapstorm_abi::Lost;

use super::{family, histogram::classic, row::Row};
use crate::{storm::Kind, view::View};

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
    for lost in Lost::ALL {
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
    for kind in Kind::ALL {
        let n = view.storms.totals[kind as usize];
        rows.push(Row::count(&family::STORMS, &[kind.label()], n));
    }
    rows
}

/// Series left out so far, this scrape included.
pub(super) fn dropped(series: u64) -> Row {
    Row::count(&family::SERIES_DROPPED, &[], series)
}
