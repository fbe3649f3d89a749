//! The kernel functions that map operations run through, and the operations they stand for.

/// What is done to a map; half of a slot's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Op {
    /// `bpf_map_update_elem`, from a program or by system call; of local storage, also the creation
    /// of an element by its `…_get` helper.
    Update = 1,
    /// `bpf_map_delete_elem`, from a program or by system call.
    Delete,
    /// `BPF_MAP_LOOKUP_AND_DELETE_ELEM`, by system call only (5.14 and newer).
    LookupAndDelete,
    /// `BPF_MAP_LOOKUP_BATCH`: one call, many elements.
    LookupBatch,
    /// `BPF_MAP_LOOKUP_AND_DELETE_BATCH`: one call, many elements.
    LookupAndDeleteBatch,
    /// A whole lookup in local storage, whether its cache answers or not: up to 6.8 the two cannot
    /// be told apart.
    StorageLookup,
    /// What a lookup in local storage does when its cache did not answer and a list did: it takes
    /// the lock and a place in the cache (6.9 and newer).
    StorageCacheInsert,
}

impl Op {
    /// How many operations there are.
    pub const COUNT: usize = 7;

    /// All operations, in the order of their bytes, which begin at 1.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Update,
        Self::Delete,
        Self::LookupAndDelete,
        Self::LookupBatch,
        Self::LookupAndDeleteBatch,
        Self::StorageLookup,
        Self::StorageCacheInsert,
    ];

    /// The operation of a key's byte, `None` for a byte no probe writes.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        if byte == 0 || byte as usize > Self::COUNT {
            None
        } else {
            Some(Self::ALL[byte as usize - 1])
        }
    }

    /// Value of the label `op`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Delete => "delete",
            Self::LookupAndDelete => "lookup_and_delete",
            Self::LookupBatch => "lookup_batch",
            Self::LookupAndDeleteBatch => "lookup_and_delete_batch",
            Self::StorageLookup => "storage_lookup",
            Self::StorageCacheInsert => "storage_cache_insert",
        }
    }

    /// Does one call handle many elements?
    pub const fn is_batch(self) -> bool {
        matches!(self, Self::LookupBatch | Self::LookupAndDeleteBatch)
    }
}

/// A kernel function with an exit program of its own, and an entry program with frames of its own
/// where calls stay on their CPU.
///
/// Each has frames of its own on every CPU: since 5.12 a program never runs inside itself on one
/// CPU, so only one program ever claims a hook's frames and no atomic is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Hook {
    /// `htab_map_update_elem`: HASH, and HASH_OF_MAPS up to 6.15; both sources.
    HtabUpdate,
    /// `htab_lru_map_update_elem`: LRU_HASH, both sources.
    LruUpdate,
    /// `__htab_percpu_map_update_elem`: PERCPU_HASH up to 6.15, both sources.
    PercpuUpdate,
    /// `htab_map_update_elem_in_place`: PERCPU_HASH and HASH_OF_MAPS since 6.16, both sources.
    InPlaceUpdate,
    /// `__htab_lru_percpu_map_update_elem`: LRU_PERCPU_HASH, both sources.
    LruPercpuUpdate,
    /// `rhtab_map_update_elem`: RHASH, both sources.
    RhashUpdate,
    /// `bpf_local_storage_update`: every kind of local storage, both sources.
    StorageUpdate,
    /// `htab_map_delete_elem`: HASH, PERCPU_HASH and HASH_OF_MAPS, both sources.
    HtabDelete,
    /// `htab_lru_map_delete_elem`: LRU_HASH and LRU_PERCPU_HASH, both sources.
    LruDelete,
    /// `rhtab_map_delete_elem`: RHASH, both sources.
    RhashDelete,
    /// `__htab_map_lookup_and_delete_elem`: every hash but RHASH, by system call.
    HtabLookupAndDelete,
    /// `rhtab_map_lookup_and_delete_elem`: RHASH, by system call.
    RhashLookupAndDelete,
    /// `bpf_local_storage_lookup`, up to 6.8.
    StorageLookup,
    /// `__bpf_local_storage_insert_cache`, 6.9 and newer.
    StorageCacheInsert,
    /// `__htab_map_lookup_and_delete_batch`: no frames, a call may end on another CPU.
    HtabBatch,
    /// `__rhtab_map_lookup_and_delete_batch`, likewise.
    RhashBatch,
}

impl Hook {
    /// How many hooks there are.
    pub const COUNT: usize = 16;
    /// How many of them, the first ones, have frames.
    pub const FRAMED: usize = Self::HtabBatch as usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_in_the_order_of_their_bytes() {
        for (i, op) in Op::ALL.iter().enumerate() {
            assert_eq!(*op as usize, i + 1);
            assert_eq!(Op::from_byte(*op as u8), Some(*op));
        }
        assert_eq!(Op::from_byte(0), None);
        assert_eq!(Op::from_byte(Op::COUNT as u8 + 1), None);
    }

    #[test]
    fn the_last_hook_is_the_last() {
        assert_eq!(Hook::RhashBatch as usize + 1, Hook::COUNT);
    }
}
