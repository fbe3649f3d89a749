//! What is seen of the host as a whole: waits for locks, its maps, its programs.

use super::{Candidate, Sight};
use crate::{
    plan::{CALLERS, CONTENTION, LOCK_WAIT, MAPS, Probe, USERS},
    probes::Mechanism,
};

/// Target of the iterator over programs.
const PROGRAMS_HOOK: &str = "bpf_iter_bpf_prog";

/// A form of the map iterator: all tell the same of a map, but for its elements.
macro_rules! inventory {
    ($name:literal) => {
        Candidate {
            hook: "bpf_iter_bpf_map",
            parameters: 2,
            probes: &[Probe {
                name: $name,
                mechanism: Mechanism::Iter,
            }],
            equivalent: true,
        }
    };
}

/// Waits first: they belong to operations, which are attached by now.
pub(super) const SIGHTS: &[Sight] = &[
    Sight {
        signal: LOCK_WAIT,
        what: "waits for locks inside of operations, but for each lock's first waiter's",
        everywhere: true,
        candidates: &[Candidate {
            hook: CONTENTION,
            parameters: 2,
            // The end goes first, as exits do. Raw tracepoints and no typed ones: both arguments are
            // numbers to the verifier either way.
            probes: &[
                Probe {
                    name: "contention_end",
                    mechanism: Mechanism::RawTp,
                },
                Probe {
                    name: "contention_begin",
                    mechanism: Mechanism::RawTp,
                },
            ],
            equivalent: true,
        }],
    },
    Sight {
        signal: MAPS,
        what: "every map on the host, touched or not",
        everywhere: true,
        candidates: &[
            inventory!("inventory_counted"),
            inventory!("inventory_peeked"),
            inventory!("inventory"),
        ],
    },
    Sight {
        signal: CALLERS,
        what: "every program on the host, by which sampled calls are told apart",
        everywhere: true,
        candidates: &[Candidate {
            hook: PROGRAMS_HOOK,
            parameters: 2,
            probes: &[Probe {
                name: "programs",
                mechanism: Mechanism::Iter,
            }],
            equivalent: true,
        }],
    },
    Sight {
        signal: USERS,
        what: "the programs that use a map",
        everywhere: true,
        candidates: &[Candidate {
            hook: PROGRAMS_HOOK,
            parameters: 2,
            probes: &[Probe {
                name: "users",
                mechanism: Mechanism::Iter,
            }],
            equivalent: true,
        }],
    },
];
