//! Plans for kernels old and new, and for none that is known.

use super::*;

/// Functions by name and number of parameters.
struct Has(&'static [(&'static str, usize)]);

impl KernelFunctions for Has {
    fn parameters(&self, function: &str) -> Option<usize> {
        self.0
            .iter()
            .find(|(name, _)| *name == function)
            .map(|(_, count)| *count)
    }
}

/// What 5.10 to 6.12 have; 6.16 and newer have the other form of per-CPU updates.
const OLD: Has = Has(&[
    ("htab_map_update_elem", 4),
    ("__htab_percpu_map_update_elem", 5),
    ("htab_lru_map_update_elem", 4),
    ("__htab_lru_percpu_map_update_elem", 5),
    ("__pcpu_freelist_pop", 1),
    ("alloc_htab_elem", 8),
    ("bpf_iter_bpf_map", 2),
]);
const NEW: Has = Has(&[
    ("htab_map_update_elem", 4),
    ("htab_map_update_elem_in_place", 6),
    ("htab_lru_map_update_elem", 4),
    ("__htab_lru_percpu_map_update_elem", 5),
    ("alloc_htab_elem", 9),
    ("bpf_iter_bpf_map", 2),
]);

fn of<'a>(plan: &'a Plan, what: &str) -> &'a [Alternative] {
    let signal = plan
        .signals
        .iter()
        .find(|signal| signal.what.contains(what));
    &signal.expect("the signal is in the plan").alternatives
}

#[test]
fn a_function_that_another_replaces_is_not_missed() {
    for (kernel, hook) in [
        (&OLD, "__htab_percpu_map_update_elem"),
        (&NEW, "htab_map_update_elem_in_place"),
    ] {
        let plan = plan(Ok(kernel));
        let hooks: Vec<_> = of(&plan, " percpu_hash").iter().map(|a| a.hook).collect();
        assert_eq!(hooks[0], hook);
        assert!(
            of(&plan, "updates of percpu_hash")
                .iter()
                .all(|a| a.refusal.is_none())
        );
    }
}

#[test]
fn a_lesser_replacement_leaves_what_it_replaces_in_the_plan() {
    let plan = plan(Ok(&NEW));
    let pop = of(&plan, "pops");
    assert_eq!(pop[0].refusal.as_ref().map(|r| r.reason), Some("no_symbol"));
    assert_eq!(
        (pop[1].hook, &pop[1].refusal),
        (ALLOC_HOOK, &None),
        "the form with nine parameters"
    );
}

#[test]
fn a_signature_nobody_knows_is_refused_by_its_number_of_parameters() {
    let plan = plan(Ok(&Has(&[("htab_map_update_elem", 5)])));
    let refusal = of(&plan, "hash and hash_of_maps")[0]
        .refusal
        .as_ref()
        .expect("refused");
    assert_eq!(refusal.reason, "signature");
    assert!(
        refusal.detail.contains("5 parameters"),
        "{}",
        refusal.detail
    );
}

#[test]
fn without_btf_everything_typed_is_refused_with_its_reason() {
    let no_btf = Refusal {
        reason: "no_btf",
        detail: "d".into(),
        remedy: "r".into(),
    };
    let plan = plan(Err(&no_btf));
    assert!(plan.signals.iter().all(|signal| {
        signal
            .alternatives
            .iter()
            .filter(|a| a.probes[0].mechanism != Mechanism::Kretprobe)
            .all(|a| a.refusal == Some(no_btf.clone()))
    }));
}

#[test]
fn every_signal_and_probe_can_be_asked_for_by_name() {
    let names = names();
    for name in [
        UPDATE,
        POP,
        MAPS,
        "htab_update_in",
        "alloc_out",
        "inventory",
    ] {
        assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}");
    }
    assert!(SIGNALS.iter().all(|(signal, ..)| names.contains(signal)));
}

#[test]
fn exits_are_attached_before_entries() {
    for (_, _, candidates) in SIGNALS {
        for candidate in *candidates {
            if let [first, second] = candidate.probes {
                assert_eq!(first.mechanism, Mechanism::Fexit, "{}", candidate.hook);
                assert_eq!(second.mechanism, Mechanism::Fentry, "{}", candidate.hook);
            }
        }
    }
}

#[test]
fn o01_without_btf_return_probes_are_tried_for_updates_and_pops() {
    let no_btf = Refusal {
        reason: "no_btf",
        detail: "d".into(),
        remedy: "r".into(),
    };
    let plan = plan(Err(&no_btf));
    for signal in plan.signals.iter().filter(|signal| signal.name != MAPS) {
        let last = signal.alternatives.last().expect("every signal has a way");
        assert_eq!(
            last.probes[0].mechanism,
            Mechanism::Kretprobe,
            "{}",
            signal.what
        );
        assert_eq!(last.refusal, None);
    }
}

#[test]
fn no_probe_is_in_a_plan_twice_on_one_function() {
    let no_btf = Refusal {
        reason: "no_btf",
        detail: "d".into(),
        remedy: "r".into(),
    };
    for plan in [
        plan(Ok(&OLD)),
        plan(Ok(&NEW)),
        plan(Ok(&Has(&[]))),
        plan(Err(&no_btf)),
    ] {
        let mut seen = BTreeSet::new();
        for alternative in plan.signals.iter().flat_map(|signal| &signal.alternatives) {
            for probe in alternative.probes {
                let place = (probe.name, alternative.hook, probe.mechanism.label());
                assert!(seen.insert(place), "{place:?} twice");
            }
        }
    }
}
