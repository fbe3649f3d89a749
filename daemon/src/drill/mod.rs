//! `mapstorm drill`: a real storm, made on purpose on a map of its own, and an exact count of it.

mod hammer;
mod pace;
mod report;
mod text;

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use mapstorm_abi::workload::Target;

use crate::{
    config::{DrillConfig, Via},
    facts::{self, CpuList, Cpus, FactError, Kernel},
    kernel::{KernelError, workload::Workload},
    preflight, signals,
};
use hammer::{Blows, Hammer};
pub use report::{Counts, CpuReport, DrillMap, Report};

/// Why a drill could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// mapstorm cannot work on this machine.
    #[error(transparent)]
    Machine(#[from] facts::KernelError),
    /// Nobody tells which CPUs there are.
    #[error(transparent)]
    Cpus(#[from] FactError),
    /// A CPU that was asked for does not exist.
    #[error("--cpus: there is no CPU {cpu}: this host has {possible}")]
    NoSuchCpu {
        /// The CPU.
        cpu: u32,
        /// Those that there can be.
        possible: CpuList,
    },
    /// A CPU that was asked for does not run.
    #[error("--cpus: CPU {cpu} is offline: {online} are online")]
    Offline {
        /// The CPU.
        cpu: u32,
        /// Those that run.
        online: CpuList,
    },
    /// The programs or their maps were refused, or failed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The map could not be filled.
    #[error("filling the map: the update of key {key} failed: {error}")]
    Fill {
        /// The key.
        key: u32,
        /// How.
        error: io::Error,
    },
    /// A thread could not be kept on its CPU.
    #[error(
        "{error}; CPU {cpu} may be outside of what this process is allowed to use (taskset, \
         cpuset): choose others with --cpus"
    )]
    Pin {
        /// The CPU.
        cpu: u32,
        /// What the system said.
        error: KernelError,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for CPU {cpu}: {error}; choose fewer with --cpus")]
    Thread {
        /// The CPU.
        cpu: u32,
        /// What the system said.
        error: io::Error,
    },
    /// A thread died.
    #[error("the thread of CPU {0} died: report it with the text above")]
    Panic(u32),
    /// Signals could not be caught.
    #[error("catching signals: {0}")]
    Signals(io::Error),
}

/// Fills a preallocated hash map and hammers it with keys that do not fit. A signal ends it early.
///
/// # Errors
/// See [`DrillError`]; the map is gone in any case.
pub fn full(config: &DrillConfig) -> Result<Report, DrillError> {
    let kernel = Kernel::running()?;
    let host = Cpus::read(Path::new("/sys"))?;
    let cpus = chosen(config.cpus.as_ref(), &host)?;
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    signals::on_end(move || asked.store(true, Ordering::Relaxed)).map_err(DrillError::Signals)?;
    preflight::raise_memlock(&kernel);
    let target = Target::Full;
    let sizes = [(target, config.max_entries)];
    let workload = Workload::load(&sizes, host.possible.table_len())?;
    let hammer = Hammer {
        workload: &workload,
        config,
        stop: &stop,
    };
    let fill = hammer.fill()?;
    let Blows {
        started,
        ended,
        mut tallies,
    } = hammer.strike(cpus.as_slice())?;
    if config.via == Via::Program {
        let counted = workload.tallies(target)?;
        for (cpu, tally) in &mut tallies {
            *tally = counted.get(*cpu as usize).copied().unwrap_or_default();
        }
    }
    let map = DrillMap {
        id: workload.map_id(target)?,
        name: target.map(),
        max_entries: config.max_entries,
    };
    let interrupted = stop.load(Ordering::Relaxed);
    Ok(Report::new(
        config,
        map,
        [started, ended],
        interrupted,
        &fill,
        &tallies,
    ))
}

/// The CPUs to hammer from: those asked for, if they run, else all that do.
fn chosen(asked: Option<&CpuList>, host: &Cpus) -> Result<CpuList, DrillError> {
    let Some(asked) = asked else {
        return Ok(host.online.clone());
    };
    for &cpu in asked.as_slice() {
        if !host.possible.contains(cpu) {
            let possible = host.possible.clone();
            return Err(DrillError::NoSuchCpu { cpu, possible });
        }
        if !host.online.contains(cpu) {
            let online = host.online.clone();
            return Err(DrillError::Offline { cpu, online });
        }
    }
    Ok(asked.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o04_only_cpus_that_run_are_taken_and_the_error_says_which_do() {
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        let host = Cpus {
            possible: list("0-7"),
            online: list("0-1,4"),
        };
        assert_eq!(chosen(None, &host).unwrap(), host.online);
        assert_eq!(chosen(Some(&list("1,4")), &host).unwrap(), list("1,4"));
        let refused = |text| chosen(Some(&list(text)), &host).unwrap_err().to_string();
        assert_eq!(refused("0-2"), "--cpus: CPU 2 is offline: 0-1,4 are online");
        assert_eq!(refused("9"), "--cpus: there is no CPU 9: this host has 0-7");
    }
}
