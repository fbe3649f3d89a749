//! How the running kernel treats the free lists of a full map: part of a storm's evidence.

use serde::{Deserialize, Serialize};

use crate::{facts::FreelistGeneration, snapshot::MapStats};

/// What refused updates of one map do to the free lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FreelistUse {
    /// Each locks every CPU's list.
    EveryListLocked,
    /// Each looks at every CPU's list, and locks none that is empty.
    EveryListScanned,
    /// The map has none: it allocates elements as they come, or is no hash.
    NoFreelist,
    /// It has one; what the kernel does with it is not known.
    Unknown,
}

impl FreelistUse {
    /// What refused updates of `map` do on a kernel of this generation.
    pub fn of(map: &MapStats, generation: FreelistGeneration) -> Self {
        match generation {
            _ if !map.kind.pops_freelist(map.flags) => Self::NoFreelist,
            FreelistGeneration::LocksEveryList => Self::EveryListLocked,
            FreelistGeneration::LooksFirst => Self::EveryListScanned,
            FreelistGeneration::Unknown => Self::Unknown,
        }
    }

    /// The word for it in logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::EveryListLocked => "every_list_locked",
            Self::EveryListScanned => "every_list_scanned",
            Self::NoFreelist => "no_freelist",
            Self::Unknown => "unknown",
        }
    }
}
