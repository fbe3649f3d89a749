//! Tries the plan on the running kernel: every probe on its own, the next alternative when one is
//! refused, and a record of each.

use std::time::Instant;

use aya::{
    Btf, Ebpf,
    programs::{FEntry, FExit, Iter, KProbe, Program, ProgramError, RawTracePoint},
};

use super::refusal::{Stage, explain};
use crate::{
    plan::{Alternative, LOCK_WAIT, POP, Plan, Probe, Signal, UPDATE},
    probes::{Mechanism, ProbeStatus, Refusal},
};

/// What attaching needs to know of the process and the kernel.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The running kernel's BTF; `None` when it cannot be read, and then the plan refuses all.
    pub(super) btf: Option<&'a Btf>,
    /// Can a program run inside itself on one CPU (before 5.12)?
    pub(super) self_nesting: bool,
    /// Does the process hold the capabilities that loading takes?
    pub(super) privileged: bool,
}

/// Attaches what can be attached and says what became of every probe.
pub(super) fn attach(ebpf: &mut Ebpf, plan: &Plan, context: Context<'_>) -> Vec<ProbeStatus> {
    let mut statuses: Vec<ProbeStatus> = Vec::new();
    for signal in &plan.signals {
        let updates_seen = statuses
            .iter()
            .any(|s| s.signal == UPDATE && s.mechanism.counts_by_map() && s.attached());
        for alternative in &signal.alternatives {
            let refusal = alternative.refusal.clone().or_else(|| {
                (owned(signal, alternative) && !updates_seen).then(|| ownerless(signal))
            });
            let tried = match refusal {
                Some(refusal) => refuse_all(signal, alternative, &refusal),
                None => try_alternative(ebpf, signal, alternative, context),
            };
            let attached = tried.iter().all(ProbeStatus::attached);
            statuses.extend(tried);
            if attached {
                break;
            }
        }
    }
    statuses
}

/// Is what the alternative sees attributed through the operation around it?
fn owned(signal: &Signal, alternative: &Alternative) -> bool {
    let typed = |probe: &Probe| probe.mechanism != Mechanism::Kretprobe;
    [POP, LOCK_WAIT].contains(&signal.name) && alternative.probes.iter().all(typed)
}

/// Why a pop, or a wait, without its operation is of no use: all CPUs of a host wait for all kinds of
/// locks, and nothing would tell whose a wait is.
fn ownerless(signal: &Signal) -> Refusal {
    let what = if signal.name == POP {
        "a pop belongs to the update around it"
    } else {
        "a wait for a lock belongs to the operation around it"
    };
    Refusal {
        reason: "no_update",
        detail: format!("{what}, and no update can be seen"),
        remedy: "see the refusals of the signal `update`".into(),
    }
}

fn refuse_all(signal: &Signal, alternative: &Alternative, refusal: &Refusal) -> Vec<ProbeStatus> {
    let refused = |probe| status(signal, alternative, probe, Some(refusal.clone()));
    alternative.probes.iter().map(refused).collect()
}

/// Attaches all programs of an alternative, or none.
fn try_alternative(
    ebpf: &mut Ebpf,
    signal: &Signal,
    alternative: &Alternative,
    context: Context<'_>,
) -> Vec<ProbeStatus> {
    for (done, probe) in alternative.probes.iter().enumerate() {
        let Err(refusal) = try_probe(ebpf, alternative.hook, probe, context) else {
            continue;
        };
        for attached in &alternative.probes[..done] {
            unload(ebpf, &program_name(ebpf, attached.name, context));
        }
        return refuse_all(signal, alternative, &refusal);
    }
    alternative
        .probes
        .iter()
        .map(|probe| status(signal, alternative, probe, None))
        .collect()
}

fn status(
    signal: &Signal,
    alternative: &Alternative,
    probe: &Probe,
    refusal: Option<Refusal>,
) -> ProbeStatus {
    ProbeStatus {
        probe: probe.name,
        signal: signal.name,
        hook: alternative.hook.to_owned(),
        mechanism: probe.mechanism,
        refusal,
    }
}

/// Name of the program that serves as a probe: where a program can run inside itself, the form that
/// counts atomically, if there is one.
fn program_name(ebpf: &Ebpf, probe: &str, context: Context<'_>) -> String {
    let nesting = format!("{probe}_nesting");
    if context.self_nesting && ebpf.program(&nesting).is_some() {
        nesting
    } else {
        probe.into()
    }
}

/// Loads and attaches one program. An iterator is only loaded: the inventory links it.
fn try_probe(
    ebpf: &mut Ebpf,
    hook: &str,
    probe: &Probe,
    context: Context<'_>,
) -> Result<(), Refusal> {
    let explain = |stage, error: ProgramError| {
        explain(stage, probe.mechanism, hook, context.privileged, &error)
    };
    let name = program_name(ebpf, probe.name, context);
    let Some(program) = ebpf.program_mut(&name) else {
        return Err(Refusal {
            reason: "other",
            detail: format!("the BPF object has no program `{}`", probe.name),
            remedy: "rebuild with `cargo xtask build`".into(),
        });
    };
    let began = Instant::now();
    let result = match (probe.mechanism, program, context.btf) {
        (Mechanism::Fentry, Program::FEntry(program), Some(btf)) => load_and_attach(
            program,
            |program: &mut FEntry| program.load(hook, btf),
            |program| program.attach().map(drop),
        ),
        (Mechanism::Fexit, Program::FExit(program), Some(btf)) => load_and_attach(
            program,
            |program: &mut FExit| program.load(hook, btf),
            |program| program.attach().map(drop),
        ),
        (Mechanism::Iter, Program::Iter(program), Some(btf)) => load_and_attach(
            program,
            |program: &mut Iter| program.load(hook.trim_start_matches("bpf_iter_"), btf),
            |_| Ok(()),
        ),
        (Mechanism::RawTp, Program::RawTracePoint(program), _) => {
            load_and_attach(program, RawTracePoint::load, |program| {
                program.attach(probe.name).map(drop)
            })
        }
        (mechanism, Program::KProbe(program), _) if mechanism.is_suppressed() => {
            load_and_attach(program, KProbe::load, |program| {
                program.attach(hook, 0).map(drop)
            })
        }
        (_, _, _) => Err((Stage::Load, ProgramError::UnexpectedProgramType)),
    };
    let (took, ok) = (began.elapsed(), result.is_ok());
    tracing::debug!(probe = name, hook, ?took, ok, "tried");
    result.map_err(|(stage, error)| {
        unload(ebpf, &name);
        explain(stage, error)
    })
}

fn load_and_attach<P>(
    program: &mut P,
    load: impl FnOnce(&mut P) -> Result<(), ProgramError>,
    attach: impl FnOnce(&mut P) -> Result<(), ProgramError>,
) -> Result<(), (Stage, ProgramError)> {
    load(program).map_err(|error| (Stage::Load, error))?;
    attach(program).map_err(|error| (Stage::Attach, error))
}

/// Takes a program out of the kernel again; one that never got there is fine.
fn unload(ebpf: &mut Ebpf, name: &str) {
    let result = match ebpf.program_mut(name) {
        Some(Program::FEntry(program)) => program.unload(),
        Some(Program::FExit(program)) => program.unload(),
        Some(Program::Iter(program)) => program.unload(),
        Some(Program::KProbe(program)) => program.unload(),
        Some(Program::RawTracePoint(program)) => program.unload(),
        _ => Ok(()),
    };
    match result {
        Ok(()) | Err(ProgramError::NotLoaded) => {}
        Err(error) => tracing::warn!(program = name, %error, "could not unload the program"),
    }
}
