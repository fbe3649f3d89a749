//! BPF objects in the kernel, by id: what a daemon leaves behind shows here.

use std::{collections::BTreeSet, io};

use anyhow::{Context as _, Result};
use nix::libc;

use super::wait;

/// `BPF_PROG_GET_NEXT_ID`, `BPF_MAP_GET_NEXT_ID` and `BPF_LINK_GET_NEXT_ID` of bpf(2).
const GET_NEXT_ID: [(Kind, libc::c_long); 3] =
    [(Kind::Program, 11), (Kind::Map, 12), (Kind::Link, 31)];

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Program,
    Map,
    Link,
}

/// Everything of BPF that is in the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Objects(BTreeSet<(Kind, u32)>);

impl Objects {
    /// What is there now.
    pub(crate) fn now() -> Result<Self> {
        let mut objects = BTreeSet::new();
        for (kind, command) in GET_NEXT_ID {
            let mut last = 0;
            while let Some(id) =
                next(command, last).with_context(|| format!("listing {kind:?}s"))?
            {
                objects.insert((kind, id));
                last = id;
            }
        }
        Ok(Self(objects))
    }

    /// How many there are of a kind that are not in `before`.
    pub(crate) fn added(&self, before: &Self, kind: Kind) -> usize {
        let new = self.0.difference(&before.0);
        new.filter(|(of, _)| *of == kind).count()
    }

    /// Ids of all of a kind.
    pub(crate) fn ids(&self, kind: Kind) -> impl Iterator<Item = u32> {
        let of_kind = self.0.iter().filter(move |(of, _)| *of == kind);
        of_kind.map(|(_, id)| *id)
    }

    /// Waits until nothing is left that was not there `before`: the kernel frees some things later
    /// than it closes them.
    pub(crate) fn back_to(before: &Self) -> Result<()> {
        let mut left = Vec::new();
        let gone = wait::until("BPF objects to go", || {
            left = Self::now()?.0.difference(&before.0).copied().collect();
            Ok(left.is_empty().then_some(()))
        });
        gone.with_context(|| format!("still there: {left:?}"))
    }
}

/// The first id after `last`; `None` at the end.
fn next(command: libc::c_long, last: u32) -> io::Result<Option<u32>> {
    // start_id, next_id and open_flags of `union bpf_attr`.
    let mut attr = [last, 0, 0];
    // SAFETY: the attribute lives for the call, which reads and writes as much as the size says.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            attr.as_mut_ptr(),
            size_of_val(&attr),
        )
    };
    match result {
        0 => Ok(Some(attr[1])),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            error => Err(error),
        },
    }
}
