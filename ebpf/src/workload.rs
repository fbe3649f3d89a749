//! What the drill, the benches and the guest tests share with their programs.

use crate::outcome::Outcome;

/// Operations one run of a program does at most; the verifier walks every turn of the loop.
pub const MAX_LOOPS: u64 = 128;
/// Bytes of a value of the map that holds its buckets' locks for long.
pub const HOT_VALUE: usize = 16 << 10;
/// Errnos that a tally tells apart: those below this, a power of two.
pub const ERRNOS: usize = 128;

/// A map of the workload with programs of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Target {
    /// A preallocated hash that the drill fills.
    Full,
    /// A preallocated hash that is kept below full.
    Churn,
    /// A preallocated hash that nobody touches.
    Idle,
    /// A hash that allocates its elements as they come.
    NoPrealloc,
    /// A preallocated per-CPU hash.
    Percpu,
    /// An LRU hash.
    Lru,
    /// An LRU per-CPU hash.
    LruPercpu,
    /// A preallocated hash updated from inside interrupts.
    Nested,
    /// A preallocated hash of large values: each update holds its bucket's lock for as long as it
    /// takes to copy one.
    Hot,
    /// A preallocated hash whose elements are taken on some CPUs and given back on others.
    Freelist,
}

impl Target {
    /// How many targets there are.
    pub const COUNT: usize = 10;

    /// All targets, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Full,
        Self::Churn,
        Self::Idle,
        Self::NoPrealloc,
        Self::Percpu,
        Self::Lru,
        Self::LruPercpu,
        Self::Nested,
        Self::Hot,
        Self::Freelist,
    ];

    /// The map's name, in the object and in the kernel.
    pub const fn map(self) -> &'static str {
        match self {
            Self::Full => "drill_full",
            Self::Churn => "drill_churn",
            Self::Idle => "drill_idle",
            Self::NoPrealloc => "drill_nopreall",
            Self::Percpu => "drill_percpu",
            Self::Lru => "drill_lru",
            Self::LruPercpu => "drill_lrupercpu",
            Self::Nested => "drill_nested",
            Self::Hot => "drill_hot",
            Self::Freelist => "drill_freelist",
        }
    }

    /// The program that updates it, run by `bpf_prog_test_run` with [`Run`] as its arguments.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Full => "update_full",
            Self::Churn => "update_churn",
            Self::Idle => "update_idle",
            Self::NoPrealloc => "update_noprealloc",
            Self::Percpu => "update_percpu",
            Self::Lru => "update_lru",
            Self::LruPercpu => "update_lrupercpu",
            Self::Nested => "update_nested",
            Self::Hot => "update_hot",
            Self::Freelist => "update_freelist",
        }
    }
}

/// Arguments of an update program; a raw tracepoint's arguments, so all are words.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Run {
    /// Updates to do, up to [`MAX_LOOPS`].
    pub loops: u64,
    /// First key.
    pub first_key: u64,
    /// Update number n of a run takes the key `first_key + (n & key_mask)`: a mask and not a
    /// remainder, because the verifier would follow every turn of a compared counter.
    pub key_mask: u64,
    /// `BPF_ANY`, `BPF_NOEXIST` or `BPF_EXIST`.
    pub flags: u64,
    /// 1 to delete each key after its update, so that the map stays as full as it was;
    /// [`DELETE_ONLY`] to delete it and not to update it.
    pub delete: u64,
}

/// [`Run::delete`] of a run that updates nothing.
pub const DELETE_ONLY: u64 = 2;

/// Lookups one run of a program does at most; the verifier walks every turn of the loop.
pub const MAX_GETS: u64 = 1000;
/// Maps of local storage that lookups can go round in.
pub const MAX_STORAGES: usize = 1000;
/// In an interleaved round every so many lookups one of the first map comes between.
pub const INTERLEAVED: u64 = 3;
/// Multiplier and increment of the keys that lookups in a hash take, each from the one before (Numerical Recipes): no two
/// in a row are near each other, and all come by.
pub const KEY_STEP: [u64; 2] = [1_664_525, 1_013_904_223];

/// Arguments of a lookup program.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Gets {
    /// Lookups to do, up to [`MAX_GETS`], those between not counted.
    pub gets: u64,
    /// Hash: the number that the first key comes from. Local storage: the first map.
    pub first: u64,
    /// Hash: keys there are. Local storage: maps to go round in.
    pub of: u64,
    /// 1 for an interleaved round, else 0; of local storage only.
    pub interleaved: u64,
}

/// What lookups came to on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Got {
    /// Lookups.
    pub gets: u64,
    /// Those of the first map.
    pub important: u64,
    /// Those that found nothing.
    pub missed: u64,
    /// Time spent in the loops, nanoseconds.
    pub ns: u64,
}

impl Got {
    /// What was done since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            gets: self.gets - before.gets,
            important: self.important - before.important,
            missed: self.missed - before.missed,
            ns: self.ns - before.ns,
        }
    }
}

/// What the programs of one target did on one CPU: the truth that probes are measured against.
/// Indexed `cpu × Target::COUNT + target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Tally {
    /// Updates by errno, 0 for success: an index needs no branch, which keeps the loop cheap to
    /// verify.
    pub updates: [u64; ERRNOS],
    /// Deletes by errno, 0 for success.
    pub deletes: [u64; ERRNOS],
    /// Time spent in the loops, nanoseconds.
    pub ns: u64,
    /// Fewest nanoseconds per 1,000 updates that a run of at least 100 took, 0 for none: the cost
    /// of an update when nothing interrupted the run.
    pub best_ns_per_1000: u64,
}

/// What a witness saw on one CPU while that was inside of the work; by CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Fight {
    /// Not 0 while the CPU is inside of the work.
    pub inside: u64,
    /// Waits for spinlocks that began.
    pub waits: u64,
    /// Waits for any lock that ended without it.
    pub failures: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            updates: [0; ERRNOS],
            deletes: [0; ERRNOS],
            ns: 0,
            best_ns_per_1000: 0,
        }
    }
}

impl Tally {
    /// Updates that were tried.
    pub fn total(&self) -> u64 {
        self.updates.iter().sum()
    }

    /// Updates that ended this way.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes()[outcome as usize]
    }

    /// Updates by [`Outcome`], as the probes count them.
    pub fn outcomes(&self) -> [u64; Outcome::COUNT] {
        by_outcome(&self.updates)
    }

    /// Deletes that removed an element.
    pub fn removed(&self) -> u64 {
        self.deletes[0]
    }

    /// Deletes by [`Outcome`], as the probes count them.
    pub fn delete_outcomes(&self) -> [u64; Outcome::COUNT] {
        by_outcome(&self.deletes)
    }

    /// Counts one update that ended with this errno, 0 for success.
    pub fn add(&mut self, errno: i32) {
        self.updates[errno as usize & (ERRNOS - 1)] += 1;
    }

    /// Counts one delete that ended with this errno, 0 for success.
    pub fn add_delete(&mut self, errno: i32) {
        self.deletes[errno as usize & (ERRNOS - 1)] += 1;
    }

    /// What was done since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let mut since = *self;
        for (n, was) in since.updates.iter_mut().zip(before.updates) {
            *n -= was;
        }
        for (n, was) in since.deletes.iter_mut().zip(before.deletes) {
            *n -= was;
        }
        since.ns -= before.ns;
        since
    }

    /// Adds what was done elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (sum, n) in self.updates.iter_mut().zip(other.updates) {
            *sum += n;
        }
        for (sum, n) in self.deletes.iter_mut().zip(other.deletes) {
            *sum += n;
        }
        self.ns += other.ns;
        self.best_ns_per_1000 = match (self.best_ns_per_1000, other.best_ns_per_1000) {
            (0, best) | (best, 0) => best,
            (a, b) => a.min(b),
        };
    }
}

/// Counts by errno as counts by [`Outcome`].
fn by_outcome(errnos: &[u64; ERRNOS]) -> [u64; Outcome::COUNT] {
    let mut outcomes = [0; Outcome::COUNT];
    for (errno, count) in errnos.iter().enumerate() {
        outcomes[Outcome::of(-(errno as i32)) as usize] += count;
    }
    outcomes
}
