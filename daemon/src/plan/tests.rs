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

    fn tracepoint(&self, name: &str) -> bool {
        self.parameters(name).is_some()
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
    ("bpf_iter_bpf_prog", 2),
]);
const NEW: Has = Has(&[
    ("htab_map_update_elem", 4),
    ("htab_map_update_elem_in_place", 6),
    ("htab_lru_map_update_elem", 4),
    ("__htab_lru_percpu_map_update_elem", 5),
    ("alloc_htab_elem", 9),
    ("bpf_iter_bpf_map", 2),
    ("bpf_iter_bpf_prog", 2),
    ("contention_begin", 2),
    ("contention_end", 2),
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
    let refusal = of(&plan, "updates of hash maps")[0]
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
        LOCK_WAIT,
        MAPS,
        "htab_update_in",
        "alloc_out",
        "inventory",
    ] {
        assert_eq!(names.iter().filter(|n| **n == name).count(), 1, "{name}");
    }
    assert!(sights().all(|sight| names.contains(&sight.signal)));
}

#[test]
fn exits_are_attached_before_entries() {
    for candidate in candidates() {
        if let [first, second] = candidate.probes {
            let order = (first.mechanism, second.mechanism);
            if order == (Mechanism::RawTp, Mechanism::RawTp) {
                let names = [first.name, second.name];
                assert_eq!(names, ["contention_end", "contention_begin"]);
                continue;
            }
            assert!(
                order == (Mechanism::Fexit, Mechanism::Fentry)
                    || order == (Mechanism::PairedKretprobe, Mechanism::Kprobe),
                "{}",
                candidate.hook
            );
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
    let counted_without_map = [UPDATE, POP];
    let mut signals = plan.signals.iter();
    assert!(signals.all(|signal| !signal.alternatives.is_empty()));
    let signals = plan.signals.iter();
    for signal in signals.filter(|signal| counted_without_map.contains(&signal.name)) {
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

#[test]
fn what_a_kernel_has_not_got_is_not_missed_and_what_it_has_is_tried() {
    let names = |plan: &Plan| {
        plan.signals
            .iter()
            .map(|signal| signal.what)
            .collect::<Vec<_>>()
    };
    let old = names(&plan(Ok(&OLD)));
    assert!(
        !old.iter()
            .any(|what| what.contains("rhash maps") && !what.contains("but"))
    );
    assert!(
        !plan(Ok(&OLD))
            .signals
            .iter()
            .any(|s| s.name == LOOKUP_AND_DELETE)
    );
    let has = Has(&[
        ("rhtab_map_delete_elem", 2),
        ("__htab_map_lookup_and_delete_elem", 6),
    ]);
    let new = plan(Ok(&has));
    assert_eq!(of(&new, "deletes from rhash maps")[0].refusal, None);
    assert_eq!(of(&new, "lookups that delete")[0].refusal, None);
    let missed = of(&new, "deletes from hash")[0].refusal.as_ref();
    assert_eq!(missed.map(|refusal| refusal.reason), Some("no_symbol"));
}

#[test]
fn local_storage_is_updated_through_three_forms_of_one_function() {
    for (parameters, exit) in [
        (4, "storage_update_out"),
        (5, "storage_update_5_out"),
        (6, "storage_update_6_out"),
    ] {
        let functions: &'static [_] =
            Box::leak(Box::new([("bpf_local_storage_update", parameters)]));
        let plan = plan(Ok(&Has(functions)));
        let [form, _kprobes] = of(&plan, "updates of local storage") else {
            panic!("one form fits");
        };
        assert_eq!((form.probes[0].name, &form.refusal), (exit, &None));
    }
}

#[test]
fn the_inventory_counts_by_the_kernels_function_where_there_is_one() {
    let names = |kernel: &Has| -> Vec<&str> {
        let plan = plan(Ok(kernel));
        of(&plan, "every map")
            .iter()
            .map(|a| a.probes[0].name)
            .collect()
    };
    assert_eq!(names(&OLD), ["inventory_peeked", "inventory"]);
    let counting = Has(&[("bpf_iter_bpf_map", 2), ("bpf_map_sum_elem_count", 1)]);
    assert_eq!(names(&counting), ["inventory_counted", "inventory"]);
    let plan = plan(Ok(&counting));
    assert!(of(&plan, "every map").iter().all(|a| a.refusal.is_none()));
}

/// A return probe on a lock can stop a machine.
#[test]
fn o32_no_hook_is_a_lock() {
    let hooks = sights().flat_map(|sight| sight.candidates);
    for hook in hooks.map(|candidate| candidate.hook) {
        assert!(!hook.contains("spin_") && !hook.contains("mutex"), "{hook}");
    }
}

/// Why trampolines are left alone.
fn no_trampolines() -> Refusal {
    Refusal {
        reason: "no_trampolines",
        detail: "d".into(),
        remedy: "r".into(),
    }
}

#[test]
fn without_trampolines_pairs_of_kprobes_are_tried_and_what_they_replace_is_reported() {
    for kernel in [&OLD, &NEW] {
        let why = no_trampolines();
        let plan = plan_on(Ground {
            functions: Ok(kernel),
            no_trampolines: Some(&why),
        });
        for signal in plan
            .signals
            .iter()
            .filter(|signal| [UPDATE, POP].contains(&signal.name))
        {
            let (refused, tried): (Vec<_>, Vec<_>) = signal
                .alternatives
                .iter()
                .partition(|a| a.refusal.is_some());
            assert!(refused.iter().any(|a| a.refusal == Some(why.clone())));
            let first = tried.first().expect("every signal has a way");
            let mechanisms = first.probes.iter().map(|p| p.mechanism);
            let mechanisms: Vec<_> = mechanisms.collect();
            assert_eq!(
                mechanisms,
                [Mechanism::PairedKretprobe, Mechanism::Kprobe],
                "{}",
                signal.what
            );
        }
        let inventory = of(&plan, "every map");
        assert_eq!(inventory[0].refusal, None, "an iterator is no trampoline");
    }
}

#[test]
fn a_function_that_the_kernel_does_not_have_is_not_missed_in_any_way() {
    let why = no_trampolines();
    let plan = plan_on(Ground {
        functions: Ok(&NEW),
        no_trampolines: Some(&why),
    });
    let no_symbol = of(&plan, "updates of percpu_hash")
        .iter()
        .filter(|a| a.refusal.as_ref().is_some_and(|r| r.reason == "no_symbol"));
    assert_eq!(no_symbol.count(), 0);
}

#[test]
fn lock_waits_need_their_tracepoints_and_locks_that_report() {
    let old = plan(Ok(&OLD));
    let refusal = of(&old, "waits for locks")[0].refusal.clone();
    let refusal = refusal.expect("5.10 has no tracepoint");
    assert_eq!(refusal.reason, "no_tracepoint");
    assert!(refusal.detail.contains("contention_"), "{}", refusal.detail);
    let mut new = plan(Ok(&NEW));
    assert_eq!(of(&new, "waits for locks")[0].refusal, None);
    let silent = Refusal {
        reason: "silent_locks",
        ..refusal
    };
    new.refuse(&[LOCK_WAIT], &silent);
    assert_eq!(of(&new, "waits for locks")[0].refusal, Some(silent));
    assert_eq!(of(&new, "updates of lru_hash")[0].refusal, None);
}
