//! Drives lookups in a hash of the workload.

use aya::{Ebpf, maps::Array};
use mapstorm_abi::workload::{Gets, Got};

use super::{
    error::KernelError,
    workload::{Workload, map_error, missing, program, program_error, run_once},
};

/// Counts of lookups by CPU, in both objects that look up.
pub(super) const GOT: &str = "GOT";
/// The program that looks up in `drill_churn`.
const PROGRAM: &str = "get_churn";

impl Workload {
    /// Loads the program that looks up in the map of [`Churn`](mapstorm_abi::workload::Target::Churn).
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn prepare_gets(&mut self) -> Result<(), KernelError> {
        let program = program(&mut self.ebpf, PROGRAM)?;
        program.load().map_err(program_error(PROGRAM))
    }

    /// Runs it once, on the CPU the calling thread is on.
    ///
    /// # Errors
    /// The kernel refuses to run it.
    pub fn get(&self, gets: Gets) -> Result<(), KernelError> {
        get(&self.ebpf, PROGRAM, gets)
    }

    /// What was looked up on one CPU.
    ///
    /// # Errors
    /// The counts cannot be read.
    pub fn got(&self, cpu: u32) -> Result<Got, KernelError> {
        got(&self.ebpf, cpu)
    }
}

/// Runs a loaded program that looks up once.
pub(super) fn get(ebpf: &Ebpf, program: &'static str, gets: Gets) -> Result<(), KernelError> {
    let Gets {
        gets,
        first,
        of,
        interleaved,
    } = gets;
    run_once(ebpf, program, &[gets, first, of, interleaved])
}

/// Its counts on one CPU.
pub(super) fn got(ebpf: &Ebpf, cpu: u32) -> Result<Got, KernelError> {
    let map = ebpf.map(GOT).ok_or_else(|| missing(GOT))?;
    let counts = Array::<_, [u64; 4]>::try_from(map).map_err(map_error(GOT))?;
    let [gets, important, missed, ns] = counts.get(&cpu, 0).map_err(map_error(GOT))?;
    Ok(Got {
        gets,
        important,
        missed,
        ns,
    })
}

const _: () = assert!(size_of::<Got>() == size_of::<[u64; 4]>());
