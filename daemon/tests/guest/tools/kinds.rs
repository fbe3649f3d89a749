//! Every kind of hash that the matrix of exactness has a row for.

use std::io;

use super::bpf::map::{NO_PREALLOC, RawMap, Shape};

/// A kind of hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// The word for it in the table of limits, and the name of the maps.
    pub(crate) word: &'static str,
    /// `enum bpf_map_type`.
    pub(crate) number: u32,
    flags: u32,
    /// Has a value one word for each possible CPU?
    per_cpu: bool,
    /// Do its elements lie on a freelist while they are not in use?
    pub(crate) has_freelist: bool,
    /// Does it make room for a new element by throwing out an old one?
    pub(crate) evicts: bool,
    /// Keys that each CPU works on, and how often it goes through them.
    pub(crate) keys: u32,
    pub(crate) rounds: u32,
}

const HASH: Kind = Kind {
    word: "hash",
    number: 1,
    flags: 0,
    per_cpu: false,
    has_freelist: true,
    evicts: false,
    keys: 32,
    rounds: 4,
};
pub(crate) const PERCPU_HASH: Kind = Kind {
    word: "percpu_hash",
    number: 5,
    per_cpu: true,
    ..HASH
};
const LRU_HASH: Kind = Kind {
    word: "lru_hash",
    number: 9,
    has_freelist: false,
    evicts: true,
    ..HASH
};
/// `BPF_MAP_TYPE_HASH_OF_MAPS`.
const HASH_OF_MAPS: u32 = 13;

/// All kinds, in the order of the table's rows.
pub(crate) const KINDS: [Kind; 8] = [
    HASH,
    Kind {
        word: "hash/no_prealloc",
        flags: NO_PREALLOC,
        has_freelist: false,
        ..HASH
    },
    PERCPU_HASH,
    Kind {
        word: "percpu_hash/no_prealloc",
        flags: NO_PREALLOC,
        has_freelist: false,
        ..PERCPU_HASH
    },
    LRU_HASH,
    Kind {
        word: "lru_percpu_hash",
        number: 10,
        per_cpu: true,
        ..LRU_HASH
    },
    // Each change by system call waits until no program can use what was there.
    Kind {
        word: "hash_of_maps",
        number: HASH_OF_MAPS,
        keys: 4,
        rounds: 1,
        ..HASH
    },
    // Allocates as it goes, and is made only with the flag that says so.
    Kind {
        word: "rhash",
        number: 35,
        flags: NO_PREALLOC,
        has_freelist: false,
        ..HASH
    },
];

impl Kind {
    /// Creates a map of this kind, on a machine with so many possible CPUs.
    pub(crate) fn create(&self, max_entries: u32, possible_cpus: usize) -> io::Result<RawMap> {
        let shape = Shape {
            name: self.name(),
            kind: self.number,
            flags: self.flags,
            max_entries,
            words: if self.per_cpu { possible_cpus } else { 1 },
            inner: None,
            types: None,
        };
        if self.number != HASH_OF_MAPS {
            return RawMap::create(&shape);
        }
        let inner = RawMap::create(&Shape {
            name: "inner",
            kind: HASH.number,
            max_entries: 1,
            ..shape
        })?;
        RawMap::create(&Shape {
            inner: Some(&inner),
            ..shape
        })
    }

    /// What its maps are called: the word, as far as the kernel takes it.
    pub(crate) fn name(&self) -> &'static str {
        let word = self.word.split('/').next().unwrap_or(self.word);
        &word[..word.len().min(15)]
    }
}
