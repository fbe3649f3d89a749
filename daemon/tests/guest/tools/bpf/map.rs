//! Maps of any kind, and every command of bpf(2) that works on their elements.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    sync::Arc,
};

use mapstorm::identity::MapId;
use nix::libc;

use super::{Attr, address, types};

const CREATE: libc::c_long = 0;
const LOOKUP: libc::c_long = 1;
const UPDATE: libc::c_long = 2;
const DELETE: libc::c_long = 3;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const LOOKUP_AND_DELETE: libc::c_long = 21;
const LOOKUP_BATCH: libc::c_long = 24;
const LOOKUP_AND_DELETE_BATCH: libc::c_long = 25;
const UPDATE_BATCH: libc::c_long = 26;
const DELETE_BATCH: libc::c_long = 27;

/// What the kernel says to a command that a kind of map does not have: `ENOTSUPP`, which only the
/// kernel knows, or, to a command it does not know itself, EINVAL.
pub(crate) const ENOTSUPP: i32 = 524;

/// `BPF_F_NO_PREALLOC` of `map_flags`.
pub(crate) const NO_PREALLOC: u32 = 1;

/// `BPF_ANY`, `BPF_NOEXIST` and `BPF_EXIST` of an update.
pub(crate) const ANY: u32 = 0;
/// See [`ANY`].
pub(crate) const NOEXIST: u32 = 1;
/// See [`ANY`].
pub(crate) const EXIST: u32 = 2;

/// How to make a map. Keys are of four bytes, values of eight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    /// Up to 15 bytes.
    pub(crate) name: &'a str,
    /// `enum bpf_map_type`.
    pub(crate) kind: u32,
    /// `map_flags`.
    pub(crate) flags: u32,
    pub(crate) max_entries: u32,
    /// Words of a value in system calls: one, or one per possible CPU.
    pub(crate) words: usize,
    /// For a map of maps: a map like those in it, whose descriptor is the value.
    pub(crate) inner: Option<&'a RawMap>,
    /// For local storage: the types of keys and values.
    pub(crate) types: Option<&'a OwnedFd>,
}

/// A map by its descriptor. It is gone when this and its clones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct RawMap {
    fd: Arc<OwnedFd>,
    /// The map that is every value of a map of maps: its descriptor must stay.
    _inner: Option<Arc<OwnedFd>>,
    /// What an update by system call writes.
    value: Vec<u64>,
    /// The kernel's id of it.
    pub(crate) id: MapId,
}

/// What one batch did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// 0, or the errno it ended with.
    pub(crate) errno: i32,
    /// Elements it went through.
    pub(crate) count: u32,
}

impl RawMap {
    /// Creates a map.
    pub(crate) fn create(shape: &Shape<'_>) -> io::Result<Self> {
        let inner = shape.inner.map(RawMap::raw_fd);
        let value_size = if inner.is_some() { 4 } else { 8 };
        let mut attr = Attr::default()
            .with(0, shape.kind)
            .with(4, 4)
            .with(8, value_size)
            .with(12, shape.max_entries)
            .with(16, shape.flags)
            .with(20, inner.unwrap_or(0))
            .with_name(28, shape.name);
        if let Some(types) = shape.types {
            attr = attr
                .with(48, types.as_raw_fd() as u32)
                .with(52, types::KEY)
                .with(56, types::VALUE);
        }
        let fd = attr.open(CREATE)?;
        // `struct bpf_map_info` begins with type and id.
        let mut info = [0_u32; 2];
        Attr::default()
            .with(0, fd.as_raw_fd() as u32)
            .with(4, size_of_val(&info) as u32)
            .with_long(8, address(&mut info))
            .call(OBJ_GET_INFO_BY_FD)?;
        Ok(Self {
            fd: fd.into(),
            _inner: shape.inner.map(|inner| Arc::clone(&inner.fd)),
            // In a batch a descriptor takes half a word: both halves hold it.
            value: vec![u64::from(inner.unwrap_or(1)) * 0x1_0000_0001; shape.words],
            id: info[1],
        })
    }

    /// Its descriptor, as programs and attributes hold it.
    pub(crate) fn raw_fd(&self) -> u32 {
        self.fd.as_raw_fd() as u32
    }

    /// `BPF_MAP_UPDATE_ELEM`; 0 or the errno.
    pub(crate) fn update(&self, mut key: u32, flags: u32) -> i32 {
        let mut value = self.value.clone();
        self.element(&mut key, Some(&mut value), flags)
            .errno(UPDATE)
    }

    /// `BPF_MAP_LOOKUP_ELEM`; 0 or the errno.
    pub(crate) fn lookup(&self, mut key: u32) -> i32 {
        let mut value = self.value.clone();
        self.element(&mut key, Some(&mut value), 0).errno(LOOKUP)
    }

    /// `BPF_MAP_DELETE_ELEM`; 0 or the errno.
    pub(crate) fn delete(&self, mut key: u32) -> i32 {
        // The kernel refuses a value here, so that its address must be 0.
        self.element(&mut key, None, 0).errno(DELETE)
    }

    /// `BPF_MAP_LOOKUP_AND_DELETE_ELEM`; 0 or the errno.
    pub(crate) fn lookup_and_delete(&self, mut key: u32) -> i32 {
        let mut value = self.value.clone();
        self.element(&mut key, Some(&mut value), 0)
            .errno(LOOKUP_AND_DELETE)
    }

    /// `BPF_MAP_UPDATE_BATCH` of all of `keys`.
    pub(crate) fn update_batch(&self, keys: &mut [u32]) -> Batch {
        let mut values = self.value.repeat(keys.len());
        self.batch(UPDATE_BATCH, keys, &mut values, [0; 2])
    }

    /// `BPF_MAP_DELETE_BATCH` of all of `keys`.
    pub(crate) fn delete_batch(&self, keys: &mut [u32]) -> Batch {
        self.batch(DELETE_BATCH, keys, &mut [], [0; 2])
    }

    /// `BPF_MAP_LOOKUP_BATCH` again and again, up to `most` elements at a time, until a call ends with
    /// an errno: ENOENT after the last element. All calls.
    pub(crate) fn lookup_batches(&self, most: usize) -> Vec<Batch> {
        self.batches(LOOKUP_BATCH, most)
    }

    /// As [`lookup_batches`](Self::lookup_batches), with `BPF_MAP_LOOKUP_AND_DELETE_BATCH`.
    pub(crate) fn lookup_and_delete_batches(&self, most: usize) -> Vec<Batch> {
        self.batches(LOOKUP_AND_DELETE_BATCH, most)
    }

    fn batches(&self, command: libc::c_long, most: usize) -> Vec<Batch> {
        let mut keys = vec![0; most];
        let mut values = self.value.repeat(most);
        // Where the next call goes on; a bucket's number for most kinds, a key for others.
        let mut place = 0_u64;
        let mut calls = Vec::new();
        loop {
            let at = address(&mut place);
            let from = if calls.is_empty() { 0 } else { at };
            let batch = self.batch(command, &mut keys, &mut values, [from, at]);
            calls.push(batch);
            if batch.errno != 0 {
                return calls;
            }
        }
    }

    fn batch(
        &self,
        command: libc::c_long,
        keys: &mut [u32],
        values: &mut [u64],
        [from, to]: [u64; 2],
    ) -> Batch {
        let mut attr = Attr::default()
            .with_long(0, from)
            .with_long(8, to)
            .with_long(16, address(keys))
            .with_long(24, address(values))
            .with(32, keys.len() as u32)
            .with(36, self.raw_fd());
        let errno = attr.errno(command);
        Batch {
            errno,
            count: attr.get(32),
        }
    }

    fn element(&self, key: &mut u32, value: Option<&mut [u64]>, flags: u32) -> Attr {
        Attr::default()
            .with(0, self.raw_fd())
            .with_long(8, address(key))
            .with_long(16, value.map_or(0, address))
            .with(24, flags)
    }
}

impl Attr {
    /// Makes the call; 0 or the errno it ended with.
    fn errno(&mut self, command: libc::c_long) -> i32 {
        match self.call(command) {
            Ok(_) => 0,
            Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}
