//! Which program or process a sampled call came from, by its stack.
//!
//! No helper names the calling program. A stack begins with our own exit program and its trampoline;
//! then comes the operation's function, except where trampolines are jumped to and not called (seen
//! on 7.3), then its caller. The only callers of map operations are programs, whose machine code is
//! known, and bpf(2). The current task is the wrong answer in an interrupt: it is blamed only where
//! no program is in between.

use std::{collections::BTreeSet, ops::Range};

use serde::{Deserialize, Serialize};

use super::{Names, ProgramId, ProgramType, Programs, Sample};

/// Where the kernel's own text lies on x86-64, modules and machine code of programs behind it
/// (arch/x86/include/asm/page_64_types.h, with a random base).
const TEXT: Range<u64> = 0xffff_ffff_8000_0000..0xffff_ffff_c000_0000;

/// Who called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "lowercase")]
pub enum Caller {
    /// A BPF program.
    Program {
        /// Its id.
        prog_id: ProgramId,
        /// Its name, printable.
        prog_name: Box<str>,
        /// Its type.
        prog_type: ProgramType,
    },
    /// A process, by bpf(2).
    Process {
        /// Its id.
        pid: u32,
        /// The name of the thread that called, printable.
        comm: Box<str>,
        /// Path of its cgroup; `None` where it cannot be told.
        cgroup: Option<Box<str>>,
    },
    /// It cannot be told.
    Unknown,
}

impl Caller {
    /// Value of the label `source`.
    pub const fn source(&self) -> &'static str {
        match self {
            Self::Program { .. } => "program",
            Self::Process { .. } => "process",
            Self::Unknown => "unknown",
        }
    }

    /// In words: `program 21 "flows"`.
    pub fn words(&self) -> String {
        match self {
            Self::Program {
                prog_id, prog_name, ..
            } => format!("program {prog_id} \"{prog_name}\""),
            Self::Process { pid, comm, .. } => format!("process {pid} \"{comm}\""),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// What there is to tell frames apart.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Programs as listed after the samples were taken.
    pub programs: &'a Programs,
    /// Our own programs: a stack begins with one.
    pub own: &'a BTreeSet<ProgramId>,
    /// The list before that: a program of a sample may be gone since.
    pub before: &'a Programs,
    /// Names of addresses, as far as they are known.
    pub names: &'a Names,
}

impl Known<'_> {
    /// The program whose code held `address` when the sample was taken. Code that was loaded later
    /// lies where another's was.
    fn program(&self, address: u64, time_ns: u64) -> Option<Caller> {
        [self.programs, self.before].into_iter().find_map(|list| {
            let id = list.at(address)?;
            let program = list.get(id)?;
            (program.loaded_ns <= time_ns).then(|| Caller::Program {
                prog_id: id,
                prog_name: program.name.as_str().into(),
                prog_type: program.kind,
            })
        })
    }

    /// The frames behind our exit program and its trampoline; none where it is not found. Of our
    /// functions, which come first, not all may be listed.
    fn behind_us<'s>(&self, stack: &'s [u64]) -> &'s [u64] {
        let is_ours = |&frame: &u64| {
            let program = self.programs.at(frame);
            program.is_some_and(|id| self.own.contains(&id))
        };
        let first = stack.iter().position(|frame| TEXT.contains(frame));
        let (lead, _) = stack.split_at(first.unwrap_or(stack.len()));
        let Some(ours) = lead.iter().rposition(is_ours) else {
            return &[];
        };
        let behind = &stack[ours + 1..];
        match behind {
            [trampoline, rest @ ..] if !TEXT.contains(trampoline) => rest,
            _ => behind,
        }
    }

    /// Is it the frame of a trampoline, which only leads on?
    fn is_trampoline(&self, address: u64) -> bool {
        let name = self.names.get(address);
        name.is_some_and(|name| name.starts_with("bpf_trampoline_"))
    }
}

/// The caller of a sampled operation. `cgroup` finds the path of the current task's cgroup.
pub fn caller(
    sample: &Sample,
    known: Known<'_>,
    cgroup: impl FnOnce(&Sample) -> Option<Box<str>>,
) -> Caller {
    let mut frames_seen = 0;
    for &frame in known.behind_us(&sample.stack) {
        if TEXT.contains(&frame) {
            frames_seen += 1;
            continue;
        }
        if let Some(program) = known.program(frame, sample.time_ns) {
            return program;
        }
        if !known.is_trampoline(frame) {
            return Caller::Unknown;
        }
    }
    if sample.cut || frames_seen < 2 || sample.task.process == 0 {
        return Caller::Unknown;
    }
    Caller::Process {
        pid: sample.task.process,
        comm: sample.task.name.as_str().into(),
        cgroup: cgroup(sample),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use mapstorm_abi::{Op, Outcome};

    use super::{super::Task, *};
    use crate::who::programs::tests::two;

    const JIT: u64 = 0xffff_ffff_c000_0000;
    const KERNEL: u64 = 0xffff_ffff_8100_0000;
    /// A function of our exit program that is not listed, one that is, the trampoline.
    const OURS: [u64; 3] = [JIT + 0x9000, JIT + 0x3010, JIT + 0xa000];
    /// The operation.
    const OPERATION: u64 = KERNEL + 5;

    /// A sample with this stack behind the operation.
    pub(in crate::who) fn sample(callers: &[u64]) -> Sample {
        behind_us(&[&[OPERATION], callers].concat())
    }

    fn behind_us(frames: &[u64]) -> Sample {
        Sample {
            map: 7,
            op: Op::Update,
            outcome: Outcome::E2big,
            duration_ns: 900,
            time_ns: 1000,
            task: Task {
                process: 42,
                name: "nginx".to_owned(),
                cgroup_id: 1,
            },
            stack: [&OURS, frames].concat(),
            cut: false,
        }
    }

    fn of(sample: &Sample) -> Caller {
        let programs = two();
        let known = Known {
            programs: &programs,
            before: &Programs::default(),
            own: &BTreeSet::from([9]),
            names: &Names::default(),
        };
        caller(sample, known, |_| Some("/system.slice".into()))
    }

    fn program(id: ProgramId, name: &str) -> Caller {
        Caller::Program {
            prog_id: id,
            prog_name: name.into(),
            prog_type: ProgramType(17),
        }
    }

    #[test]
    fn the_first_program_behind_the_operation_called() {
        assert_eq!(of(&sample(&[JIT + 0x1010])), program(3, "flows"));
        assert_eq!(
            of(&sample(&[KERNEL + 9, JIT + 0x4001, JIT + 0x1110])),
            program(3, "flows"),
            "behind a helper, in a function of the program"
        );
    }

    #[test]
    fn in_softirq_the_program_called_and_not_the_process_it_came_upon() {
        let interrupted = sample(&[JIT + 0x1110, KERNEL + 100, KERNEL + 200, KERNEL + 300]);
        assert_eq!(of(&interrupted), program(5, "drops"));
    }

    #[test]
    fn where_trampolines_are_jumped_to_the_caller_comes_right_behind_them() {
        let program_called = behind_us(&[JIT + 0x1110, KERNEL + 100, KERNEL + 200]);
        assert_eq!(of(&program_called), program(5, "drops"));
        let process_called = behind_us(&[KERNEL + 100, KERNEL + 200, KERNEL + 300]);
        assert_eq!(of(&process_called).source(), "process");
        let unlisted = behind_us(&[JIT + 0x7000, KERNEL + 100, KERNEL + 200]);
        assert_eq!(of(&unlisted), Caller::Unknown, "no second trampoline");
        let mut others = program_called;
        others.stack.remove(1);
        assert_eq!(of(&others), Caller::Unknown, "it does not begin with us");
    }

    #[test]
    fn without_a_program_the_process_called_by_bpf2() {
        let process = of(&sample(&[KERNEL + 10, KERNEL + 20, KERNEL + 30]));
        assert_eq!(
            process,
            Caller::Process {
                pid: 42,
                comm: "nginx".into(),
                cgroup: Some("/system.slice".into())
            }
        );
        assert_eq!(process.words(), "process 42 \"nginx\"");
    }

    #[test]
    fn what_is_not_sure_is_unknown() {
        let unlisted = sample(&[JIT + 0x7000, KERNEL + 10]);
        assert_eq!(of(&unlisted), Caller::Unknown, "a program nobody listed");
        let mut cut = sample(&[KERNEL + 10]);
        cut.cut = true;
        assert_eq!(of(&cut), Caller::Unknown, "the program may be further out");
        let mut idle = sample(&[KERNEL + 10]);
        idle.task.process = 0;
        assert_eq!(of(&idle), Caller::Unknown, "the idle task makes no calls");
        assert_eq!(of(&sample(&[])), Caller::Unknown, "no caller was unwound");
        let mut none = sample(&[]);
        none.stack.clear();
        assert_eq!(of(&none), Caller::Unknown, "no stack");
    }

    #[test]
    fn code_that_was_loaded_after_the_sample_is_not_its_caller() {
        let mut early = sample(&[JIT + 0x1110]);
        early.time_ns = 499;
        assert_eq!(of(&early), Caller::Unknown);
        let (now, before) = (two().without(5), two());
        let known = Known {
            programs: &now,
            before: &before,
            own: &BTreeSet::from([9]),
            names: &Names::default(),
        };
        let gone = caller(&sample(&[JIT + 0x1110]), known, |_| None);
        assert_eq!(gone, program(5, "drops"), "gone since, listed before");
    }

    #[test]
    fn a_trampoline_that_is_known_leads_on() {
        let (programs, mut names) = (two(), Names::default());
        names.insert(JIT + 0xb010, Some("bpf_trampoline_6442".into()));
        let known = Known {
            programs: &programs,
            before: &programs,
            own: &BTreeSet::from([9]),
            names: &names,
        };
        let traced = sample(&[JIT + 0xb010, KERNEL + 7, JIT + 0x1010]);
        assert_eq!(caller(&traced, known, |_| None), program(3, "flows"));
        assert_eq!(of(&traced), Caller::Unknown, "without its name");
    }
}
