//! What takes elements out of hashes: deletes, lookups that delete, batches.

use super::{Candidate, Sight};
use crate::{
    plan::{BATCH, DELETE, LOOKUP_AND_DELETE, Probe},
    probes::Mechanism,
};

/// In the order of the signals.
pub(super) const SIGHTS: &[Sight] = &[
    Sight {
        signal: DELETE,
        what: "deletes from hash, percpu_hash and hash_of_maps maps",
        everywhere: true,
        candidates: &[
            pair!(
                "htab_map_delete_elem",
                2,
                "htab_delete_in",
                "htab_delete_out"
            ),
            kprobes!(
                "htab_map_delete_elem",
                "htab_delete_kprobe",
                "htab_delete_kretprobe"
            ),
        ],
    },
    Sight {
        signal: DELETE,
        what: "deletes from lru_hash and lru_percpu_hash maps",
        everywhere: true,
        candidates: &[
            pair!(
                "htab_lru_map_delete_elem",
                2,
                "lru_delete_in",
                "lru_delete_out"
            ),
            kprobes!(
                "htab_lru_map_delete_elem",
                "lru_delete_kprobe",
                "lru_delete_kretprobe"
            ),
        ],
    },
    Sight {
        signal: DELETE,
        what: "deletes from rhash maps",
        everywhere: false,
        candidates: &[
            pair!(
                "rhtab_map_delete_elem",
                2,
                "rhash_delete_in",
                "rhash_delete_out"
            ),
            kprobes!(
                "rhtab_map_delete_elem",
                "rhash_delete_kprobe",
                "rhash_delete_kretprobe"
            ),
        ],
    },
    Sight {
        signal: LOOKUP_AND_DELETE,
        what: "lookups that delete, in every kind of hash but rhash",
        // 5.14, commit 3e87f192b405.
        everywhere: false,
        candidates: &[pair!(
            "__htab_map_lookup_and_delete_elem",
            6,
            "htab_lookup_and_delete_in",
            "htab_lookup_and_delete_out"
        )],
    },
    Sight {
        signal: LOOKUP_AND_DELETE,
        what: "lookups that delete, in rhash maps",
        everywhere: false,
        candidates: &[pair!(
            "rhtab_map_lookup_and_delete_elem",
            4,
            "rhash_lookup_and_delete_in",
            "rhash_lookup_and_delete_out"
        )],
    },
    Sight {
        signal: BATCH,
        what: "batches of lookups, with or without deletes, in every kind of hash but rhash",
        everywhere: true,
        candidates: &[pair!(
            "__htab_map_lookup_and_delete_batch",
            6,
            "htab_batch_in",
            "htab_batch_out"
        )],
    },
    Sight {
        signal: BATCH,
        what: "batches of lookups, with or without deletes, in rhash maps",
        everywhere: false,
        candidates: &[pair!(
            "__rhtab_map_lookup_and_delete_batch",
            4,
            "rhash_batch_in",
            "rhash_batch_out"
        )],
    },
];
