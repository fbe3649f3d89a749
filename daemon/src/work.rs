//! What one CPU of a drill or a bench does next.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use mapstorm_abi::workload::{DELETE_ONLY, MAX_LOOPS, Run};

/// One CPU's work, batch by batch.
#[derive(Debug)]
pub(crate) enum Work {
    /// The same keys over and over: `first + (n & mask)`, each deleted again where `delete` is 1.
    Keys { first: u64, mask: u64, delete: u64 },
    /// Ever new keys, so many until they begin again.
    NewKeys { first: u64, keys: u64, next: u64 },
    /// Inserts what another CPU deletes.
    Insert(Arc<Ring>),
    /// Deletes what others insert.
    Delete(Vec<Arc<Ring>>),
}

/// Keys that one CPU inserts, in order and round and round, and another deletes behind it.
#[derive(Debug)]
pub(crate) struct Ring {
    first: u64,
    /// A multiple of [`MAX_LOOPS`].
    pub(crate) keys: u64,
    inserted: AtomicU64,
    deleted: AtomicU64,
}

impl Ring {
    pub(crate) fn new(first: u64, keys: u64) -> Self {
        Self {
            first,
            keys,
            inserted: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
        }
    }

    /// The next keys of one of the two, from its own count on.
    fn run(&self, count: &AtomicU64, delete: u64) -> Run {
        Run {
            loops: MAX_LOOPS,
            first_key: self.first + count.load(Ordering::Relaxed) % self.keys,
            key_mask: MAX_LOOPS - 1,
            flags: 0,
            delete,
        }
    }

    fn held(&self) -> u64 {
        let deleted = self.deleted.load(Ordering::Acquire);
        self.inserted.load(Ordering::Acquire) - deleted
    }
}

impl Work {
    /// The next batch, of `most` operations at most; `None` while there is nothing to do.
    pub(crate) fn next(&self, most: u64) -> Option<Run> {
        match self {
            Self::Keys {
                first,
                mask,
                delete,
            } => Some(Run {
                loops: most,
                first_key: *first,
                key_mask: *mask,
                flags: 0,
                delete: *delete,
            }),
            Self::NewKeys { first, keys, next } => Some(Run {
                loops: most,
                first_key: first + next % keys,
                key_mask: MAX_LOOPS - 1,
                ..Run::default()
            }),
            // Rings go by whole batches: their two ends must never be in one.
            Self::Insert(ring) => {
                let has_room = ring.held() + MAX_LOOPS <= ring.keys;
                has_room.then(|| ring.run(&ring.inserted, 0))
            }
            Self::Delete(rings) => {
                let ring = rings.iter().max_by_key(|ring| ring.held())?;
                (ring.held() >= MAX_LOOPS).then(|| ring.run(&ring.deleted, DELETE_ONLY))
            }
        }
    }

    /// Notes that a batch is done.
    pub(crate) fn done(&mut self, run: &Run) {
        match self {
            Self::Keys { .. } => {}
            Self::NewKeys { next, .. } => *next += run.loops,
            Self::Insert(ring) => {
                ring.inserted.fetch_add(run.loops, Ordering::Release);
            }
            Self::Delete(rings) => {
                let is_of = |ring: &&Arc<Ring>| {
                    (ring.first..ring.first + ring.keys).contains(&run.first_key)
                };
                if let Some(ring) = rings.iter().find(is_of) {
                    ring.deleted.fetch_add(run.loops, Ordering::Release);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Does a batch to a map of which only the keys are known.
    fn apply(run: &Run, map: &mut BTreeSet<u64>) {
        for turn in 0..run.loops {
            let key = run.first_key + (turn & run.key_mask);
            if run.delete == DELETE_ONLY {
                assert!(map.remove(&key), "{key} was not there");
            } else {
                assert!(map.insert(key), "{key} was there already");
            }
        }
    }

    proptest! {
        #[test]
        fn every_insert_takes_a_free_element_and_every_delete_gives_one_back(turns in vec(0..3usize, 1..200)) {
            let rings = [0, 1].map(|place| Arc::new(Ring::new(place * 512, 512)));
            let mut works = [
                Work::Insert(Arc::clone(&rings[0])),
                Work::Insert(Arc::clone(&rings[1])),
                Work::Delete(rings.to_vec()),
            ];
            let mut map = BTreeSet::new();
            for turn in turns {
                if let Some(run) = works[turn].next(1) {
                    apply(&run, &mut map);
                    works[turn].done(&run);
                }
                prop_assert!(map.len() <= 1024);
            }
        }
    }

    #[test]
    fn new_keys_go_on_where_they_were_and_begin_again_in_the_end() {
        let mut work = Work::NewKeys {
            first: 1000,
            keys: 256,
            next: 0,
        };
        let mut seen = BTreeSet::new();
        for _ in 0..2 {
            let run = work.next(128).unwrap();
            apply(&run, &mut seen);
            work.done(&run);
        }
        assert_eq!(seen.len(), 256);
        assert_eq!(work.next(128).map(|run| run.first_key), Some(1000));
    }
}
