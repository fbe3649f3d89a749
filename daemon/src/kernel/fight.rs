//! Drives fights for the locks of a map of the workload, which a witness watches.

use aya::maps::Array;
use mapstorm_abi::workload::{Fight, Run, Target};

use super::{
    error::KernelError,
    workload::{Workload, attach, map_error, missing, program, program_error},
};

/// The witness's counts.
pub(super) const FIGHTS: &str = "FIGHTS";
/// Updates of one map while the witness looks.
const WORK: [(Target, &str); 2] = [(Target::Churn, "fight_churn"), (Target::Lru, "fight_lru")];
/// The witness, and the tracepoints it sits on.
const WITNESS: [(&str, &str); 2] = [
    ("witness_begin", "contention_begin"),
    ("witness_end", "contention_end"),
];

impl Workload {
    /// Loads the work on a target and attaches the witness; both stay until the workload is dropped.
    ///
    /// # Errors
    /// There is no such work, or the kernel refuses a program, for one because it has no such
    /// tracepoint (before 5.19).
    pub fn witness(&mut self, target: Target) -> Result<(), KernelError> {
        for (name, tracepoint) in WITNESS {
            attach(&mut self.ebpf, name, tracepoint)?;
        }
        let name = work(target)?;
        let work = program(&mut self.ebpf, name)?;
        work.load().map_err(program_error(name))
    }

    /// Runs the work on a target once, on the CPU the calling thread is on.
    ///
    /// # Errors
    /// There is no such work, or the kernel refuses to run it.
    pub fn fight(&self, target: Target, run: Run) -> Result<(), KernelError> {
        self.run_program(work(target)?, run)
    }

    /// What the witness saw, all CPUs.
    ///
    /// # Errors
    /// The counts cannot be read.
    pub fn witnessed(&self) -> Result<Fight, KernelError> {
        let map = self.ebpf.map(FIGHTS).ok_or_else(|| missing(FIGHTS))?;
        let fights = Array::<_, [u64; 3]>::try_from(map).map_err(map_error(FIGHTS))?;
        let mut sum = Fight::default();
        for cpu in 0..self.possible_cpus {
            let seen = fights.get(&(cpu as u32), 0).map_err(map_error(FIGHTS))?;
            let [_, waits, failures] = seen;
            sum.waits += waits;
            sum.failures += failures;
        }
        Ok(sum)
    }
}

/// Name of the program that works on a target.
fn work(target: Target) -> Result<&'static str, KernelError> {
    let found = WORK.iter().find(|(of, _)| *of == target);
    found
        .map(|&(_, name)| name)
        .ok_or_else(|| missing(target.map()))
}

const _: () = assert!(size_of::<[u64; 3]>() == size_of::<Fight>());
