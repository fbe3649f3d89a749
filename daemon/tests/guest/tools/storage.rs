//! Every kind of local storage, and an owner for its elements.

use std::{
    fs::File,
    io,
    net::UdpSocket,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
};

use nix::libc;

use super::bpf::map::{NO_PREALLOC, RawMap, Shape};

/// A kind of local storage. The key of an element is a descriptor of what owns it.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// The word for it in the table of limits, and the name of the maps.
    pub(crate) word: &'static str,
    /// `enum bpf_map_type`.
    pub(crate) number: u32,
    /// Opens something that can own elements.
    owner: fn() -> io::Result<OwnedFd>,
}

/// All kinds, in the order of the table's rows.
pub(crate) const KINDS: [Kind; 4] = [
    Kind {
        word: "sk_storage",
        number: 24,
        owner: socket,
    },
    Kind {
        word: "inode_storage",
        number: 28,
        owner: file,
    },
    Kind {
        word: "task_storage",
        number: 29,
        owner: process,
    },
    Kind {
        word: "cgrp_storage",
        number: 32,
        owner: cgroup,
    },
];

impl Kind {
    /// Creates a map of this kind.
    pub(crate) fn create(&self, types: &OwnedFd) -> io::Result<RawMap> {
        RawMap::create(&Shape {
            name: self.word,
            kind: self.number,
            flags: NO_PREALLOC,
            max_entries: 0,
            words: 1,
            inner: None,
            types: Some(types),
        })
    }

    /// An owner that has no element yet.
    pub(crate) fn owner(&self) -> io::Result<Owner> {
        (self.owner)().map(Owner)
    }
}

/// Something that owns elements.
pub(crate) struct Owner(OwnedFd);

impl Owner {
    /// The key of its element in any map of its kind.
    pub(crate) fn key(&self) -> u32 {
        self.0.as_raw_fd() as u32
    }
}

fn socket() -> io::Result<OwnedFd> {
    UdpSocket::bind(("127.0.0.1", 0)).map(OwnedFd::from)
}

fn file() -> io::Result<OwnedFd> {
    File::create("/tmp/inode").map(OwnedFd::from)
}

fn cgroup() -> io::Result<OwnedFd> {
    File::open("/sys/fs/cgroup").map(OwnedFd::from)
}

/// This process, whose main thread is the task.
fn process() -> io::Result<OwnedFd> {
    let process = std::process::id();
    // SAFETY: the call takes numbers only.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for this call alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
