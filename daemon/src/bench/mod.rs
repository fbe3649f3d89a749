//! `mapstorm bench`: the measurements of the kernel's mailing-list threads, on maps of our own and without attaching
//! anything, unless mapstorm's own probes are to watch.
//!
//! A bench is a file of its own that drives its cases on a [stage](producers::Stage); all share one report, which two of
//! can be compared.

mod compare;
mod config;
mod dump;
mod error;
mod fill;
mod full_update;
mod htab_mem;
mod local_storage;
mod memory;
mod producers;
mod report;
mod stats;
mod text;
mod watch;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

pub use compare::{CompareError, Comparison, compare};
pub use config::{BenchConfig, BenchKind, CompareConfig, Pace, UseCase};
pub use error::BenchError;
pub use report::{Better, Case, Measure, Operations, Report, Value};

use crate::{
    build_info::BuildInfo,
    facts::{Cpus, Kernel},
    identity::MapId,
    preflight, signals,
};
use producers::Stage;
use watch::{Sight, Watch};

/// A bench under way.
struct Bench<'a> {
    /// CPUs that work.
    cpus: Vec<u32>,
    /// Entries of a table by CPU.
    possible: usize,
    stage: Stage<'a>,
    watch: Option<Watch>,
    cases: Vec<Case>,
    notes: Vec<String>,
}

impl Bench<'_> {
    /// What the probes saw of these maps so far, if there are probes.
    fn see(&mut self, maps: &[MapId]) -> Option<Sight> {
        let sight = self.watch.as_mut()?.see(maps)?;
        for loss in &sight.losses {
            self.notes
                .push(format!("not all was counted or timed: {loss}"));
        }
        Some(sight)
    }

    /// Notes what could not be done as asked; each once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Measures what the settings ask for. A signal ends it early, with what was measured so far.
///
/// # Errors
/// See [`BenchError`]; the maps are gone in any case.
pub fn run(config: &BenchConfig) -> Result<Report, BenchError> {
    let kernel = Kernel::running()?;
    let host = Cpus::read(Path::new("/sys"))?;
    let cpus = producers(config, &host)?;
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    signals::on_end(move || asked.store(true, Ordering::Relaxed)).map_err(BenchError::Signals)?;
    preflight::raise_memlock(&kernel);
    let started = humantime::format_rfc3339_millis(SystemTime::now());
    let watch = config.watch.then(Watch::start).transpose()?;
    let plan = Plan::of(&config.kind);
    let mut bench = Bench {
        cpus,
        possible: host.possible.table_len(),
        stage: Stage::new(config.pace, &stop, plan.turns()),
        watch,
        cases: Vec::new(),
        notes: Vec::new(),
    };
    plan.run(&mut bench)?;
    let Bench {
        cpus, cases, notes, ..
    } = bench;
    Ok(Report {
        bench: config.kind.label().to_owned(),
        command: command(),
        version: BuildInfo::THIS.version.to_owned(),
        kernel: kernel.release,
        possible_cpus: host.possible.len(),
        cpus,
        started: started.to_string(),
        interrupted: stop.load(Ordering::Relaxed),
        cases,
        notes,
    })
}

/// A bench, ready to be run.
enum Plan<'a> {
    Full(full_update::Plan),
    Mem(htab_mem::Plan<'a>),
    Storage(local_storage::Plan<'a>),
    Dump(dump::Plan<'a>),
}

impl<'a> Plan<'a> {
    fn of(kind: &'a BenchKind) -> Self {
        match kind {
            &BenchKind::FullUpdate { max_entries, loops } => {
                Self::Full(full_update::Plan { max_entries, loops })
            }
            BenchKind::HtabMem {
                use_cases,
                preallocated,
                max_entries,
            } => Self::Mem(htab_mem::Plan {
                use_cases,
                preallocated,
                max_entries: *max_entries,
            }),
            BenchKind::LocalStorage { keys, maps } => {
                Self::Storage(local_storage::Plan { keys, maps })
            }
            BenchKind::Dump {
                max_entries,
                entries,
                batch,
            } => Self::Dump(dump::Plan {
                max_entries: *max_entries,
                entries,
                batch: *batch,
            }),
        }
    }

    /// How often the stage is driven.
    fn turns(&self) -> usize {
        match self {
            Self::Full(plan) => plan.turns(),
            Self::Mem(plan) => plan.turns(),
            Self::Storage(plan) => plan.turns(),
            Self::Dump(plan) => plan.turns(),
        }
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        match self {
            Self::Full(plan) => plan.run(bench),
            Self::Mem(plan) => plan.run(bench),
            Self::Storage(plan) => plan.run(bench),
            Self::Dump(plan) => plan.run(bench),
        }
    }
}

/// The command line, to be repeated.
fn command() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    ["mapstorm".to_owned()]
        .into_iter()
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The CPUs that work: the first of those chosen.
fn producers(config: &BenchConfig, host: &Cpus) -> Result<Vec<u32>, BenchError> {
    let chosen = host.choose(config.cpus.as_ref())?;
    let cpus = chosen.as_slice();
    let usual = if config.kind.is_of_one() && config.cpus.is_none() {
        1
    } else {
        cpus.len()
    };
    let producers = config.producers.unwrap_or(usual);
    match cpus.get(..producers) {
        Some(cpus) => Ok(cpus.to_vec()),
        None => Err(BenchError::TooMany {
            producers,
            cpus: cpus.len(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::CpuList;

    #[test]
    fn a_bench_takes_the_cpus_it_usually_takes_or_those_it_is_told() {
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        let host = Cpus {
            possible: list("0-7"),
            online: list("0-3"),
        };
        let of = |kind: BenchKind, cpus: Option<&str>, producers| {
            let config = BenchConfig {
                kind,
                pace: Pace::default(),
                cpus: cpus.map(list),
                producers,
                watch: false,
                json: false,
            };
            super::producers(&config, &host)
        };
        let full = BenchKind::FullUpdate {
            max_entries: 1000,
            loops: 1,
        };
        let storage = BenchKind::LocalStorage {
            keys: vec![],
            maps: vec![],
        };
        assert_eq!(of(full.clone(), None, None).unwrap(), [0, 1, 2, 3]);
        assert_eq!(of(storage.clone(), None, None).unwrap(), [0]);
        assert_eq!(of(storage.clone(), None, Some(2)).unwrap(), [0, 1]);
        assert_eq!(of(storage, Some("2-3"), None).unwrap(), [2, 3]);
        let refused = of(full, Some("2-3"), Some(3)).unwrap_err().to_string();
        assert!(
            refused.contains("--producers 3") && refused.contains("2 CPUs"),
            "{refused}"
        );
    }
}
