//! Kind `alloc`: updates refused because there was no memory for an element. An LRU map says the same
//! when it finds nothing to evict: that is kind `lru`.

use mapstorm_abi::Outcome;

use super::{Advice, Change, Evidence, Level, Reading, Window};

/// Evidence: enough refusals for want of memory.
pub(super) fn read(threshold: f64, change: &Change<'_>) -> Reading {
    if change.map.kind.is_lru() {
        return Reading::CALM;
    }
    let rejects = change.updates(Outcome::Enomem);
    let level = Level::of_refusals(change, rejects, threshold);
    Reading::of_refusals(change, level, rejects, change.starved_cpus())
}

pub(super) fn evidence(window: &Window<'_>, reading: &Reading) -> Evidence {
    let why = "no memory for an element (-ENOMEM)";
    let evidence = Evidence::of_refusals(reading.cpus, reading.rejects_per_second, why);
    evidence.with_latency(window.contention.latency.clone())
}

pub(super) fn advice() -> Advice {
    Advice::new(
        "create the map without BPF_F_NO_PREALLOC, or raise the memory limit of the cgroup that it is charged to",
        "its elements are allocated as they come, where nobody can wait for memory, and each refused update loses its data",
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mapstorm_abi::Op;

    use super::super::super::change::tests::map;
    use super::*;
    use crate::identity::MapType;

    fn level(kind: MapType, starved: u64) -> Level {
        let mut map = map(&[], None);
        map.kind = kind;
        let update = map.ops.get_mut(&Op::Update).unwrap();
        update.outcomes[Outcome::Enomem as usize] = starved;
        update.starved_by_cpu = vec![starved];
        let change = Change::new(1, None, &map, Duration::from_secs(1)).unwrap();
        let reading = read(1000.0, &change);
        assert_eq!(reading.cpus, u32::from(reading.rejects > 0));
        reading.level
    }

    #[test]
    fn refusals_for_want_of_memory_weigh_by_their_rate() {
        for (starved, is) in [
            (0, Level::Calm),
            (499, Level::Calm),
            (500, Level::Between),
            (1000, Level::Storm),
        ] {
            assert_eq!(level(MapType::HASH, starved), is, "{starved}");
        }
    }

    #[test]
    fn an_lru_map_is_never_one() {
        assert_eq!(level(MapType::LRU_HASH, 5000), Level::Calm);
    }
}
