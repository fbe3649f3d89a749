//! How full maps are and what memory they take: what the inventory says of each map, put beside
//! what was counted on it.

use std::sync::Arc;

use mapstorm_abi::Outcome;

use crate::{
    kernel::MapIdentity,
    memory::Memory,
    snapshot::{Listed, MapStats},
};

/// Writes into a map what a new listing says of it: `found`, if it is there; where the kernel does
/// not count its elements, those that were `kept` in the books count. A map that is gone
/// keeps its sizes and has no elements any more. What has not changed is not copied.
pub(crate) fn tell(
    map: &mut Arc<MapStats>,
    found: Option<&MapIdentity>,
    memory: Option<&Memory>,
    kept: Option<u64>,
) {
    // An id is given again only after all others: then it is another map, whose counters are still
    // those of the old one.
    let found = found.filter(|found| is_of(found, map));
    let entries = found.and_then(|found| found.entries.or(kept));
    let listed = match found {
        Some(found) => Some(Listed {
            key_size: found.key_size,
            value_size: found.value_size,
            memory: memory.and_then(|memory| memory.bytes(found)),
        }),
        None => map.listed.map(|listed| Listed {
            memory: None,
            ..listed
        }),
    };
    if (map.entries, map.listed) != (entries, listed) {
        let map = Arc::make_mut(map);
        (map.entries, map.listed) = (entries, listed);
    }
}

/// Has the map refused updates since it was `listed` with room for more?
pub(crate) fn is_outrun(listed: &MapStats, counted: &MapStats) -> bool {
    let room = listed
        .entries
        .is_some_and(|entries| entries < u64::from(listed.max_entries));
    room && counted.updates(Outcome::E2big) > listed.updates(Outcome::E2big)
}

/// Is this the map?
fn is_of(listed: &MapIdentity, map: &MapStats) -> bool {
    (listed.map_type, listed.max_entries, listed.flags) == (map.kind.0, map.max_entries, map.flags)
}

#[cfg(test)]
mod tests {
    use mapstorm_abi::Op;

    use super::*;
    use crate::{identity::MapType, snapshot::OpStats};

    fn found(entries: Option<u64>) -> MapIdentity {
        MapIdentity {
            map_type: 1,
            max_entries: 10,
            key_size: 4,
            value_size: 8,
            entries,
            ..MapIdentity::default()
        }
    }

    fn map(max_entries: u32, refused: u64, entries: Option<u64>) -> MapStats {
        let mut update = OpStats::default();
        update.outcomes[Outcome::E2big as usize] = refused;
        MapStats {
            name: "flows".to_owned(),
            kind: MapType::HASH,
            max_entries,
            flags: 0,
            entries,
            listed: None,
            ops: [(Op::Update, update)].into(),
            pops: None,
            locks: Default::default(),
        }
    }

    #[test]
    fn a_map_that_is_gone_keeps_its_sizes_and_has_no_elements() {
        let mut map = Arc::new(map(10, 0, None));
        tell(&mut map, Some(&found(Some(3))), None, None);
        assert_eq!(map.entries, Some(3));
        let same = Arc::clone(&map);
        tell(&mut map, Some(&found(Some(3))), None, None);
        assert!(Arc::ptr_eq(&same, &map), "nothing was new");
        tell(&mut map, None, None, Some(1));
        assert_eq!(map.entries, None);
        assert_eq!(map.listed.unwrap().value_size, 8);
    }

    #[test]
    fn another_map_of_the_same_id_is_not_described_by_its_listing() {
        let mut other = Arc::new(map(11, 0, None));
        tell(&mut other, Some(&found(Some(3))), None, None);
        assert!(other.entries.is_none() && other.listed.is_none());
    }

    #[test]
    fn refusals_outrun_a_listing_that_tells_of_room() {
        let refused =
            |before, entries, now| is_outrun(&map(10, before, entries), &map(10, now, None));
        assert!(refused(0, Some(9), 1));
        assert!(!refused(0, Some(10), 1));
        assert!(!refused(0, None, 1));
        assert!(!refused(1, Some(9), 1));
    }
}
