//! Memory of a map as the kernel accounts it: what is charged to a cgroup that only the map is in, else what the map's
//! descriptor tells.

use std::{
    fs,
    os::fd::{AsRawFd as _, BorrowedFd},
};

use super::BenchError;
use crate::cgroups::OwnCgroup;

/// What tells.
pub(super) enum Account {
    /// The kernel's memory in this cgroup: the map, its elements, and some 100 KiB of programs.
    Cgroup(OwnCgroup),
    /// `memlock` of the descriptor: an estimate that does not move before 6.4.
    Descriptor,
}

impl Account {
    /// Opens an account for the map that is made next: with a cgroup if one is to be had. Else it says why not.
    pub(super) fn open() -> (Self, Option<String>) {
        let own = OwnCgroup::enter("bench");
        let counted = own.map(|own| {
            own.charged_by_kernel()
                .is_ok_and(|kernel| kernel.is_some())
                .then_some(own)
        });
        match counted {
            Ok(Some(own)) => (Self::Cgroup(own), None),
            Ok(None) => (
                Self::Descriptor,
                Some("before Linux 5.18 a cgroup does not tell the kernel's memory".into()),
            ),
            Err(error) => (Self::Descriptor, Some(error.to_string())),
        }
    }

    /// Has the map been made? Then the process need not stay with it.
    pub(super) fn made(&self) -> Result<(), BenchError> {
        match self {
            Self::Cgroup(own) => Ok(own.leave()?),
            Self::Descriptor => Ok(()),
        }
    }

    /// Memory of the map now, bytes.
    pub(super) fn bytes(&self, map: BorrowedFd<'_>) -> Result<u64, BenchError> {
        match self {
            Self::Cgroup(own) => Ok(own.charged_by_kernel()?.unwrap_or(0)),
            Self::Descriptor => {
                let path = format!("/proc/self/fdinfo/{}", map.as_raw_fd());
                let text =
                    fs::read_to_string(&path).map_err(|error| BenchError::Read { path, error })?;
                let memlock = text.lines().find_map(|line| line.strip_prefix("memlock:"));
                Ok(memlock
                    .and_then(|bytes| bytes.trim().parse().ok())
                    .unwrap_or(0))
            }
        }
    }

    /// The word for what tells.
    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::Cgroup(_) => "memcg",
            Self::Descriptor => "memlock",
        }
    }
}
