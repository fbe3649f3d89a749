//! Which probe goes on which kernel function: a pure function of what the kernel has.
//!
//! Nothing here touches the kernel. What the plan hopes for is tried by the kernel room, each probe
//! on its own, and a later alternative is used when an earlier one is refused.

use crate::probes::{Mechanism, Refusal};

/// What the plan needs to know of the kernel's functions.
pub trait KernelFunctions {
    /// Number of the function's parameters; `None` when the kernel's BTF has no such function.
    fn parameters(&self, function: &str) -> Option<usize>;
}

/// One BPF program and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name of the program in the object, and of the probe.
    pub name: &'static str,
    /// How it is attached.
    pub mechanism: Mechanism,
}

/// One way to see a signal: programs that belong together on one kernel function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The kernel function.
    pub hook: &'static str,
    /// Its programs: all are attached, or none is.
    pub probes: &'static [Probe],
    /// Why the plan already knows that it cannot be had.
    pub refusal: Option<Refusal>,
}

/// A signal and the ways to see it, best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The label `signal`.
    pub name: &'static str,
    /// What it covers, in words.
    pub what: &'static str,
    /// Ways to see it.
    pub alternatives: Vec<Alternative>,
}

/// The whole plan, in the order in which signals are attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The signals.
    pub signals: Vec<Signal>,
}

/// A way to see a signal, before it is known what the kernel has.
struct Candidate {
    hook: &'static str,
    /// Parameters that the programs rely on: they read the return value behind the last one.
    parameters: usize,
    probes: &'static [Probe],
    /// Sees the same as the candidates before it; else it is a lesser one, and what it replaces is
    /// reported as missing.
    equivalent: bool,
}

/// An entry and an exit program.
macro_rules! pair {
    ($entry:literal, $exit:literal) => {
        // The exit goes first: an entry without its exit would leave starts behind.
        &[
            Probe {
                name: $exit,
                mechanism: Mechanism::Fexit,
            },
            Probe {
                name: $entry,
                mechanism: Mechanism::Fentry,
            },
        ]
    };
}

/// Every signal and its candidates. Alternatives on one route are never attached together, because
/// an operation that runs through both would be counted twice.
const SIGNALS: &[(&str, &str, &[Candidate])] = &[
    (
        "update",
        "updates of hash and hash_of_maps maps",
        &[Candidate {
            hook: "htab_map_update_elem",
            parameters: 4,
            probes: pair!("htab_update_in", "htab_update_out"),
            equivalent: true,
        }],
    ),
    (
        "update",
        "updates of percpu_hash maps",
        &[
            Candidate {
                hook: "__htab_percpu_map_update_elem",
                parameters: 5,
                probes: pair!("percpu_update_in", "percpu_update_out"),
                equivalent: true,
            },
            // Took its place in 6.16, for updates in place.
            Candidate {
                hook: "htab_map_update_elem_in_place",
                parameters: 6,
                probes: pair!("in_place_update_in", "in_place_update_out"),
                equivalent: true,
            },
        ],
    ),
    (
        "update",
        "updates of lru_hash maps",
        &[Candidate {
            hook: "htab_lru_map_update_elem",
            parameters: 4,
            probes: pair!("lru_update_in", "lru_update_out"),
            equivalent: true,
        }],
    ),
    (
        "update",
        "updates of lru_percpu_hash maps",
        &[Candidate {
            hook: "__htab_lru_percpu_map_update_elem",
            parameters: 5,
            probes: pair!("lru_percpu_update_in", "lru_percpu_update_out"),
            equivalent: true,
        }],
    ),
    (
        POP,
        "freelist pops of preallocated hash and percpu_hash maps",
        &[
            Candidate {
                hook: "__pcpu_freelist_pop",
                parameters: 1,
                probes: pair!("pop_in", "pop_out"),
                equivalent: true,
            },
            // `percpu_freelist.o` is built without ftrace since 6.13 (commit c83508da5620).
            Candidate {
                hook: "alloc_htab_elem",
                parameters: 8,
                probes: pair!("alloc_in", "alloc_out"),
                equivalent: false,
            },
            // 7.3 has a ninth parameter, `map_flags`.
            Candidate {
                hook: "alloc_htab_elem",
                parameters: 9,
                probes: pair!("alloc_in", "alloc_flags_out"),
                equivalent: false,
            },
        ],
    ),
    (
        "maps",
        "every map on the host, touched or not",
        &[Candidate {
            hook: "bpf_iter_bpf_map",
            parameters: 2,
            probes: &[Probe {
                name: "inventory",
                mechanism: Mechanism::Iter,
            }],
            equivalent: true,
        }],
    ),
];

/// Name of the signal that watches freelist pops.
pub const POP: &str = "pop";

/// What runs on maps and is watched by nobody here, and why; `doctor` prints it.
pub const UNWATCHED: &[(&str, &str)] = &[
    (
        "lookups",
        "the hottest path of all; a probe there would cost more than it shows",
    ),
    (
        "deletes, batches, local storage, lock waits",
        "not in this version",
    ),
    (
        "arrays, queues, stacks, ring buffers",
        "no freelist and no bucket lock to fight over",
    ),
    (
        "LPM tries",
        "`lpm_trie.o` is built without ftrace since 6.13 (commit c83508da5620)",
    ),
];

/// Makes the plan. `functions` is `Err` with the reason when the kernel's BTF cannot be read: every
/// typed probe is then refused by it.
pub fn plan(functions: Result<&dyn KernelFunctions, &Refusal>) -> Plan {
    let signals = SIGNALS.iter().map(|(name, what, candidates)| Signal {
        name,
        what,
        alternatives: alternatives(candidates, functions),
    });
    Plan {
        signals: signals.collect(),
    }
}

/// A signal's alternatives with what is known of them. One whose function the kernel does not have
/// is left out when another, that sees the same, can be tried: nothing is missing then.
fn alternatives(
    candidates: &'static [Candidate],
    functions: Result<&dyn KernelFunctions, &Refusal>,
) -> Vec<Alternative> {
    let judged: Vec<_> = candidates
        .iter()
        .map(|c| (c, refusal(c, functions)))
        .collect();
    let can_be_tried = |candidate: &Candidate| {
        judged
            .iter()
            .any(|(c, r)| c.hook == candidate.hook && r.is_none())
    };
    let replaced = candidates
        .iter()
        .any(|candidate| candidate.equivalent && can_be_tried(candidate));
    judged
        .iter()
        .filter(|(candidate, refusal)| {
            // Another form of the same function fits, or another function that sees the same.
            let spare = can_be_tried(candidate) || candidate.equivalent && replaced;
            refusal.is_none() || !spare
        })
        .map(|(candidate, refusal)| Alternative {
            hook: candidate.hook,
            probes: candidate.probes,
            refusal: refusal.clone(),
        })
        .collect()
}

/// Why a candidate need not be tried.
fn refusal(
    candidate: &Candidate,
    functions: Result<&dyn KernelFunctions, &Refusal>,
) -> Option<Refusal> {
    let functions = match functions {
        Ok(functions) => functions,
        Err(refusal) => return Some(refusal.clone()),
    };
    let hook = candidate.hook;
    match functions.parameters(hook) {
        None => Some(Refusal {
            reason: "no_symbol",
            detail: format!("the kernel's BTF has no function `{hook}`"),
            remedy: "none needed if another way to see the signal is attached".into(),
        }),
        Some(found) if found != candidate.parameters => Some(Refusal {
            reason: "signature",
            detail: format!(
                "`{hook}` takes {found} parameters in this kernel, not {}",
                candidate.parameters
            ),
            remedy: "report the kernel's release: the probe must learn this signature".into(),
        }),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
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
            (pop.len(), &pop[1].refusal),
            (2, &None),
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
                .all(|a| a.refusal == Some(no_btf.clone()))
        }));
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
}
