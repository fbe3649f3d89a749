//! What could be watched, on any kernel: every signal, and the kernel functions that show it.

use mapstorm_abi::inventory::SUM_ELEM_COUNT;

use super::Probe;
use crate::probes::Mechanism;

/// One kind of map or operation that a signal covers, and the ways to see it, best first.
pub(super) struct Sight {
    /// The signal.
    pub(super) signal: &'static str,
    /// What is seen, in words.
    pub(super) what: &'static str,
    /// Does every kernel have it? A kernel without any of the functions has nothing to see of what
    /// came later than the oldest kernel.
    pub(super) everywhere: bool,
    pub(super) candidates: &'static [Candidate],
}

/// A way to see a signal, before it is known what the kernel has.
pub(super) struct Candidate {
    pub(super) hook: &'static str,
    /// Parameters that typed programs rely on: they read the return value behind the last one.
    pub(super) parameters: usize,
    pub(super) probes: &'static [Probe],
    /// Sees the same as the candidates before it that go the same way; else it is a lesser one, and
    /// what it replaces is reported as missing.
    pub(super) equivalent: bool,
}

/// How much a candidate asks of the kernel, and how much it shows: the first shows all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Programs that know the function's types: trampolines, iterators.
    Typed,
    /// Entry and return probes in a pair: maps by the offsets of fields, blind to system calls.
    Pair,
    /// A return probe alone: nothing of a map, and as blind.
    Return,
}

impl Candidate {
    /// The way it goes.
    pub(super) fn way(&self) -> Way {
        match self.probes[0].mechanism {
            Mechanism::Kretprobe => Way::Return,
            Mechanism::Kprobe | Mechanism::PairedKretprobe => Way::Pair,
            _ => Way::Typed,
        }
    }

    /// Does it take a trampoline?
    pub(super) fn by_trampoline(&self) -> bool {
        self.probes
            .iter()
            .any(|probe| probe.mechanism.is_trampoline())
    }
}

/// An entry and an exit program. The exit goes first: an entry without its exit would leave starts
/// behind.
macro_rules! pair {
    ($hook:expr, $parameters:literal, $entry:literal, $exit:literal) => {
        Candidate {
            hook: $hook,
            parameters: $parameters,
            probes: &[
                Probe {
                    name: $exit,
                    mechanism: Mechanism::Fexit,
                },
                Probe {
                    name: $entry,
                    mechanism: Mechanism::Fentry,
                },
            ],
            equivalent: true,
        }
    };
    (lesser $hook:expr, $parameters:literal, $entry:literal, $exit:literal) => {
        Candidate {
            equivalent: false,
            ..pair!($hook, $parameters, $entry, $exit)
        }
    };
}

/// An entry and a return probe: need the offsets of fields, and are blind to system calls.
macro_rules! kprobes {
    ($hook:expr, $entry:literal, $return:literal) => {
        Candidate {
            hook: $hook,
            parameters: 0,
            probes: &[
                Probe {
                    name: $return,
                    mechanism: Mechanism::PairedKretprobe,
                },
                Probe {
                    name: $entry,
                    mechanism: Mechanism::Kprobe,
                },
            ],
            equivalent: true,
        }
    };
    (lesser $hook:expr, $entry:literal, $return:literal) => {
        Candidate {
            equivalent: false,
            ..kprobes!($hook, $entry, $return)
        }
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

// Behind the macros, which they use.
mod host;
mod removals;
mod storage;
mod updates;

/// Everything, in the order in which it is attached. Alternatives on one route are never attached
/// together, because an operation that runs through both would be counted twice.
pub(super) fn sights() -> impl Iterator<Item = &'static Sight> {
    let parts = [
        updates::SIGHTS,
        removals::SIGHTS,
        storage::SIGHTS,
        host::SIGHTS,
    ];
    parts.into_iter().flatten()
}

/// Kernel functions that a probe calls besides the one it sits on.
pub(super) const CALLS: &[(&str, &str)] = &[("inventory_counted", SUM_ELEM_COUNT)];

/// Probes that are of no use where the kernel has a function by which another tells more.
pub(super) const OUTDONE: &[(&str, &str)] = &[("inventory_peeked", SUM_ELEM_COUNT)];

/// What runs on maps and is watched by nobody here, and why; `doctor` prints it.
pub const UNWATCHED: &[(&str, &str)] = &[
    (
        "lookups in hashes",
        "the hottest path of all; a probe there would cost more than it shows",
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
