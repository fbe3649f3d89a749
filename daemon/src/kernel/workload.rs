//! Drives the workload's programs: maps of our own, updated from programs or by system call, with
//! an exact count of what was done.

use std::os::fd::{AsFd, BorrowedFd};

use aya::{
    Ebpf, EbpfLoader, TestRun,
    maps::{Array, Map, MapData},
    programs::{ProgramError, RawTracePoint, RawTracePointRunOptions},
};
use mapstorm_abi::workload::{ERRNOS, HOT_VALUE, MAX_LOOPS, Run, Tally, Target};

use super::{
    error::{KernelError, errno},
    fight::FIGHTS,
    gets::GOT,
    object, sys,
};
use crate::{identity::MapId, who::ProgramId};

/// Name of the object, in errors.
const OBJECT: &str = "workload";
/// Program that updates from inside interrupts.
const INTERRUPT: &str = "interrupt";

/// A tally as words, the type that aya can copy out of a map.
type TallyWords = [u64; size_of::<Tally>() / 8];

/// The workload, loaded; its maps live as long as it does.
pub struct Workload {
    pub(super) ebpf: Ebpf,
    tallies: Array<MapData, TallyWords>,
    maps: Vec<(Target, MapData)>,
    pub(super) possible_cpus: usize,
}

impl Workload {
    /// Loads the maps of `targets` with the sizes given and their programs; nothing is attached.
    /// Other targets' maps do not stay.
    pub fn load(targets: &[(Target, u32)], possible_cpus: usize) -> Result<Self, KernelError> {
        let mut loader = EbpfLoader::new();
        loader
            .map_max_entries("TALLIES", (possible_cpus * Target::COUNT) as u32)
            .map_max_entries(FIGHTS, possible_cpus as u32)
            .map_max_entries(GOT, possible_cpus as u32);
        for target in Target::ALL {
            let chosen = targets.iter().find(|(t, _)| *t == target);
            // What is not chosen is created all the same, as small as can be, and dropped below.
            loader.map_max_entries(target.map(), chosen.map_or(1, |(_, entries)| *entries));
        }
        let mut ebpf = loader.load(object::workload()?).map_err(|source| {
            let remedy = match errno(&source) {
                Some(libc::EPERM) => "run it with CAP_BPF and CAP_PERFMON, or as root",
                Some(libc::ENOMEM | libc::E2BIG) => "choose a smaller --max-entries",
                _ => "report the kernel's release and this text",
            };
            KernelError::Load {
                object: OBJECT,
                source: Box::new(source),
                remedy,
            }
        })?;
        let tallies = ebpf.take_map("TALLIES").ok_or_else(|| missing("TALLIES"))?;
        let tallies = Array::try_from(tallies).map_err(map_error("TALLIES"))?;
        let mut maps = Vec::new();
        for target in Target::ALL {
            let data = match ebpf.take_map(target.map()) {
                Some(
                    Map::HashMap(data)
                    | Map::PerCpuHashMap(data)
                    | Map::LruHashMap(data)
                    | Map::PerCpuLruHashMap(data),
                ) => data,
                _ => return Err(missing(target.map())),
            };
            if targets.iter().any(|(t, _)| *t == target) {
                maps.push((target, data));
            }
        }
        for (target, _) in targets {
            program(&mut ebpf, target.program())?
                .load()
                .map_err(program_error(target.program()))?;
        }
        Ok(Self {
            ebpf,
            tallies,
            maps,
            possible_cpus,
        })
    }

    /// Id of a target's map, by which the kernel and mapstorm know it.
    pub fn map_id(&self, target: Target) -> Result<MapId, KernelError> {
        let info = self.map(target)?.info().map_err(map_error(target.map()))?;
        Ok(info.id())
    }

    /// Id of a program of the object, which must be loaded.
    pub fn program_id(&self, name: &'static str) -> Result<ProgramId, KernelError> {
        let program = self.ebpf.program(name).ok_or_else(|| missing(name))?;
        let info = program.info().map_err(program_error(name))?;
        Ok(info.id())
    }

    /// Runs a target's program once, on the CPU the calling thread is on.
    pub fn run(&self, target: Target, run: Run) -> Result<(), KernelError> {
        self.run_program(target.program(), run)
    }

    /// Runs a loaded program once, on the CPU the calling thread is on.
    pub(super) fn run_program(&self, name: &'static str, run: Run) -> Result<(), KernelError> {
        debug_assert!(run.loops <= MAX_LOOPS, "{run:?}");
        let Run {
            loops,
            first_key,
            key_mask,
            flags,
            delete,
        } = run;
        run_once(
            &self.ebpf,
            name,
            &[loops, first_key, key_mask, flags, delete],
        )
    }

    /// Updates an element by system call; the errno it ended with, 0 for success.
    pub fn update(&self, target: Target, key: u32, flags: u64) -> Result<i32, KernelError> {
        let words = match target {
            Target::Percpu | Target::LruPercpu => self.possible_cpus,
            Target::Hot => HOT_VALUE / size_of::<u64>(),
            _ => 1,
        };
        let value = vec![u64::from(key); words];
        match sys::update_elem(self.fd(target)?, &key, &value, flags) {
            Ok(()) => Ok(0),
            Err(error) => Ok(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// Deletes an element by system call; the errno it ended with, 0 for success.
    pub fn delete(&self, target: Target, key: u32) -> Result<i32, KernelError> {
        match sys::delete_elem(self.fd(target)?, &key) {
            Ok(()) => Ok(0),
            Err(error) => Ok(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// What a target's programs did on each possible CPU.
    pub fn tallies(&self, target: Target) -> Result<Vec<Tally>, KernelError> {
        (0..self.possible_cpus)
            .map(|cpu| {
                let index = cpu * Target::COUNT + target as usize;
                let words = self
                    .tallies
                    .get(&(index as u32), 0)
                    .map_err(map_error("TALLIES"))?;
                Ok(tally(words))
            })
            .collect()
    }

    /// Attaches the interrupting program to a tracepoint; it stays until the workload is dropped.
    pub fn interrupt_on(&mut self, tracepoint: &str) -> Result<(), KernelError> {
        attach(&mut self.ebpf, INTERRUPT, tracepoint)
    }

    /// Detaches the interrupting program, so that its tally is final.
    pub fn interrupt_off(&mut self) -> Result<(), KernelError> {
        program(&mut self.ebpf, INTERRUPT)?
            .unload()
            .map_err(program_error(INTERRUPT))
    }

    fn map(&self, target: Target) -> Result<&MapData, KernelError> {
        let found = self.maps.iter().find(|(t, _)| *t == target);
        found
            .map(|(_, data)| data)
            .ok_or_else(|| missing(target.map()))
    }

    /// Descriptor of a target's map.
    pub fn fd(&self, target: Target) -> Result<BorrowedFd<'_>, KernelError> {
        Ok(self.map(target)?.fd().as_fd())
    }
}

/// Keeps the calling thread on one CPU.
pub fn pin_thread(cpu: u32) -> Result<(), KernelError> {
    sys::pin_thread(cpu).map_err(|source| KernelError::Io {
        what: format!("pinning a thread to CPU {cpu}"),
        source,
    })
}

/// Runs a loaded program once, with these arguments, on the CPU the calling thread is on.
pub(super) fn run_once(
    ebpf: &Ebpf,
    name: &'static str,
    arguments: &[u64],
) -> Result<(), KernelError> {
    let mut options = RawTracePointRunOptions::new();
    options.args[..arguments.len()].copy_from_slice(arguments);
    let program = match ebpf.program(name) {
        Some(aya::programs::Program::RawTracePoint(program)) => program,
        _ => return Err(missing(name)),
    };
    program
        .test_run(options)
        .map(drop)
        .map_err(program_error(name))
}

/// Loads a program and puts it on a tracepoint.
pub(super) fn attach(
    ebpf: &mut Ebpf,
    name: &'static str,
    tracepoint: &str,
) -> Result<(), KernelError> {
    let program = program(ebpf, name)?;
    program.load().map_err(program_error(name))?;
    program
        .attach(tracepoint)
        .map(drop)
        .map_err(program_error(name))
}

pub(super) fn program<'a>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<&'a mut RawTracePoint, KernelError> {
    let program = ebpf.program_mut(name).ok_or_else(|| missing(name))?;
    program.try_into().map_err(program_error(name))
}

pub(super) fn missing(name: &str) -> KernelError {
    KernelError::Missing {
        object: OBJECT,
        name: name.into(),
    }
}

pub(super) fn map_error(map: &'static str) -> impl Fn(aya::maps::MapError) -> KernelError {
    move |source| KernelError::Map {
        map,
        source: Box::new(source),
    }
}

pub(super) fn program_error(program: &'static str) -> impl Fn(ProgramError) -> KernelError {
    move |source| KernelError::Program {
        program,
        source: Box::new(source),
    }
}

/// The words of a tally, field by field.
fn tally(words: TallyWords) -> Tally {
    let (mut updates, mut deletes) = ([0; ERRNOS], [0; ERRNOS]);
    updates.copy_from_slice(&words[..ERRNOS]);
    deletes.copy_from_slice(&words[ERRNOS..2 * ERRNOS]);
    let [ns, best_ns_per_1000] = [words[2 * ERRNOS], words[2 * ERRNOS + 1]];
    Tally {
        updates,
        deletes,
        ns,
        best_ns_per_1000,
    }
}

const _: () = assert!(size_of::<TallyWords>() == size_of::<Tally>());
