//! Updates of hashes, and the freelist pops inside of them.

use super::{Candidate, Sight};
use crate::{
    plan::{ALLOC_HOOK, POP, POP_HOOK, Probe, UPDATE},
    probes::Mechanism,
};

/// Updates first: a pop belongs to the update around it.
pub(super) const SIGHTS: &[Sight] = &[
    Sight {
        signal: UPDATE,
        what: "updates of hash maps, and of hash_of_maps maps up to 6.15",
        everywhere: true,
        candidates: &[
            pair!(
                "htab_map_update_elem",
                4,
                "htab_update_in",
                "htab_update_out"
            ),
            kprobes!(
                "htab_map_update_elem",
                "htab_update_kprobe",
                "htab_update_kretprobe"
            ),
            ret!("htab_map_update_elem", "htab_update_ret"),
        ],
    },
    Sight {
        signal: UPDATE,
        what: "updates of percpu_hash maps, and of hash_of_maps maps from 6.16",
        everywhere: true,
        candidates: &[
            pair!(
                "__htab_percpu_map_update_elem",
                5,
                "percpu_update_in",
                "percpu_update_out"
            ),
            // Took its place in 6.16, for updates in place.
            pair!(
                "htab_map_update_elem_in_place",
                6,
                "in_place_update_in",
                "in_place_update_out"
            ),
            kprobes!(
                "__htab_percpu_map_update_elem",
                "percpu_update_kprobe",
                "percpu_update_kretprobe"
            ),
            kprobes!(
                "htab_map_update_elem_in_place",
                "in_place_update_kprobe",
                "in_place_update_kretprobe"
            ),
            ret!("__htab_percpu_map_update_elem", "percpu_update_ret"),
            ret!("htab_map_update_elem_in_place", "in_place_update_ret"),
        ],
    },
    Sight {
        signal: UPDATE,
        what: "updates of lru_hash maps",
        everywhere: true,
        candidates: &[
            pair!(
                "htab_lru_map_update_elem",
                4,
                "lru_update_in",
                "lru_update_out"
            ),
            kprobes!(
                "htab_lru_map_update_elem",
                "lru_update_kprobe",
                "lru_update_kretprobe"
            ),
            ret!("htab_lru_map_update_elem", "lru_update_ret"),
        ],
    },
    Sight {
        signal: UPDATE,
        what: "updates of lru_percpu_hash maps",
        everywhere: true,
        candidates: &[
            pair!(
                "__htab_lru_percpu_map_update_elem",
                5,
                "lru_percpu_update_in",
                "lru_percpu_update_out"
            ),
            kprobes!(
                "__htab_lru_percpu_map_update_elem",
                "lru_percpu_update_kprobe",
                "lru_percpu_update_kretprobe"
            ),
            ret!("__htab_lru_percpu_map_update_elem", "lru_percpu_update_ret"),
        ],
    },
    Sight {
        signal: UPDATE,
        what: "updates of rhash maps",
        everywhere: false,
        candidates: &[
            pair!(
                "rhtab_map_update_elem",
                4,
                "rhash_update_in",
                "rhash_update_out"
            ),
            kprobes!(
                "rhtab_map_update_elem",
                "rhash_update_kprobe",
                "rhash_update_kretprobe"
            ),
        ],
    },
    Sight {
        signal: POP,
        what: "freelist pops of preallocated hash and percpu_hash maps",
        everywhere: true,
        candidates: &[
            pair!(POP_HOOK, 1, "pop_in", "pop_out"),
            // `percpu_freelist.o` is built without ftrace since 6.13 (commit c83508da5620).
            pair!(lesser ALLOC_HOOK, 8, "alloc_in", "alloc_out"),
            // 7.3 has a ninth parameter, `map_flags`.
            pair!(lesser ALLOC_HOOK, 9, "alloc_in", "alloc_flags_out"),
            kprobes!(POP_HOOK, "pop_kprobe", "pop_kretprobe"),
            kprobes!(lesser ALLOC_HOOK, "alloc_kprobe", "alloc_kretprobe"),
            ret!(POP_HOOK, "pop_ret"),
        ],
    },
];
