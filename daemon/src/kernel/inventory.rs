//! Every map on the host, read through the kernel's iterator: works without the right to enumerate
//! ids, and after our capabilities are gone.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    mem::{offset_of, size_of},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use mapstorm_abi::{inventory::MapRecord, slot::NAME_LEN};

use super::sys;
use crate::identity::MapId;

/// What a map is, by the kernel's own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapIdentity {
    /// Type, by number.
    pub map_type: u32,
    /// `max_entries`.
    pub max_entries: u32,
    /// Flags.
    pub flags: u32,
    /// Name, zero-padded.
    pub name: [u8; NAME_LEN],
}

/// The linked iterator.
pub struct Inventory {
    link: OwnedFd,
}

impl Inventory {
    /// Links the loaded iterator program.
    pub(super) fn link(program: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self {
            link: sys::link_iterator(program)?,
        })
    }

    /// One pass over all maps. A map that comes or goes during the pass may be in it or not.
    pub fn read(&self) -> io::Result<BTreeMap<MapId, MapIdentity>> {
        let mut bytes = Vec::with_capacity(64 * size_of::<MapRecord>());
        sys::start_iterator(self.link.as_fd())?.read_to_end(&mut bytes)?;
        Ok(parse(&bytes))
    }
}

/// Records follow each other without gaps; a last partial one is left out.
fn parse(bytes: &[u8]) -> BTreeMap<MapId, MapIdentity> {
    let mut maps = BTreeMap::new();
    for record in bytes.chunks_exact(size_of::<MapRecord>()) {
        let number = |offset: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&record[offset..offset + 4]);
            u32::from_ne_bytes(word)
        };
        let mut name = [0; NAME_LEN];
        let at = offset_of!(MapRecord, name);
        name.copy_from_slice(&record[at..at + NAME_LEN]);
        maps.insert(
            number(offset_of!(MapRecord, id)),
            MapIdentity {
                map_type: number(offset_of!(MapRecord, map_type)),
                max_entries: number(offset_of!(MapRecord, max_entries)),
                flags: number(offset_of!(MapRecord, flags)),
                name,
            },
        );
    }
    maps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_whole_and_a_torn_one_is_left_out() {
        let mut bytes = Vec::new();
        for word in [7u32, 1, 1000, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(*b"flows\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend([9, 0, 0, 0, 5]);
        let maps = parse(&bytes);
        assert_eq!(maps.len(), 1);
        let map = maps[&7];
        assert_eq!((map.map_type, map.max_entries, map.flags), (1, 1000, 0));
        assert_eq!(&map.name[..6], b"flows\0");
    }
}
