//! `mapstorm drill`: a real storm, made on purpose on a map of its own, and an exact count of it.

mod hammer;
mod kind;
mod pace;
mod report;
mod starve;
mod text;

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use mapstorm_abi::workload::Tally;

use crate::{
    cgroups::{CgroupError, OwnCgroup},
    config::{DrillConfig, DrillKind},
    facts::{self, ChoiceError, Cpus, FactError, Kernel, kernel::Version},
    kernel::{KernelError, workload::Workload},
    preflight, signals,
};
use hammer::{Blows, Hammer};
pub use report::{Counts, CpuReport, DrillMap, Report};
use starve::starve;

/// From when on elements are charged to the cgroup that created their map.
const CHARGED: Version = Version::new(5, 11);

/// Why a drill could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// mapstorm cannot work on this machine.
    #[error(transparent)]
    Machine(#[from] facts::KernelError),
    /// Nobody tells which CPUs there are.
    #[error(transparent)]
    Cpus(#[from] FactError),
    /// A CPU that was asked for does not run.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
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
    /// One CPU cannot fight.
    #[error(
        "a drill of kind {kind} takes {least} CPUs at least, and has {cpus}: choose more with --cpus"
    )]
    TooFewCpus {
        /// The kind of storm.
        kind: &'static str,
        /// CPUs there are, or were chosen.
        cpus: usize,
        /// CPUs it takes.
        least: usize,
    },
    /// The map is too small for what is to happen in it.
    #[error(
        "a drill of kind {kind} with {cpus} CPUs takes {least} entries at least: choose more with \
         --max-entries, or fewer CPUs with --cpus"
    )]
    TooSmall {
        /// The kind of storm.
        kind: &'static str,
        /// CPUs at work.
        cpus: usize,
        /// Entries it takes.
        least: u64,
    },
    /// The cgroup without memory could not be had.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// Elements are not charged to a cgroup.
    #[error(
        "before Linux 5.11 (this is {0}) elements of maps are charged to no cgroup, and only a host \
         without memory refuses them: make this drill on a newer kernel"
    )]
    NotCharged(String),
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

/// Makes the storm that the settings ask for, on a map of its own. A signal ends it early.
///
/// # Errors
/// See [`DrillError`]; the map is gone in any case.
pub fn run(config: &DrillConfig) -> Result<Report, DrillError> {
    let kernel = Kernel::running()?;
    let host = Cpus::read(Path::new("/sys"))?;
    let cpus = host.choose(config.cpus.as_ref())?;
    let (kind, cpus) = (config.kind, cpus.as_slice());
    check(config, cpus)?;
    let is_older = kernel.version.is_some_and(|version| version < CHARGED);
    if kind == DrillKind::Alloc && is_older {
        return Err(DrillError::NotCharged(kernel.release));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    signals::on_end(move || asked.store(true, Ordering::Relaxed)).map_err(DrillError::Signals)?;
    preflight::raise_memlock(&kernel);
    let target = kind.target();
    let starved = (kind == DrillKind::Alloc)
        .then(|| OwnCgroup::enter("drill"))
        .transpose()?;
    let sizes = [(target, config.max_entries)];
    let workload = Workload::load(&sizes, host.possible.table_len())?;
    starved.as_ref().map(starve).transpose()?;
    let hammer = Hammer {
        workload: &workload,
        config,
        target,
        stop: &stop,
    };
    let fill = if kind == DrillKind::Full {
        hammer.fill()?
    } else {
        Tally::default()
    };
    let calm = if kind.is_fight() && !config.calm.is_zero() {
        let alone = vec![kind.alone(config.max_entries)];
        hammer.strike(&cpus[..1], alone, config.calm)?.total()
    } else {
        Tally::default()
    };
    let works = kind.together(cpus, config.max_entries);
    let Blows {
        started,
        ended,
        tallies,
    } = hammer.strike(cpus, works, config.duration)?;
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
        [&fill, &calm],
        &tallies,
    ))
}

/// Can the drill be made with these CPUs and this map?
fn check(config: &DrillConfig, cpus: &[u32]) -> Result<(), DrillError> {
    let (kind, least) = (config.kind.label(), config.kind.least_cpus());
    if cpus.len() < least {
        let cpus = cpus.len();
        return Err(DrillError::TooFewCpus { kind, cpus, least });
    }
    let least = config.kind.least_entries(cpus.len());
    if u64::from(config.max_entries) < least {
        return Err(DrillError::TooSmall {
            kind,
            cpus: cpus.len(),
            least,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fight_takes_two_cpus_and_room_for_all_keys() {
        let refused = |kind, max_entries, cpus: &[u32]| {
            let config = DrillConfig {
                max_entries,
                ..DrillConfig::of(kind)
            };
            check(&config, cpus).err().map(|error| error.to_string())
        };
        let text = refused(DrillKind::HotBucket, 16, &[0]).unwrap();
        assert!(text.contains("takes 2 CPUs at least, and has 1"), "{text}");
        assert_eq!(refused(DrillKind::Full, 1, &[0]), None);
        let text = refused(DrillKind::Freelist, 767, &[0, 1, 2, 3]).unwrap();
        assert!(text.contains("takes 768 entries at least"), "{text}");
        assert_eq!(refused(DrillKind::Freelist, 768, &[0, 1, 2, 3]), None);
    }
}
