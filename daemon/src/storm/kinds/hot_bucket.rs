//! Kind `hot_bucket`: CPUs that fight over the lock of a bucket, because they all work on one key or on
//! few, or because the lock is held for long.

use super::Advice;
use crate::snapshot::MapStats;

pub(super) fn advice(map: &MapStats) -> Advice {
    if map.kind.is_per_cpu() {
        Advice::new(
            "look the element up and change it in place; update only when it is not there",
            "each update takes the bucket's lock even where the value is the CPU's own",
        )
    } else {
        Advice::new(
            "use a per-CPU map, or look the element up and change it in place with atomic operations",
            "each update of a key takes the lock of its bucket, and all CPUs that update it take turns",
        )
    }
}
