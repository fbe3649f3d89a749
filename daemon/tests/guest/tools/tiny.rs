//! Maps that hold next to nothing, made by bare bpf(2) and by the thousand.

use std::{
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    ptr,
};

use anyhow::{Context as _, Result};
use mapstorm::identity::MapType;
use nix::libc;

/// Commands of bpf(2).
const CREATE: libc::c_long = 0;
const UPDATE: libc::c_long = 2;
const DELETE: libc::c_long = 3;
const INFO: libc::c_long = 15;
const LOOKUP_BATCH: libc::c_long = 24;

/// Keys that a batch has room for: more than a map here has entries.
const ROOM: usize = 256;

/// A map from four bytes to eight. It lives as long as this does.
pub(crate) struct Tiny {
    fd: OwnedFd,
}

impl Tiny {
    /// Creates it; the name has 15 bytes at most.
    pub(crate) fn create(name: &str, kind: MapType, max_entries: u32, flags: u32) -> Result<Self> {
        // map_type, key_size, value_size, max_entries, map_flags, inner_map_fd, numa_node; then 16
        // bytes of name.
        let mut attr = [kind.0, 4, 8, max_entries, flags, 0, 0, 0, 0, 0, 0];
        for (i, byte) in name.bytes().take(15).enumerate() {
            attr[7 + i / 4] |= u32::from(byte) << (8 * (i % 4));
        }
        let fd = bpf(CREATE, &mut attr).with_context(|| format!("creating a map {name}"))?;
        // SAFETY: the kernel has just returned the descriptor to this call alone.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        Ok(Self { fd })
    }

    /// Inserts or replaces `key`.
    pub(crate) fn update(&self, key: u32) -> io::Result<()> {
        let value = 0_u64;
        let mut attr = [self.map(), address(&key), address(&value), 0];
        bpf(UPDATE, &mut attr).map(drop)
    }

    /// Removes `key`.
    pub(crate) fn delete(&self, key: u32) -> io::Result<()> {
        let mut attr = [self.map(), address(&key), 0, 0];
        bpf(DELETE, &mut attr).map(drop)
    }

    /// Reads all elements at once; at the end of the map the kernel says ENOENT.
    pub(crate) fn lookup_batch(&self) -> io::Result<()> {
        let (mut last, mut keys, mut values) = ([0_u32; 2], [0_u32; ROOM], [0_u64; ROOM]);
        // in_batch, out_batch, keys, values; count and map_fd; elem_flags, flags.
        let count = ROOM as u64 | self.map() << 32;
        let (last, keys) = (&raw mut last as u64, &raw mut keys as u64);
        let mut attr = [0, last, keys, &raw mut values as u64, count, 0, 0];
        bpf(LOOKUP_BATCH, &mut attr).map(drop)
    }

    /// Its id as label values have it.
    pub(crate) fn id(&self) -> Result<String> {
        // `struct bpf_map_info` begins with the type and the id.
        let mut info = [0_u32; 32];
        let size = size_of_val(&info) as u64;
        let mut attr = [self.map() | size << 32, &raw mut info as u64];
        bpf(INFO, &mut attr).context("the map's info")?;
        Ok(info[1].to_string())
    }

    fn map(&self) -> u64 {
        self.fd.as_raw_fd() as u64
    }
}

fn address<T>(value: &T) -> u64 {
    ptr::from_ref(value) as u64
}

fn bpf<T>(command: libc::c_long, attr: &mut [T]) -> io::Result<libc::c_long> {
    let size = size_of_val(attr);
    // SAFETY: the attribute lives for the call, and so does what the addresses in it, set by the
    // callers in this file, lead to.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attr.as_mut_ptr(), size) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
