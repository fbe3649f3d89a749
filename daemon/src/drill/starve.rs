//! A cgroup whose limit leaves a map that allocates its elements as they come no memory.
//!
//! From 5.11 on elements are charged to the cgroup that created the map, wherever they are inserted, and
//! nobody can wait for memory to be freed under a bucket's lock. Only the map must be in the cgroup: a
//! process in it would be killed by the limit that the map is to meet.

use crate::cgroups::{CgroupError, OwnCgroup};

/// What the map may grow by, bytes.
const ROOM: u64 = 1 << 20;

/// Leaves the cgroup and sets its limit, just above what is charged to it now.
pub(super) fn starve(cgroup: &OwnCgroup) -> Result<(), CgroupError> {
    cgroup.leave()?;
    cgroup.limit(cgroup.charged()? + ROOM)
}
