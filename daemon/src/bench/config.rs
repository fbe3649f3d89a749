//! What a bench is asked to do.

use std::{path::PathBuf, time::Duration};

use crate::facts::CpuList;

/// Settings of a bench.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchConfig {
    /// What to measure.
    pub kind: BenchKind,
    /// When, and for how long.
    pub pace: Pace,
    /// CPUs to work from; `None` for all that are online.
    pub cpus: Option<CpuList>,
    /// How many of these work; `None` for as many as the bench usually takes.
    pub producers: Option<usize>,
    /// Attach mapstorm's own probes meanwhile.
    pub watch: bool,
    /// Print JSON instead of a table.
    pub json: bool,
}

/// When a case is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Work before anything is measured.
    pub warm_up: Duration,
    /// Time that is measured, whole intervals.
    pub duration: Duration,
    /// Each gives one sample.
    pub interval: Duration,
}

impl Pace {
    /// As many samples as the duration gives; at least one.
    pub fn intervals(&self) -> u32 {
        let intervals = self.duration.as_nanos() / self.interval.as_nanos().max(1);
        u32::try_from(intervals).unwrap_or(u32::MAX).max(1)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            warm_up: Duration::from_secs(1),
            duration: Duration::from_secs(5),
            interval: Duration::from_secs(1),
        }
    }
}

/// What a bench measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BenchKind {
    /// Updates of a full preallocated hash from every CPU, and the same on a half-full one.
    FullUpdate {
        /// Size of both maps, entries; at least 2.
        max_entries: u32,
        /// Updates between two looks at the clock.
        loops: u64,
    },
    /// Operations per second and memory of a hash.
    HtabMem {
        /// What the CPUs do.
        use_cases: Vec<UseCase>,
        /// Whether the map allocates its elements before; each is a case.
        preallocated: Vec<bool>,
        /// Size of the map, entries.
        max_entries: u32,
    },
    /// Lookups in task local storage, and in a hash for comparison.
    LocalStorage {
        /// Keys in the hash; each number is a case.
        keys: Vec<u32>,
        /// Maps of local storage; each number is two cases.
        maps: Vec<u32>,
    },
    /// Time to read a whole hash.
    Dump {
        /// Size of the map, entries.
        max_entries: u32,
        /// Elements in it; each number is a case.
        entries: Vec<u32>,
        /// Elements read by one call; 0 for as many as the map has entries.
        batch: u32,
    },
}

impl BenchKind {
    /// The command's word for it.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::FullUpdate { .. } => "full-update",
            Self::HtabMem { .. } => "htab-mem",
            Self::LocalStorage { .. } => "local-storage",
            Self::Dump { .. } => "dump",
        }
    }

    /// Does one CPU work unless more are asked for?
    pub const fn is_of_one(&self) -> bool {
        matches!(self, Self::LocalStorage { .. } | Self::Dump { .. })
    }
}

/// What CPUs do to a hash; those of the kernel's own benchmark `htab-mem`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseCase {
    /// Each CPU overwrites elements of its own.
    Overwrite,
    /// Each CPU inserts elements of its own and deletes them again, 64 at a time.
    BatchAddBatchDel,
    /// Of two CPUs one inserts what the other deletes.
    AddDelOnDiffCpu,
}

impl UseCase {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::Overwrite,
        Self::BatchAddBatchDel,
        Self::AddDelOnDiffCpu,
    ];

    /// The word for it on the command line.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::BatchAddBatchDel => "batch-add-batch-del",
            Self::AddDelOnDiffCpu => "add-del-on-diff-cpu",
        }
    }
}

/// Two reports to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareConfig {
    /// The earlier, by its file.
    pub before: PathBuf,
    /// The later.
    pub after: PathBuf,
    /// Fail when a measure is worse by more than this factor, for certain; above 1.
    pub fail_above: Option<f64>,
    /// Print JSON instead of a table.
    pub json: bool,
}
