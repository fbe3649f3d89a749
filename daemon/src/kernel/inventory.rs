//! Every map on the host, read through the kernel's iterator: works without the right to enumerate
//! ids, after our capabilities are gone, and holds no map.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    mem::{offset_of, size_of},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use mapstorm_abi::{
    inventory::{MapHead, MapRecord},
    slot::NAME_LEN,
};

use super::sys;
use crate::identity::MapId;

/// Bytes of one record.
const RECORD: usize = size_of::<MapRecord>();

/// What a map is, by the kernel's own record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapIdentity {
    /// Type, by number.
    pub map_type: u32,
    /// `max_entries`.
    pub max_entries: u32,
    /// Flags.
    pub flags: u32,
    /// Name, zero-padded.
    pub name: [u8; NAME_LEN],
    /// Size of a key, bytes.
    pub key_size: u32,
    /// Size of a value, bytes.
    pub value_size: u32,
    /// Pages charged for the map; 0 where the kernel keeps no such number (5.11 and newer).
    pub pages: u32,
    /// Elements in the map, where the kernel counts them.
    pub entries: Option<u64>,
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
    ///
    /// # Errors
    /// What the kernel said, and `InvalidData` when its list goes back to an id it has passed: it
    /// would never end.
    pub fn read(&self) -> io::Result<BTreeMap<MapId, MapIdentity>> {
        collect(sys::start_iterator(self.link.as_fd())?)
    }
}

/// Records follow each other without gaps, in any portions, ids rising; a last partial one is left
/// out.
fn collect(mut pass: impl Read) -> io::Result<BTreeMap<MapId, MapIdentity>> {
    let mut maps = BTreeMap::new();
    let mut bytes = [0; 128 * RECORD];
    let (mut filled, mut last) = (0, 0);
    loop {
        match pass.read(&mut bytes[filled..]) {
            Ok(0) => return Ok(maps),
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        let whole = filled - filled % RECORD;
        for record in bytes[..whole].chunks_exact(RECORD) {
            let (id, map) = parse(record);
            if id <= last {
                let text = format!("the kernel lists map {id} after map {last}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            last = id;
            maps.insert(id, map);
        }
        bytes.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

/// One whole record.
fn parse(record: &[u8]) -> (MapId, MapIdentity) {
    let number = |offset: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&record[offset..offset + 4]);
        u32::from_ne_bytes(word)
    };
    let mut name = [0; NAME_LEN];
    let at = offset_of!(MapRecord, head.name);
    name.copy_from_slice(&record[at..at + NAME_LEN]);
    let mut entries = [0; 8];
    let at = offset_of!(MapRecord, entries);
    entries.copy_from_slice(&record[at..at + 8]);
    // Read CPU by CPU while others go on: an element that came on one and went on another can make
    // the sum negative.
    let entries = i64::from_ne_bytes(entries).max(0) as u64;
    let counted = number(offset_of!(MapRecord, counted)) != 0;
    let head = |offset: usize| number(offset_of!(MapRecord, head) + offset);
    let map = MapIdentity {
        map_type: head(offset_of!(MapHead, map_type)),
        max_entries: head(offset_of!(MapHead, max_entries)),
        flags: head(offset_of!(MapHead, flags)),
        name,
        key_size: number(offset_of!(MapRecord, key_size)),
        value_size: number(offset_of!(MapRecord, value_size)),
        pages: number(offset_of!(MapRecord, pages)),
        entries: counted.then_some(entries),
    };
    (head(offset_of!(MapHead, id)), map)
}

#[cfg(test)]
mod tests;
