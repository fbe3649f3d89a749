//! Which probe goes on which kernel function: a pure function of what the kernel has.
//!
//! Nothing here touches the kernel. What the plan hopes for is tried by the kernel room, each probe
//! on its own, and a later alternative is used when an earlier one is refused.

mod catalog;

use std::collections::BTreeSet;

use crate::probes::{Mechanism, Refusal};
pub use catalog::UNWATCHED;
use catalog::{Candidate, SIGNALS};

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
        .enumerate()
        .filter(|(place, (candidate, refusal))| {
            // Another form of the same function fits, or was refused already; or another function
            // that sees the same fits.
            let form = |(c, _): &&(&Candidate, _)| {
                c.hook == candidate.hook && c.typed() == candidate.typed()
            };
            let refused_before = judged[..*place].iter().any(|c| form(&c));
            let replaced = candidate.equivalent && replaced;
            refusal.is_none() || !(can_be_tried(candidate) || refused_before || replaced)
        })
        .map(|(_, judged)| judged)
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
