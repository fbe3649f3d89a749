//! Which share of a signal the running kernel lets us see, by where an operation comes from. Known
//! from what was attached, never inferred from events that did not come.

use std::collections::BTreeMap;

use crate::{
    plan::{self, CALLERS, LOCK_WAIT, Source, UPDATE, USERS},
    probes::{Mechanism, ProbeStatus, any_attached},
    storm::Kind,
};

/// Coverage of one signal from one source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// The label `signal`.
    pub signal: &'static str,
    /// The label `source`.
    pub source: Source,
    /// 1 when all of it is seen, 0 when none is, a ratio when only some kinds of map are.
    pub ratio: f64,
}

/// Coverage of every signal of the plan. A kind of map that this kernel does not have is not in the
/// plan and so lowers nothing; a signal of which it has nothing is absent. Of waits for locks it is the
/// share of those that the kernel reports outside of batches that look up.
pub fn coverage(probes: &[ProbeStatus]) -> Vec<Coverage> {
    let mut coverage = Vec::new();
    for &(signal, sources) in plan::SIGNALS {
        let kinds = kinds(signal, probes);
        if kinds.is_empty() {
            continue;
        }
        if signal == CALLERS {
            coverage.extend(sources.iter().map(|&source| callers(probes, source)));
            continue;
        }
        for &source in sources {
            // A wait is seen inside of an operation that is, unless that is a batch that looks up.
            let within = coverage
                .iter()
                .find(|c| c.signal == UPDATE && c.source == source);
            let within = within.map_or(1.0, |update: &Coverage| update.ratio);
            let most = if signal == LOCK_WAIT { within } else { 1.0 };
            let seen = kinds.values().filter(|ways| {
                let mut attached = ways.iter().filter(|probe| probe.attached());
                attached.any(|probe| sees(probe.mechanism, source))
            });
            coverage.push(Coverage {
                signal,
                source,
                ratio: (seen.count() as f64 / kinds.len() as f64).min(most),
            });
        }
    }
    coverage
}

/// Coverage of each kind of storm, as a signal `storm_…` of the host. Refusals are seen where updates are
/// counted by map; fights where those are timed, which goes together, or where waits for locks are seen.
pub fn of_storms(probes: &[ProbeStatus]) -> [Coverage; Kind::COUNT] {
    let counted = any_attached(probes, |p| {
        p.signal == UPDATE && p.mechanism.counts_by_map()
    });
    let waited = any_attached(probes, |p| p.signal == LOCK_WAIT);
    Kind::ALL.map(|kind| {
        let (signal, is_seen) = match kind {
            Kind::Full => ("storm_full", counted),
            Kind::Alloc => ("storm_alloc", counted),
            Kind::Freelist => ("storm_freelist", counted || waited),
            Kind::Lru => ("storm_lru", counted || waited),
            Kind::HotBucket => ("storm_hot_bucket", counted || waited),
        };
        Coverage {
            signal,
            source: Source::Host,
            ratio: f64::from(u8::from(is_seen)),
        }
    })
}

/// What was tried for each kind of map that the signal covers, by the kind's place in the catalog.
fn kinds<'a>(signal: &str, probes: &'a [ProbeStatus]) -> BTreeMap<usize, Vec<&'a ProbeStatus>> {
    let hooks = plan::kinds(signal);
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for probe in probes.iter().filter(|probe| probe.signal == signal) {
        let kind = hooks.iter().position(|of| of.contains(&&*probe.hook));
        if let Some(kind) = kind {
            kinds.entry(kind).or_default().push(probe);
        }
    }
    kinds
}

/// Who calls: the exit programs take the samples, and the list of programs, which `users` gives as
/// well, tells whose they are.
fn callers(probes: &[ProbeStatus], source: Source) -> Coverage {
    let sampled = any_attached(probes, |p| p.mechanism == Mechanism::Fexit);
    let listed = any_attached(probes, |p| p.signal == CALLERS || p.signal == USERS);
    Coverage {
        signal: CALLERS,
        source,
        ratio: f64::from(u8::from(sampled && listed)),
    }
}

/// Does a probe of this kind show what comes from there?
fn sees(mechanism: Mechanism, source: Source) -> bool {
    match mechanism {
        // What counts is the exit; a derived count is less than a seen one.
        Mechanism::Fentry | Mechanism::Kprobe | Mechanism::Derived => false,
        Mechanism::Fexit | Mechanism::RawTp => true,
        // Kept quiet while bpf(2) works on a map, and inside of programs of their own kind.
        Mechanism::PairedKretprobe | Mechanism::Kretprobe => source == Source::Program,
        // It lists what the kernel keeps: maps and programs, no processes.
        Mechanism::Iter => matches!(source, Source::Host | Source::Program),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        plan::{BATCH, MAPS, POP},
        probes::Refusal,
    };

    const HTAB: &str = "htab_map_update_elem";
    const LRU: &str = "htab_lru_map_update_elem";
    const MECHANISMS: [Mechanism; 5] = [
        Mechanism::Fexit,
        Mechanism::PairedKretprobe,
        Mechanism::Kretprobe,
        Mechanism::RawTp,
        Mechanism::Derived,
    ];

    fn attached(signal: &'static str, hook: &str, mechanism: Mechanism) -> ProbeStatus {
        ProbeStatus {
            probe: "a_probe",
            signal,
            hook: hook.into(),
            mechanism,
            refusal: None,
        }
    }

    fn refused(signal: &'static str, hook: &str) -> ProbeStatus {
        ProbeStatus {
            refusal: Some(Refusal {
                reason: "eperm",
                detail: String::new(),
                remedy: String::new(),
            }),
            ..attached(signal, hook, Mechanism::Fexit)
        }
    }

    fn ratio(probes: &[ProbeStatus], signal: &str, source: Source) -> Option<f64> {
        let all = coverage(probes);
        let found = all
            .iter()
            .find(|c| c.signal == signal && c.source == source);
        found.map(|c| c.ratio)
    }

    #[test]
    fn o15_return_probes_see_no_system_calls_and_no_programs_of_their_kind() {
        for mechanism in [Mechanism::Kretprobe, Mechanism::PairedKretprobe] {
            let probes = [attached(POP, "__pcpu_freelist_pop", mechanism)];
            assert_eq!(ratio(&probes, POP, Source::Program), Some(1.0));
            assert_eq!(ratio(&probes, POP, Source::ProbeProgram), Some(0.0));
            assert_eq!(ratio(&probes, POP, Source::Syscall), Some(0.0));
        }
    }

    #[test]
    fn some_kinds_of_map_are_a_ratio() {
        let probes = [
            attached(UPDATE, HTAB, Mechanism::Fexit),
            refused(UPDATE, "__htab_percpu_map_update_elem"),
            attached(UPDATE, "htab_map_update_elem_in_place", Mechanism::Fexit),
            attached(UPDATE, LRU, Mechanism::PairedKretprobe),
            refused(UPDATE, "__htab_lru_percpu_map_update_elem"),
        ];
        assert_eq!(ratio(&probes, UPDATE, Source::Program), Some(0.75));
        assert_eq!(ratio(&probes, UPDATE, Source::Syscall), Some(0.5));
    }

    #[test]
    fn a_command_that_only_the_system_call_has_is_not_covered_for_programs() {
        let hook = "__htab_map_lookup_and_delete_batch";
        let probes = [attached(BATCH, hook, Mechanism::Fexit)];
        assert_eq!(coverage(&probes).len(), 1);
        assert_eq!(ratio(&probes, BATCH, Source::Syscall), Some(1.0));
    }

    #[test]
    fn lists_are_of_the_host_and_know_no_processes() {
        let probes = [
            attached(MAPS, "bpf_iter_bpf_map", Mechanism::Iter),
            attached(USERS, "bpf_iter_bpf_prog", Mechanism::Iter),
        ];
        assert_eq!(ratio(&probes, MAPS, Source::Host), Some(1.0));
        assert_eq!(ratio(&probes, USERS, Source::Program), Some(1.0));
        assert_eq!(ratio(&probes, USERS, Source::Syscall), Some(0.0));
    }

    #[test]
    fn callers_are_told_where_calls_are_sampled_and_programs_are_listed() {
        let mut probes = vec![attached(CALLERS, "bpf_iter_bpf_prog", Mechanism::Iter)];
        assert_eq!(ratio(&probes, CALLERS, Source::Program), Some(0.0));
        probes.push(attached(UPDATE, HTAB, Mechanism::Fexit));
        assert_eq!(ratio(&probes, CALLERS, Source::Program), Some(1.0));
        assert_eq!(ratio(&probes, CALLERS, Source::Syscall), Some(1.0));
    }

    #[test]
    fn storms_are_covered_where_updates_are_seen_by_map_and_fights_where_waits_are() {
        let ratios = |probes: &[ProbeStatus]| of_storms(probes).map(|row| row.ratio);
        assert_eq!(
            ratios(&[attached(UPDATE, HTAB, Mechanism::Fexit)]),
            [1.0; 5]
        );
        assert_eq!(
            ratios(&[attached(UPDATE, HTAB, Mechanism::Kretprobe)]),
            [0.0; 5]
        );
        assert_eq!(ratios(&[refused(UPDATE, HTAB)]), [0.0; 5]);
        let waits = [attached(LOCK_WAIT, "contention_end", Mechanism::RawTp)];
        assert_eq!(ratios(&waits), [0.0, 0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn derived_pops_are_no_coverage() {
        let probes = [
            refused(POP, "__pcpu_freelist_pop"),
            attached(POP, HTAB, Mechanism::Derived),
        ];
        assert_eq!(ratio(&probes, POP, Source::Program), Some(0.0));
    }

    #[test]
    fn every_signal_of_the_catalog_has_its_sources() {
        for kind in plan::names() {
            let is_signal = !plan::kinds(kind).is_empty();
            let listed = plan::SIGNALS.iter().filter(|(name, _)| *name == kind);
            assert_eq!(listed.count(), usize::from(is_signal), "{kind}");
        }
        assert!(plan::SIGNALS.iter().all(|(_, sources)| !sources.is_empty()));
    }

    /// What may have become of every way to see every kind of map.
    fn outcomes() -> impl Strategy<Value = Vec<ProbeStatus>> {
        let ways: Vec<(&str, &str)> = plan::SIGNALS
            .iter()
            .flat_map(|&(signal, _)| {
                let hooks = plan::kinds(signal).into_iter().flatten();
                hooks.map(move |hook| (signal, hook))
            })
            .collect();
        let fates = proptest::collection::vec((any::<bool>(), 0..2 * MECHANISMS.len()), ways.len());
        fates.prop_map(move |fates| {
            let tried = ways.iter().zip(fates).filter(|(_, (tried, _))| *tried);
            let status = |(&(signal, hook), (_, fate)): (&(&'static str, &str), (bool, usize))| {
                MECHANISMS.get(fate).map_or_else(
                    || refused(signal, hook),
                    |&mechanism| attached(signal, hook, mechanism),
                )
            };
            tried.map(status).collect()
        })
    }

    proptest! {
        #[test]
        fn a_ratio_lies_between_none_and_all_and_programs_are_seen_best(probes in outcomes()) {
            for row in coverage(&probes) {
                prop_assert!((0.0..=1.0).contains(&row.ratio), "{row:?}");
                let program = ratio(&probes, row.signal, Source::Program);
                prop_assert!(program.is_none_or(|program| program >= row.ratio), "{row:?}");
            }
        }

        #[test]
        fn nothing_attached_is_zero_and_what_was_never_tried_absent(probes in outcomes()) {
            let none: Vec<_> = probes.iter().map(|p| refused(p.signal, &p.hook)).collect();
            prop_assert!(coverage(&none).iter().all(|row| row.ratio == 0.0));
            for &(signal, sources) in plan::SIGNALS {
                let rows = coverage(&none).iter().filter(|row| row.signal == signal).count();
                let tried = none.iter().any(|p| p.signal == signal);
                prop_assert_eq!(rows, if tried { sources.len() } else { 0 });
            }
        }

        #[test]
        fn one_more_probe_never_lowers_what_is_seen(probes in outcomes(), which in any::<prop::sample::Index>()) {
            prop_assume!(!probes.is_empty());
            let before = coverage(&probes);
            let mut more = probes.clone();
            let won = which.index(more.len());
            more[won].refusal = None;
            more[won].mechanism = Mechanism::Fexit;
            for (before, after) in before.iter().zip(coverage(&more)) {
                prop_assert!(after.ratio >= before.ratio, "{before:?} {after:?}");
            }
        }
    }
}
