//! Kind `full`: updates refused because the map is exhausted, on every kernel.

use mapstorm_abi::Outcome;

use super::{Advice, Change, Evidence, FreelistUse, FullThresholds, Level, Reading, Window};

/// Evidence: enough refusals by exhaustion, and a fill that agrees where it is known. On 6.15 and
/// newer a freelist lock that could not be taken comes back as -E2BIG too; only the fill tells the
/// two apart.
pub(super) fn read(thresholds: &FullThresholds, change: &Change<'_>) -> Reading {
    let rejects = change.updates(Outcome::E2big);
    let rejects_per_second = change.per_second(rejects);
    let fill = change.map.fill();
    let busy = |threshold: f64| rejects > 0 && rejects_per_second >= threshold;
    let full = |threshold: f64| fill.is_none_or(|fill| fill >= threshold);
    let level = if busy(thresholds.rejects_per_second) && full(thresholds.fill_ratio) {
        Level::Storm
    } else if busy(thresholds.rejects_per_second / 2.0) && full(thresholds.fill_ratio / 2.0) {
        Level::Between
    } else {
        Level::Calm
    };
    Reading::of_refusals(change, level, rejects, change.exhausted_cpus())
}

pub(super) fn evidence(window: &Window<'_>, reading: &Reading) -> Evidence {
    let why = match window.freelist {
        FreelistUse::EveryListLocked => "the map is full, and each locks every CPU's free list",
        FreelistUse::EveryListScanned => "the map is full, and each looks at every CPU's free list",
        FreelistUse::NoFreelist | FreelistUse::Unknown => "the map is full",
    };
    let mut evidence = Evidence::of_refusals(reading.cpus, reading.rejects_per_second, why);
    match window.change.map.fill() {
        Some(fill) => evidence.add(&format!("fill {fill:.3}")),
        None => evidence.add("fill unknown"),
    }
    evidence.with_latency(window.contention.latency.clone())
}

/// One line of advice, by what the refusals do to the free lists.
pub(super) fn advice(freelist: FreelistUse) -> Advice {
    match freelist {
        FreelistUse::EveryListLocked => Advice::new(
            "raise max_entries or delete stale entries, and move to Linux 6.0 or newer",
            "each refused update locks every CPU's free list in turn and its data is lost",
        ),
        FreelistUse::EveryListScanned => Advice::new(
            "raise max_entries, delete stale entries, or use an LRU map",
            "each refused update scans every CPU's free list under the bucket lock and its data is lost",
        ),
        FreelistUse::NoFreelist => Advice::new(
            "raise max_entries or delete stale entries",
            "each refused update loses its data",
        ),
        FreelistUse::Unknown => Advice::new(
            "raise max_entries, delete stale entries, or use an LRU map",
            "each refused update loses its data, and before Linux 6.0 locks every CPU's free list",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::change::tests::map;
    use super::*;

    fn level(rejects: u64, entries: Option<u64>) -> Level {
        let map = map(&[rejects], entries);
        let change = Change::new(1, None, &map, Duration::from_secs(1)).unwrap();
        read(&FullThresholds::default(), &change).level
    }

    #[test]
    fn the_rate_alone_decides_where_the_fill_is_unknown() {
        assert_eq!(level(0, None), Level::Calm);
        assert_eq!(level(499, None), Level::Calm);
        assert_eq!(level(500, None), Level::Between);
        assert_eq!(level(999, None), Level::Between);
        assert_eq!(level(1000, None), Level::Storm);
    }

    #[test]
    fn a_known_fill_must_agree() {
        assert_eq!(level(5000, Some(900)), Level::Storm);
        assert_eq!(level(5000, Some(899)), Level::Between);
        assert_eq!(level(5000, Some(449)), Level::Calm);
        assert_eq!(level(0, Some(1000)), Level::Calm);
    }

    #[test]
    fn o35_a_map_that_refuses_below_its_limit_is_full_all_the_same() {
        assert_eq!(level(5000, Some(970)), Level::Storm);
    }

    #[test]
    fn no_threshold_opens_a_storm_without_a_refusal() {
        let map = map(&[], Some(1000));
        let change = Change::new(1, None, &map, Duration::from_secs(1)).unwrap();
        let thresholds = FullThresholds {
            rejects_per_second: 0.0,
            fill_ratio: 0.0,
        };
        assert_eq!(read(&thresholds, &change).level, Level::Calm);
    }
}
