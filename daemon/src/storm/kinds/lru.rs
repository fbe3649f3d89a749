//! Kind `lru`: CPUs that fight over an LRU map, however full it is, or updates that it refuses because it
//! finds nothing to evict.

use mapstorm_abi::Outcome;

use super::{Advice, Evidence, Level, Reading, Thresholds, ToldBy, Window, lost};
use crate::snapshot::MapStats;

/// `BPF_F_NO_COMMON_LRU`: each CPU has a list of its own.
const NO_COMMON_LRU: u32 = 1 << 1;

/// Evidence: time lost, or enough refusals.
pub(super) fn read(thresholds: &Thresholds, window: &Window<'_>) -> Reading {
    let change = window.change;
    if !change.map.kind.is_lru() {
        return Reading::CALM;
    }
    let rejects = change.updates(Outcome::Enomem);
    let refused = Level::of_refusals(change, rejects, thresholds.lru_rejects_per_second);
    let refused = Reading::of_refusals(change, refused, rejects, change.starved_cpus());
    let contention = window.contention;
    let fought = contention.level(&thresholds.contention);
    let is_measured = contention.waited.is_some() || contention.excess.is_some();
    let lost = is_measured.then_some(contention.cpu_seconds);
    let known = [lost, refused.cpu_seconds].into_iter().flatten();
    Reading {
        level: refused.level.max(fought),
        cpus: refused.cpus.max(contention.cpus),
        cpu_seconds: known.reduce(f64::max),
        ..refused
    }
}

pub(super) fn evidence(window: &Window<'_>, reading: &Reading) -> Evidence {
    let contention = window.contention;
    let told_by = match () {
        () if contention.is_waited() => ToldBy::LockWaits,
        () if contention.cpu_seconds > 0.0 || reading.rejects == 0 => ToldBy::Durations,
        () => ToldBy::Refusals,
    };
    let mut evidence = Evidence {
        told_by,
        ..lost(contention)
    };
    if reading.rejects > 0 {
        let per_second = reading.rejects_per_second;
        evidence.add(&format!(
            "{per_second:.0} updates a second found nothing to evict (-ENOMEM)"
        ));
    }
    evidence.add(if has_own_lists(window.change.map) {
        "BPF_F_NO_COMMON_LRU is set"
    } else {
        "BPF_F_NO_COMMON_LRU is not set: all CPUs share one list"
    });
    evidence
}

fn has_own_lists(map: &MapStats) -> bool {
    map.flags & NO_COMMON_LRU != 0
}

/// Both sides of the trade-off: with lists of their own CPUs leave each other alone, and each has only its
/// share of the elements.
pub(super) fn advice(map: &MapStats) -> Advice {
    if has_own_lists(map) {
        Advice::new(
            "raise max_entries, or spread the keys over more CPUs",
            "each CPU has a list of its own with its share of the elements, and evicts live ones when that is used up, however empty the others' are",
        )
    } else {
        Advice::new(
            "raise max_entries, or create the map with BPF_F_NO_COMMON_LRU and max_entries for each CPU's share",
            "all CPUs share one list under one lock; with lists of their own they would not meet, but each evicts live elements when its own share is used up",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{identity::MapType, storm::change::tests::map};

    #[test]
    fn o22_both_sides_of_the_trade_off_are_told_whichever_flag_is_set() {
        let mut map = map(&[], None);
        map.kind = MapType::LRU_HASH;
        let shared = advice(&map);
        assert!(shared.action.contains("BPF_F_NO_COMMON_LRU"), "{shared:?}");
        assert!(shared.reason.contains("evicts live elements"), "{shared:?}");
        map.flags = NO_COMMON_LRU;
        let own = advice(&map);
        assert!(!own.action.contains("BPF_F_NO_COMMON_LRU"), "{own:?}");
        assert!(own.reason.contains("evicts live ones"), "{own:?}");
    }
}
