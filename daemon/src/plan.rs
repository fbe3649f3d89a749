//! Which probe goes on which kernel function: a pure function of what the kernel has.
//!
//! Nothing here touches the kernel. What the plan hopes for is tried by the kernel room, each probe
//! on its own, and a later alternative is used when an earlier one is refused.

use std::collections::BTreeSet;

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

impl Candidate {
    /// Do its programs need the kernel's types?
    fn typed(&self) -> bool {
        self.probes
            .iter()
            .all(|probe| probe.mechanism != Mechanism::Kretprobe)
    }
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

/// A return probe: needs no types, knows no map, and is blind to system calls.
macro_rules! ret {
    ($hook:expr, $name:literal) => {
        Candidate {
            hook: $hook,
            parameters: 0,
            probes: &[Probe {
                name: $name,
                mechanism: Mechanism::Kretprobe,
            }],
            equivalent: false,
        }
    };
}

/// Every signal and its candidates. Alternatives on one route are never attached together, because
/// an operation that runs through both would be counted twice.
const SIGNALS: &[(&str, &str, &[Candidate])] = &[
    (
        UPDATE,
        "updates of hash and hash_of_maps maps",
        &[
            Candidate {
                hook: "htab_map_update_elem",
                parameters: 4,
                probes: pair!("htab_update_in", "htab_update_out"),
                equivalent: true,
            },
            ret!("htab_map_update_elem", "htab_update_ret"),
        ],
    ),
    (
        UPDATE,
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
            ret!("__htab_percpu_map_update_elem", "percpu_update_ret"),
            ret!("htab_map_update_elem_in_place", "in_place_update_ret"),
        ],
    ),
    (
        UPDATE,
        "updates of lru_hash maps",
        &[
            Candidate {
                hook: "htab_lru_map_update_elem",
                parameters: 4,
                probes: pair!("lru_update_in", "lru_update_out"),
                equivalent: true,
            },
            ret!("htab_lru_map_update_elem", "lru_update_ret"),
        ],
    ),
    (
        UPDATE,
        "updates of lru_percpu_hash maps",
        &[
            Candidate {
                hook: "__htab_lru_percpu_map_update_elem",
                parameters: 5,
                probes: pair!("lru_percpu_update_in", "lru_percpu_update_out"),
                equivalent: true,
            },
            ret!("__htab_lru_percpu_map_update_elem", "lru_percpu_update_ret"),
        ],
    ),
    (
        POP,
        "freelist pops of preallocated hash and percpu_hash maps",
        &[
            Candidate {
                hook: POP_HOOK,
                parameters: 1,
                probes: pair!("pop_in", "pop_out"),
                equivalent: true,
            },
            // `percpu_freelist.o` is built without ftrace since 6.13 (commit c83508da5620).
            Candidate {
                hook: ALLOC_HOOK,
                parameters: 8,
                probes: pair!("alloc_in", "alloc_out"),
                equivalent: false,
            },
            // 7.3 has a ninth parameter, `map_flags`.
            Candidate {
                hook: ALLOC_HOOK,
                parameters: 9,
                probes: pair!("alloc_in", "alloc_flags_out"),
                equivalent: false,
            },
            ret!(POP_HOOK, "pop_ret"),
        ],
    ),
    (
        MAPS,
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

/// Name of the signal that watches updates.
pub const UPDATE: &str = "update";
/// Name of the signal that watches freelist pops.
pub const POP: &str = "pop";
/// Name of the signal that lists maps.
pub const MAPS: &str = "maps";
/// Where a pop itself is seen.
pub const POP_HOOK: &str = "__pcpu_freelist_pop";
/// Where a pop is seen from around it.
pub const ALLOC_HOOK: &str = "alloc_htab_elem";

/// Every name by which a signal or a probe can be asked for, signals first.
pub fn names() -> Vec<&'static str> {
    let probes = SIGNALS.iter().flat_map(|(_, _, candidates)| *candidates);
    let probes = probes
        .flat_map(|candidate| candidate.probes)
        .map(|p| p.name);
    let mut names = vec![UPDATE, POP, MAPS];
    for name in probes {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Every kernel function that a plan may name, each once.
pub fn hooks() -> Vec<&'static str> {
    let candidates = SIGNALS.iter().flat_map(|(_, _, candidates)| *candidates);
    let hooks: BTreeSet<_> = candidates.map(|candidate| candidate.hook).collect();
    hooks.into_iter().collect()
}

/// The kernel functions of each kind of map that a signal covers.
pub fn kinds(signal: &str) -> Vec<Vec<&'static str>> {
    let of_signal = SIGNALS.iter().filter(|(name, _, _)| *name == signal);
    of_signal
        .map(|(_, _, candidates)| candidates.iter().map(|candidate| candidate.hook).collect())
        .collect()
}

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
            .any(|(c, r)| c.hook == candidate.hook && c.typed() == candidate.typed() && r.is_none())
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
    if !candidate.typed() {
        return None;
    }
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
mod tests;
