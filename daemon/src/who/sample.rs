//! One sampled call, as the probes wrote it.

use mapstorm_abi::{Op, Outcome};

use crate::identity::MapId;

/// A call that was refused, or that took longer than usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The map.
    pub map: MapId,
    /// The operation.
    pub op: Op,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, nanoseconds; 0 when its start was missed.
    pub duration_ns: u64,
    /// When, nanoseconds since boot, suspended time included.
    pub time_ns: u64,
    /// The task that was current: the caller, unless the call was made in an interrupt.
    pub task: Task,
    /// Return addresses in the kernel, the innermost first.
    pub stack: Vec<u64>,
    /// The stack was cut off: there were more frames than were kept.
    pub cut: bool,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its process; 0 for the idle task.
    pub process: u32,
    /// Its name, printable.
    pub name: String,
    /// Id of its cgroup.
    pub cgroup_id: u64,
}
