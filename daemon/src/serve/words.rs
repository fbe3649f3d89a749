//! What the daemon says about its start: one line per refused hook, one when it is ready.

use std::net::TcpListener;

use crate::{config::ServeConfig, notify::Source, probes::ProbeStatus, view::View};

/// Refused probes by hook: the programs of one hook share their fate.
fn refused(statuses: &[ProbeStatus]) -> impl Iterator<Item = &[ProbeStatus]> {
    let hooks = statuses.chunk_by(|a, b| a.hook == b.hook && a.refusal == b.refusal);
    hooks.filter(|hook| hook.iter().all(|probe| !probe.attached()))
}

/// One warning per hook that was refused.
pub(super) fn warn_of_refusals(statuses: &[ProbeStatus]) {
    for hook in refused(statuses) {
        let probes: Vec<_> = hook.iter().map(|probe| probe.probe).collect();
        if let [
            ProbeStatus {
                signal,
                hook,
                refusal: Some(refusal),
                ..
            },
            ..,
        ] = hook
        {
            tracing::warn!(
                signal,
                hook,
                probes = probes.join(","),
                reason = refusal.reason,
                detail = refusal.detail,
                remedy = refusal.remedy,
                "degraded: a probe cannot be attached"
            );
        }
    }
}

/// One warning when kprobes stand in for trampolines: what they are blind to is no zero.
pub(super) fn warn_of_blindness(statuses: &[ProbeStatus]) {
    let suppressed = |s: &&ProbeStatus| s.attached() && s.mechanism.is_suppressed();
    let mut signals: Vec<_> = statuses
        .iter()
        .filter(suppressed)
        .map(|s| s.signal)
        .collect();
    signals.dedup();
    if !signals.is_empty() {
        tracing::warn!(
            signals = signals.join(","),
            "degraded: kprobes see neither what bpf(2) does to maps nor what programs of kprobes, \
             tracepoints and perf events do; mapstorm_coverage says so"
        );
    }
}

/// One line when everything runs.
pub(super) fn say_ready(listeners: &[TcpListener], view: &View, table_bytes: usize) {
    let addresses = listeners.iter().filter_map(|l| l.local_addr().ok());
    let addresses: Vec<_> = addresses
        .map(|address| format!("http://{address}"))
        .collect();
    let attached = view.probes.iter().filter(|probe| probe.attached()).count();
    tracing::info!(
        addresses = addresses.join(","),
        phase = view.phase.label(),
        probes_attached = attached,
        probes_refused = view.probes.len() - attached,
        kernel = view.host.kernel_release,
        freelist = view.host.freelist.label(),
        bpf_memory_bytes = table_bytes,
        version = view.host.build.version,
        "ready"
    );
}

/// Who speaks to receivers of alerts: this host, and where it listens first.
pub(super) fn source(listeners: &[TcpListener]) -> Source {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let instance = match name.trim() {
        "" => "localhost",
        name => name,
    };
    let first = listeners.iter().find_map(|l| l.local_addr().ok());
    let port = first.map_or(ServeConfig::PORT, |address| address.port());
    Source {
        instance: instance.to_owned(),
        page: format!("http://{instance}:{port}/"),
    }
}

/// Each reason once, with what was tried first and what can be done.
pub(crate) fn listed(statuses: &[ProbeStatus]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    let mut text = String::new();
    for refusal in statuses.iter().filter_map(|status| status.refusal.as_ref()) {
        if !reasons.contains(&refusal.reason) {
            reasons.push(refusal.reason);
            let (reason, detail, remedy) = (refusal.reason, &refusal.detail, &refusal.remedy);
            text.push_str(&format!("\n  {reason}: {detail}; {remedy}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::{Mechanism, Refusal};

    fn status(probe: &'static str, hook: &str, reason: Option<&'static str>) -> ProbeStatus {
        ProbeStatus {
            probe,
            signal: "update",
            hook: hook.to_owned(),
            mechanism: Mechanism::Fexit,
            refusal: reason.map(|reason| Refusal {
                reason,
                detail: format!("attach fexit `{hook}`: busy"),
                remedy: "wait".into(),
            }),
        }
    }

    #[test]
    fn the_programs_of_one_hook_are_one_line_and_attached_ones_none() {
        let statuses = [
            status("a_out", "a", Some("notrace")),
            status("a_in", "a", Some("notrace")),
            status("b_out", "b", None),
            status("c_out", "c", Some("notrace")),
        ];
        let lines: Vec<_> = refused(&statuses).map(|hook| hook.len()).collect();
        assert_eq!(lines, [2, 1]);
    }

    #[test]
    fn a_blind_host_is_told_each_reason_once() {
        let statuses = [
            status("a", "a", Some("notrace")),
            status("b", "b", Some("notrace")),
            status("c", "c", Some("eperm")),
        ];
        let text = listed(&statuses);
        let lines: Vec<_> = text.trim().lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "notrace: attach fexit `a`: busy; wait",
                "eperm: attach fexit `c`: busy; wait"
            ]
        );
    }
}
