//! What each drill does: on which map, how large, with which keys from which CPU.

use std::sync::Arc;

use mapstorm_abi::workload::{MAX_LOOPS, Target};

use crate::{
    config::DrillKind,
    work::{Ring, Work},
};

/// Keys that each CPU of an LRU drill goes round in; a power of two.
const LRU_KEYS: u64 = 64;
/// Of so many CPUs one gives elements back, and the others take them.
const GIVES_BACK: usize = 4;
/// Keys of a CPU of a drill that needs ever new ones.
const NEW_KEYS: u64 = 1 << 24;

impl DrillKind {
    /// The map it works on.
    pub(super) const fn target(self) -> Target {
        match self {
            Self::Full => Target::Full,
            Self::Alloc => Target::NoPrealloc,
            Self::Lru => Target::Lru,
            Self::HotBucket => Target::Hot,
            Self::Freelist => Target::Freelist,
        }
    }

    /// How many CPUs it takes at least.
    pub(super) const fn least_cpus(self) -> usize {
        if self.is_fight() { 2 } else { 1 }
    }

    /// How many entries its map must have at least, with so many CPUs at work.
    pub(super) fn least_entries(self, cpus: usize) -> u64 {
        match self {
            Self::Freelist => 2 * MAX_LOOPS * takers(cpus) as u64,
            _ => 1,
        }
    }

    /// What one CPU does while it is alone.
    pub(super) fn alone(self, max_entries: u32) -> Work {
        let delete = u64::from(self == Self::Freelist);
        Work::Keys {
            first: match self {
                Self::HotBucket => 0,
                _ => max_entries.into(),
            },
            mask: if self == Self::Lru { LRU_KEYS - 1 } else { 0 },
            delete,
        }
    }

    /// What each of `cpus` does, all at once.
    pub(super) fn together(self, cpus: &[u32], max_entries: u32) -> Vec<Work> {
        let max = u64::from(max_entries);
        if self == Self::Freelist {
            return givers_and_takers(cpus.len(), max_entries);
        }
        let work = |&cpu: &u32| match self {
            Self::Full => Work::Keys {
                first: max + u64::from(cpu),
                mask: 0,
                delete: 0,
            },
            Self::Lru => Work::Keys {
                first: max + LRU_KEYS * (u64::from(cpu) + 1),
                mask: LRU_KEYS - 1,
                delete: 0,
            },
            Self::Alloc => Work::NewKeys {
                first: NEW_KEYS * u64::from(cpu % 256),
                keys: NEW_KEYS,
                next: 0,
            },
            Self::HotBucket | Self::Freelist => Work::Keys {
                first: 0,
                mask: 0,
                delete: 0,
            },
        };
        cpus.iter().map(work).collect()
    }
}

/// Every fourth CPU, or the last of fewer, deletes what the ones before it insert: its own free list has
/// all free elements soon, and theirs have none. Half of the map is never used, so nobody is refused.
fn givers_and_takers(cpus: usize, max_entries: u32) -> Vec<Work> {
    let share = u64::from(max_entries) / 2 / takers(cpus) as u64;
    let keys = (share / MAX_LOOPS).max(1) * MAX_LOOPS;
    let (mut works, mut rings) = (Vec::with_capacity(cpus), Vec::new());
    for place in 0..cpus {
        let gives_back = place % GIVES_BACK == GIVES_BACK - 1 || place == cpus - 1;
        if gives_back && !rings.is_empty() {
            works.push(Work::Delete(std::mem::take(&mut rings)));
        } else {
            let ring = Arc::new(Ring::new(keys * place as u64, keys));
            rings.push(Arc::clone(&ring));
            works.push(Work::Insert(ring));
        }
    }
    works
}

/// CPUs that insert, of so many.
fn takers(cpus: usize) -> usize {
    (cpus - cpus.div_ceil(GIVES_BACK)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(cpus: usize) -> String {
        let role = |work: &Work| match work {
            Work::Insert(_) => 'i',
            Work::Delete(rings) => char::from_digit(rings.len() as u32, 10).unwrap(),
            _ => '?',
        };
        givers_and_takers(cpus, 65_536).iter().map(role).collect()
    }

    #[test]
    fn whatever_is_inserted_is_deleted_by_one_other_cpu() {
        assert_eq!(roles(2), "i1");
        assert_eq!(roles(3), "ii2");
        assert_eq!(roles(4), "iii3");
        assert_eq!(roles(6), "iii3i1");
        assert_eq!(roles(8), "iii3iii3");
    }

    #[test]
    fn keys_of_all_inserters_together_leave_room() {
        for (cpus, max_entries) in [(2, 65_536), (4, 65_536), (64, 65_536), (300, 1_000_000)] {
            let works = givers_and_takers(cpus, max_entries);
            let rings = works.iter().filter_map(|work| match work {
                Work::Insert(ring) => Some(ring.keys),
                _ => None,
            });
            let most: u64 = rings.sum();
            assert!(most <= u64::from(max_entries) / 2, "{cpus}: {most}");
        }
    }

    #[test]
    fn keys_of_different_cpus_are_different_but_for_the_hot_one() {
        let firsts = |kind: DrillKind| -> Vec<u64> {
            let works = kind.together(&[0, 1, 5], 1000);
            let first = |work: &Work| match work {
                Work::Keys { first, .. } | Work::NewKeys { first, .. } => *first,
                _ => panic!("{work:?}"),
            };
            works.iter().map(first).collect()
        };
        assert_eq!(firsts(DrillKind::Full), [1000, 1001, 1005]);
        assert_eq!(firsts(DrillKind::HotBucket), [0, 0, 0]);
        assert_eq!(firsts(DrillKind::Lru), [1064, 1128, 1384]);
        assert_eq!(firsts(DrillKind::Alloc), [0, NEW_KEYS, 5 * NEW_KEYS]);
    }
}
