//! Local storage of sockets, tasks, inodes and cgroups.

use super::{Candidate, Sight};
use crate::{
    plan::{LOCAL_STORAGE, Probe},
    probes::Mechanism,
};

/// Updates, and what of lookups is worth a probe.
pub(super) const SIGHTS: &[Sight] = &[
    Sight {
        signal: LOCAL_STORAGE,
        what: "updates of local storage",
        everywhere: true,
        candidates: &[
            pair!(
                "bpf_local_storage_update",
                4,
                "storage_update_in",
                "storage_update_out"
            ),
            pair!(
                "bpf_local_storage_update",
                5,
                "storage_update_in",
                "storage_update_5_out"
            ),
            pair!(
                "bpf_local_storage_update",
                6,
                "storage_update_in",
                "storage_update_6_out"
            ),
            kprobes!(
                "bpf_local_storage_update",
                "storage_update_kprobe",
                "storage_update_kretprobe"
            ),
        ],
    },
    Sight {
        signal: LOCAL_STORAGE,
        what: "lookups in local storage that its cache does not answer; up to 6.8 all lookups",
        everywhere: true,
        candidates: &[
            pair!(
                "__bpf_local_storage_insert_cache",
                3,
                "storage_cache_in",
                "storage_cache_out"
            ),
            // Up to 6.8 the cache is searched in the same function as the list.
            pair!(
                "bpf_local_storage_lookup",
                3,
                "storage_lookup_in",
                "storage_lookup_out"
            ),
            kprobes!(
                "__bpf_local_storage_insert_cache",
                "storage_cache_kprobe",
                "storage_cache_kretprobe"
            ),
            kprobes!(
                "bpf_local_storage_lookup",
                "storage_lookup_kprobe",
                "storage_lookup_kretprobe"
            ),
        ],
    },
];
