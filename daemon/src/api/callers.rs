//! Who calls, and who uses a map.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::who::{self, Names, Program, ProgramId, Programs, TopCaller};

/// What a caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerSource {
    /// A BPF program.
    Program,
    /// A process, by bpf(2).
    Process,
    /// It cannot be told.
    Unknown,
}

/// Who made sampled calls on a map: refused ones and slow ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Caller {
    /// What it is; decides which of the fields below are there.
    pub source: CallerSource,
    /// Id of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prog_id: Option<u32>,
    /// Its name, printable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prog_name: Option<String>,
    /// Its type, as bpftool names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prog_type: Option<String>,
    /// Id of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Name of the thread that called, printable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
    /// Path of the process's cgroup; absent where it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Samples of its calls so far.
    pub samples: u64,
    /// Its share of the map's samples, 0 to 1, the newest weighing most.
    pub share: f64,
    /// The operation of its newest sample.
    pub op: String,
    /// How that ended: `ok` or the errno.
    pub outcome: String,
    /// How long that took, nanoseconds; 0 when unknown.
    pub duration_ns: u64,
    /// The sample window in which that was seen.
    pub last_window: u64,
    /// The kernel's stack of that in words, the innermost frame first; told with a map only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Vec<String>>,
}

impl Caller {
    /// The caller without its stack.
    pub fn of(top: &TopCaller) -> Self {
        let mut told = Self {
            source: CallerSource::Unknown,
            prog_id: None,
            prog_name: None,
            prog_type: None,
            pid: None,
            comm: None,
            cgroup: None,
            samples: top.samples,
            share: top.share,
            op: top.op.label().to_owned(),
            outcome: top.outcome.label().to_owned(),
            duration_ns: top.duration_ns,
            last_window: top.last_window,
            stack: None,
        };
        match &top.caller {
            who::Caller::Program {
                prog_id,
                prog_name,
                prog_type,
            } => {
                told.source = CallerSource::Program;
                told.prog_id = Some(*prog_id);
                told.prog_name = Some(prog_name.to_string());
                told.prog_type = Some(prog_type.label().into_owned());
            }
            who::Caller::Process { pid, comm, cgroup } => {
                told.source = CallerSource::Process;
                told.pid = Some(*pid);
                told.comm = Some(comm.to_string());
                told.cgroup = cgroup.as_ref().map(ToString::to_string);
            }
            who::Caller::Unknown => {}
        }
        told
    }

    /// The caller with its newest stack.
    pub fn with_stack(top: &TopCaller, names: &Names, programs: &Programs) -> Self {
        Self {
            stack: Some(names.stack(&top.stack, programs)),
            ..Self::of(top)
        }
    }
}

/// A program that uses a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// Its id.
    pub prog_id: u32,
    /// Its name, printable.
    pub prog_name: String,
    /// Its type, as bpftool names it.
    pub prog_type: String,
    /// The kernel's digest of its instructions, hexadecimal.
    pub tag: String,
}

impl From<(ProgramId, &Program)> for User {
    fn from((prog_id, program): (ProgramId, &Program)) -> Self {
        let digits = program.tag.iter().map(|byte| format!("{byte:02x}"));
        Self {
            prog_id,
            prog_name: program.name.clone(),
            prog_type: program.kind.label().into_owned(),
            tag: digits.collect(),
        }
    }
}
