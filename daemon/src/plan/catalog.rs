//! What could be watched, on any kernel: every signal, and the kernel functions that show it.

use super::{ALLOC_HOOK, MAPS, POP, POP_HOOK, Probe, UPDATE};
use crate::probes::Mechanism;

/// A way to see a signal, before it is known what the kernel has.
pub(super) struct Candidate {
    pub(super) hook: &'static str,
    /// Parameters that the programs rely on: they read the return value behind the last one.
    pub(super) parameters: usize,
    pub(super) probes: &'static [Probe],
    /// Sees the same as the candidates before it; else it is a lesser one, and what it replaces is
    /// reported as missing.
    pub(super) equivalent: bool,
}

impl Candidate {
    /// Do its programs need the kernel's types?
    pub(super) fn typed(&self) -> bool {
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
pub(super) const SIGNALS: &[(&str, &str, &[Candidate])] = &[
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
