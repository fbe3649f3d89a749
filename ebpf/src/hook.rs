//! The kernel functions that map operations run through, and the operations they stand for.

/// What is done to a map; half of a slot's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Op {
    /// `bpf_map_update_elem`, from a program or by system call.
    Update = 1,
}

impl Op {
    /// All operations.
    pub const ALL: [Self; 1] = [Self::Update];

    /// The operation of a key's byte, `None` for a byte no probe writes.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Update),
            _ => None,
        }
    }

    /// Value of the label `op`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Update => "update",
        }
    }
}

/// A kernel function with an entry and an exit program of its own.
///
/// Each has frames of its own on every CPU: since 5.12 a program never runs inside itself on one
/// CPU, so only one program ever claims a hook's frames and no atomic is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Hook {
    /// `htab_map_update_elem`: HASH and HASH_OF_MAPS, both sources.
    HtabUpdate,
    /// `htab_lru_map_update_elem`: LRU_HASH, both sources.
    LruUpdate,
    /// `__htab_percpu_map_update_elem`: PERCPU_HASH up to 6.15, both sources.
    PercpuUpdate,
    /// `htab_map_update_elem_in_place`: PERCPU_HASH since 6.16, both sources.
    InPlaceUpdate,
    /// `__htab_lru_percpu_map_update_elem`: LRU_PERCPU_HASH, both sources.
    LruPercpuUpdate,
}

impl Hook {
    /// How many hooks there are.
    pub const COUNT: usize = 5;

    /// All hooks, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::HtabUpdate,
        Self::LruUpdate,
        Self::PercpuUpdate,
        Self::InPlaceUpdate,
        Self::LruPercpuUpdate,
    ];
}
