//! The report on a host made by hand.

use std::path::Path;

use super::*;
use crate::{
    facts::Kernel,
    probes::{Mechanism, Refusal},
};

/// The host of the fixtures: 5.10 without BTF, so every probe is refused by the plan.
fn preflight() -> Preflight {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/host");
    let roots = Roots {
        proc: root.join("proc"),
        sys: root.join("sys"),
    };
    let kernel = Kernel::new("5.10.0-46-cloud-amd64", "x86_64").unwrap();
    Preflight::new(Facts::of(kernel, &roots, &plan::hooks()), 512 << 10, false).unwrap()
}

/// What becomes of the plan when only these hooks are refused.
fn statuses(preflight: &Preflight, is_refused: impl Fn(&str) -> bool) -> Vec<ProbeStatus> {
    let refusal = |hook: &str| Refusal {
        reason: "notrace",
        detail: format!("attach fexit `{hook}`: Device or resource busy"),
        remedy: "a newer kernel".into(),
    };
    let signals = preflight.plan.signals.iter();
    let alternatives = signals.flat_map(|s| s.alternatives.iter().map(move |a| (s, a)));
    let probes = alternatives.flat_map(|(signal, alternative)| {
        let refusal = is_refused(alternative.hook).then(|| refusal(alternative.hook));
        alternative.probes.iter().map(move |probe| ProbeStatus {
            probe: probe.name,
            signal: signal.name,
            hook: alternative.hook.to_owned(),
            mechanism: probe.mechanism,
            refusal: refusal.clone(),
        })
    });
    probes.collect()
}

#[test]
fn a_blind_host_is_told_every_reason_once_and_what_to_do() {
    let preflight = preflight();
    let statuses = statuses(&preflight, |_| true);
    let report = Report::of(preflight, statuses, None);
    assert!(!report.observable);
    let text = report.text();
    assert!(text.starts_with("mapstorm 0.1.0 ("), "{text}");
    assert!(text.contains("on Linux 5.10.0-46-cloud-amd64: nothing can be observed here\n"));
    assert_eq!(text.matches("notrace: a newer kernel").count(), 1, "{text}");
    assert!(text.contains("pops are known: not at all"));
    assert!(text.contains("lockdown    integrity\n"), "{text}");
    assert!(
        text.contains("CPUs        0-319 possible, 0-95,160-255 online\n"),
        "{text}"
    );
    assert!(text.contains("enough to trace"), "{text}");
}

#[test]
fn what_is_seen_is_told_with_its_hook_mechanisms_and_probes() {
    let preflight = preflight();
    let statuses = statuses(&preflight, |hook| hook == plan::POP_HOOK);
    let tables = TableReport {
        bytes: 3 << 20,
        cpus: 6,
        slots: 2048,
        timings: 122,
    };
    let report = Report::of(preflight, statuses, Some(tables));
    assert_eq!(report.pops, Some(PopSource::Alloc));
    let text = report.text();
    for words in [
        "every signal can be observed, some in a lesser way\n",
        "htab_map_update_elem: fexit and fentry attached (htab_update_out, htab_update_in)\n",
        "__pcpu_freelist_pop: fexit and fentry refused, notrace: attach fexit",
        "pops are known: counted by `alloc_htab_elem`, whose time is not a pop's\n",
        "bpf_iter_bpf_map: iter attached (inventory_counted)\n",
        "memory      3072 KiB",
        "512 KiB on each of 6 possible CPUs, for 2048 pairs of map and operation, 122 of them timed",
        "lookups in hashes: the hottest path of all",
    ] {
        assert!(text.contains(words), "`{words}` is not in\n{text}");
    }
}

#[test]
fn json_has_the_refusals_where_the_help_looks_for_them() {
    let preflight = preflight();
    let statuses = statuses(&preflight, |hook| hook == plan::POP_HOOK);
    let report = Report::of(preflight, statuses, None);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["observable"], true);
    assert_eq!(json["pops"], "alloc");
    let refused = json["probes"].as_array().unwrap().iter();
    let refused: Vec<_> = refused.filter(|p| !p["refusal"].is_null()).collect();
    assert_eq!(refused.len(), 5, "{refused:?}");
    assert_eq!(refused[0]["mechanism"], Mechanism::Fexit.label());
    assert_eq!(json["signals"][0]["seen_on"], "htab_map_update_elem");
    assert_eq!(json["facts"]["kernel"]["self_nesting"], true);
}
