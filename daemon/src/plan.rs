//! Which probe goes on which kernel function: a pure function of what the kernel has.
//!
//! Nothing here touches the kernel. What the plan hopes for is tried by the kernel room, each probe
//! on its own, and a later alternative is used when an earlier one is refused.

mod catalog;

use std::collections::BTreeSet;

use crate::probes::{Mechanism, Refusal};
pub use catalog::UNWATCHED;
use catalog::{CALLS, Candidate, OUTDONE, Sight, Way, sights};

/// What the plan needs to know of the kernel's functions.
pub trait KernelFunctions {
    /// Number of the function's parameters; `None` when the kernel's BTF has no such function.
    fn parameters(&self, function: &str) -> Option<usize>;

    /// Does the kernel have this tracepoint?
    fn tracepoint(&self, name: &str) -> bool;
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

impl Plan {
    /// Notes that nothing of these signals can be had; what is refused already keeps its reason.
    pub fn refuse(&mut self, signals: &[&str], refusal: &Refusal) {
        let of = |signal: &&mut Signal| signals.contains(&signal.name);
        let alternatives = self.signals.iter_mut().filter(of);
        for alternative in alternatives.flat_map(|signal| &mut signal.alternatives) {
            alternative.refusal.get_or_insert_with(|| refusal.clone());
        }
    }
}

/// Name of the signal that watches updates.
pub const UPDATE: &str = "update";
/// Name of the signal that watches deletes.
pub const DELETE: &str = "delete";
/// Name of the signal that watches lookups that delete.
pub const LOOKUP_AND_DELETE: &str = "lookup_and_delete";
/// Name of the signal that watches batches of lookups, with or without deletes.
pub const BATCH: &str = "batch";
/// Name of the signal that watches local storage.
pub const LOCAL_STORAGE: &str = "local_storage";
/// Name of the signal that watches freelist pops.
pub const POP: &str = "pop";
/// Name of the signal that watches waits for locks.
pub const LOCK_WAIT: &str = "lock_wait";
/// The tracepoints `contention_begin` and `contention_end`, each a probe of its name.
pub const CONTENTION: &str = "contention";
/// Name of the signal that lists maps.
pub const MAPS: &str = "maps";
/// Name of the signal that tells which program a sampled call came from.
pub const CALLERS: &str = "callers";
/// Name of the signal that lists the programs that use a map.
pub const USERS: &str = "users";
/// Where a pop itself is seen.
pub const POP_HOOK: &str = "__pcpu_freelist_pop";
/// Where a pop is seen from around it.
pub const ALLOC_HOOK: &str = "alloc_htab_elem";

/// Where what a signal shows comes from; the label `source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A BPF program, other than the next.
    Program,
    /// A program of a kprobe, a tracepoint or a perf event (before 6.0 of a uprobe, too).
    ProbeProgram,
    /// The bpf(2) system call.
    Syscall,
    /// The host itself: nobody does what the signal shows.
    Host,
}

impl Source {
    /// Whatever may work on a map.
    const ALL: &[Self] = &[Self::Program, Self::ProbeProgram, Self::Syscall];

    /// Value of the label `source`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::ProbeProgram => "probe_program",
            Self::Syscall => "syscall",
            Self::Host => "",
        }
    }
}

/// Every signal, in the order in which they are attached, and where what it shows comes from. Some
/// commands only the system call has.
pub const SIGNALS: &[(&str, &[Source])] = &[
    (UPDATE, Source::ALL),
    (POP, Source::ALL),
    (DELETE, Source::ALL),
    (LOOKUP_AND_DELETE, &[Source::Syscall]),
    (BATCH, &[Source::Syscall]),
    (LOCAL_STORAGE, Source::ALL),
    (LOCK_WAIT, Source::ALL),
    (MAPS, &[Source::Host]),
    (CALLERS, Source::ALL),
    // By programs and by processes, which are not listed.
    (USERS, &[Source::Program, Source::Syscall]),
];

/// Every name by which a signal or a probe can be asked for, signals first.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = SIGNALS.iter().map(|(name, _)| *name).collect();
    let probes = candidates().flat_map(|candidate| candidate.probes);
    for name in probes.map(|probe| probe.name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Every kernel function that a plan may name, each once.
pub fn hooks() -> Vec<&'static str> {
    let hooks: BTreeSet<_> = candidates().map(|candidate| candidate.hook).collect();
    hooks.into_iter().collect()
}

/// The kernel functions of each kind of map that a signal covers.
pub fn kinds(signal: &str) -> Vec<Vec<&'static str>> {
    let of_signal = sights().filter(|sight| sight.signal == signal);
    of_signal
        .map(|sight| {
            sight
                .candidates
                .iter()
                .map(|candidate| candidate.hook)
                .collect()
        })
        .collect()
}

fn candidates() -> impl Iterator<Item = &'static Candidate> {
    sights().flat_map(|sight| sight.candidates)
}

/// What stands for and against the plan.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The kernel's functions; `Err` with the reason when its BTF cannot be read: every probe that
    /// needs types or offsets is then refused by it.
    pub functions: Result<&'a dyn KernelFunctions, &'a Refusal>,
    /// Why trampolines are not to be tried, if they are not.
    pub no_trampolines: Option<&'a Refusal>,
}

/// Makes the plan where nothing stands against trampolines.
pub fn plan(functions: Result<&dyn KernelFunctions, &Refusal>) -> Plan {
    plan_on(Ground {
        functions,
        no_trampolines: None,
    })
}

/// Makes the plan.
pub fn plan_on(ground: Ground<'_>) -> Plan {
    let there = sights().filter(|sight| !is_foreign(sight, ground.functions));
    let signals = there.map(|sight| Signal {
        name: sight.signal,
        what: sight.what,
        alternatives: alternatives(sight.candidates, ground),
    });
    Plan {
        signals: signals.collect(),
    }
}

/// Has this kernel nothing of the kind, or can nobody tell? Then nothing is missing.
fn is_foreign(sight: &Sight, functions: Result<&dyn KernelFunctions, &Refusal>) -> bool {
    let has = |functions: &dyn KernelFunctions| {
        let mut hooks = sight.candidates.iter().map(|candidate| candidate.hook);
        hooks.any(|hook| functions.parameters(hook).is_some())
    };
    !sight.everywhere && !functions.is_ok_and(has)
}

/// A signal's alternatives with what is known of them. One whose function the kernel does not have
/// is left out when another, that sees the same, is there: nothing is missing then.
fn alternatives(candidates: &'static [Candidate], ground: Ground<'_>) -> Vec<Alternative> {
    let judged: Vec<_> = candidates.iter().map(|c| (c, refusal(c, ground))).collect();
    let kept = judged
        .iter()
        .enumerate()
        .filter(|(place, (candidate, why))| {
            let Some(why) = why else {
                return true;
            };
            let way = || judged.iter().filter(|(c, _)| c.way() == candidate.way());
            // Another form of the same function fits, or was refused already; or another function that
            // sees the same is there.
            let form = |(c, _): &&(&Candidate, _)| c.hook == candidate.hook;
            let fits = way().filter(form).any(|(_, why)| why.is_none());
            let refused_before = judged[..*place]
                .iter()
                .any(|c| c.0.way() == candidate.way() && form(&c));
            let is_there =
                |why: &Option<Refusal>| why.as_ref().is_none_or(|r| r.reason != NO_SYMBOL);
            let replaced = candidate.equivalent
                && why.reason == NO_SYMBOL
                && way().any(|(c, why)| c.equivalent && is_there(why));
            !(fits || refused_before || replaced)
        });
    kept.map(|(_, (candidate, refusal))| Alternative {
        hook: candidate.hook,
        probes: candidate.probes,
        refusal: refusal.clone(),
    })
    .collect()
}

/// The reason of a function that is not there.
const NO_SYMBOL: &str = "no_symbol";

/// Why a candidate need not be tried. What would be in vain anyhow comes first.
fn refusal(candidate: &Candidate, ground: Ground<'_>) -> Option<Refusal> {
    if candidate.way() == Way::Return {
        return None;
    }
    let functions = match ground.functions {
        Ok(functions) => functions,
        Err(refusal) => return Some(refusal.clone()),
    };
    let hook = candidate.hook;
    if hook == CONTENTION {
        return no_tracepoint(candidate, functions);
    }
    match functions.parameters(hook) {
        None => Some(Refusal {
            reason: NO_SYMBOL,
            detail: format!("the kernel's BTF has no function `{hook}`"),
            remedy: "none needed if another way to see the signal is attached".into(),
        }),
        Some(_) if candidate.way() == Way::Pair => None,
        Some(_) if candidate.by_trampoline() && ground.no_trampolines.is_some() => {
            ground.no_trampolines.cloned()
        }
        Some(found) if found != candidate.parameters => Some(Refusal {
            reason: "signature",
            detail: format!(
                "`{hook}` takes {found} parameters in this kernel, not {}",
                candidate.parameters
            ),
            remedy: "report the kernel's release: the probe must learn this signature".into(),
        }),
        Some(_) => candidate.probes.iter().find_map(|probe| {
            let named = |(name, _): &&(&str, &str)| *name == probe.name;
            let absent = |function: &str| functions.parameters(function).is_none();
            let calls = CALLS.iter().find(named).filter(|(_, f)| absent(f));
            let outdone = OUTDONE.iter().find(named).filter(|(_, f)| !absent(f));
            let (words, (_, function)) = calls
                .map(|call| ("has no", call))
                .or_else(|| outdone.map(|by| ("has", by)))?;
            Some(Refusal {
                reason: "no_symbol",
                detail: format!("the kernel's BTF {words} function `{function}`"),
                remedy: "none needed: another form of the probe is for such kernels".into(),
            })
        }),
    }
}

/// The first tracepoint of the candidate that the kernel does not have.
fn no_tracepoint(candidate: &Candidate, functions: &dyn KernelFunctions) -> Option<Refusal> {
    let mut names = candidate.probes.iter().map(|probe| probe.name);
    let name = names.find(|name| !functions.tracepoint(name))?;
    Some(Refusal {
        reason: "no_tracepoint",
        detail: format!("the kernel has no tracepoint `{name}`"),
        remedy: "run a kernel of 5.19 or newer to see who waits for locks".into(),
    })
}

#[cfg(test)]
mod tests;
