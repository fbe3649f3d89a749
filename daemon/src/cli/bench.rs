//! The benches as clap sees them.

use std::{num::NonZeroU64, path::PathBuf, time::Duration};

use clap::value_parser;
use mapstorm_abi::workload::MAX_STORAGES;

use super::values;
use crate::{
    bench::{BenchConfig, BenchKind, CompareConfig, Pace, UseCase},
    config::Command,
    facts::CpuList,
};

/// Largest hash of a bench, entries: twice the seeds' largest.
const MAX_ENTRIES: i64 = 8_388_608;

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Exit status: 0 done, 1 failed, or worse by more than --fail-above, 64 the command line makes no sense.

Examples:
  mapstorm bench full-update --json > before.json
  mapstorm bench compare before.json after.json --fail-above 1.1
  mapstorm bench htab-mem --use-case overwrite --producers 8 --watch")]
pub(super) enum BenchCommand {
    /// Update a full preallocated hash from every CPU, and a half-full one for comparison
    FullUpdate(FullUpdateArgs),
    /// Measure operations per second and memory of a hash, preallocated and not
    HtabMem(HtabMemArgs),
    /// Look up in task local storage of 1 to 1000 maps, and in a hash for comparison
    LocalStorage(LocalStorageArgs),
    /// Read a whole hash in batches, and element by element
    Dump(DumpArgs),
    /// Compare two reports: ratio, and whether it is more than noise
    Compare(CompareArgs),
}

/// What all benches take.
#[derive(Debug, clap::Args)]
pub(super) struct PaceArgs {
    /// Work before anything is measured.
    #[arg(long, value_name = "TIME", default_value = values::time_text(Pace::default().warm_up))]
    #[arg(value_parser = humantime::parse_duration)]
    warm_up: Duration,
    /// Time that each case is measured for.
    #[arg(long, value_name = "TIME", default_value = values::time_text(Pace::default().duration))]
    #[arg(value_parser = values::some_time)]
    duration: Duration,
    /// Length of an interval: each gives one sample of mean ± standard deviation.
    #[arg(long, value_name = "TIME", default_value = values::time_text(Pace::default().interval))]
    #[arg(value_parser = values::some_time)]
    interval: Duration,
    /// CPUs to work from, as a list like 0-3,5; all that are online when not given (local-storage and dump: one).
    #[arg(long, value_name = "LIST", value_parser = values::cpus)]
    cpus: Option<CpuList>,
    /// How many of these CPUs work, one thread pinned to each.
    #[arg(long, short = 'p', value_name = "NUMBER", value_parser = value_parser!(u64).range(1..=8192))]
    producers: Option<u64>,
    /// Attach mapstorm's own probes meanwhile and show what they saw. What is measured then includes what they cost.
    #[arg(long)]
    watch: bool,
    /// Print JSON, for `bench compare` and others.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  mapstorm bench full-update --duration 10s
  mapstorm bench full-update --cpus 0-15 --max-entries 1000 --watch")]
pub(super) struct FullUpdateArgs {
    /// Size of the map, in entries.
    #[arg(long, value_name = "ENTRIES", default_value_t = 1000)]
    #[arg(value_parser = value_parser!(u32).range(2..=MAX_ENTRIES))]
    max_entries: u32,
    /// Updates that a CPU makes between two looks at the clock.
    #[arg(long, value_name = "UPDATES", default_value = "10000")]
    loops: NonZeroU64,
    #[command(flatten)]
    pace: PaceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  mapstorm bench htab-mem
  mapstorm bench htab-mem --use-case add-del-on-diff-cpu --preallocated no --producers 8")]
pub(super) struct HtabMemArgs {
    /// What the CPUs do; may be repeated, all of it when not given.
    #[arg(long, value_name = "CASE")]
    #[arg(value_parser = values::choice(&UseCase::ALL, UseCase::label))]
    use_case: Vec<UseCase>,
    /// Elements allocated when the map is made, as they come, or one after the other.
    #[arg(long, value_name = "WHEN", default_value = Allocated::Both.label())]
    #[arg(value_parser = values::choice(&Allocated::ALL, Allocated::label))]
    preallocated: Allocated,
    /// Size of the map, in entries.
    #[arg(long, value_name = "ENTRIES", default_value_t = 16_384)]
    #[arg(value_parser = value_parser!(u32).range(128..=MAX_ENTRIES))]
    max_entries: u32,
    #[command(flatten)]
    pace: PaceArgs,
}

/// Whether elements are allocated when the map is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allocated {
    Yes,
    No,
    Both,
}

impl Allocated {
    const ALL: [Self; 3] = [Self::Yes, Self::No, Self::Both];

    const fn label(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Both => "both",
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  mapstorm bench local-storage --duration 2s
  mapstorm bench local-storage --keys 1000 --maps 16,17 --watch")]
pub(super) struct LocalStorageArgs {
    /// Keys in the hash for comparison, one case each.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[arg(default_value = "10,1000,10000,100000,4194304")]
    #[arg(value_parser = value_parser!(u32).range(1..=MAX_ENTRIES))]
    keys: Vec<u32>,
    /// Maps of local storage, two cases each: in turn, and with the first one in between.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[arg(default_value = "1,10,16,17,24,32,100,1000")]
    #[arg(value_parser = value_parser!(u32).range(1..=MAX_STORAGES as i64))]
    maps: Vec<u32>,
    #[command(flatten)]
    pace: PaceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  mapstorm bench dump --duration 2s --interval 200ms
  mapstorm bench dump --entries 1,39000 --batch 1000 --watch")]
pub(super) struct DumpArgs {
    /// Size of the map, in entries.
    #[arg(long, value_name = "ENTRIES", default_value_t = 50_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=MAX_ENTRIES))]
    max_entries: u32,
    /// Elements in the map, one case each.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[arg(default_value = "1,10,200,500,1000,5000,20000,39000")]
    #[arg(value_parser = value_parser!(u32).range(1..=MAX_ENTRIES))]
    entries: Vec<u32>,
    /// Elements that one call reads at most; as many as the map has entries when not given.
    #[arg(long, value_name = "ELEMENTS", value_parser = value_parser!(u32).range(1..=MAX_ENTRIES))]
    batch: Option<u32>,
    #[command(flatten)]
    pace: PaceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 done, 1 failed, or worse by more than --fail-above, 64 the command line makes no sense.

Examples:
  mapstorm bench dump --json > before.json
  mapstorm bench compare before.json after.json --fail-above 1.25")]
pub(super) struct CompareArgs {
    /// The earlier report.
    before: PathBuf,
    /// The later report.
    after: PathBuf,
    /// Exit with 1 when a measure is worse by more than this factor, and that is no noise (Welch's t-test, p < 0.01).
    #[arg(long, value_name = "FACTOR", value_parser = values::above_one)]
    fail_above: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl From<BenchCommand> for Command {
    fn from(command: BenchCommand) -> Self {
        let (kind, pace) = match command {
            BenchCommand::FullUpdate(args) => (
                BenchKind::FullUpdate {
                    max_entries: args.max_entries,
                    loops: args.loops.get(),
                },
                args.pace,
            ),
            BenchCommand::HtabMem(args) => (
                BenchKind::HtabMem {
                    use_cases: if args.use_case.is_empty() {
                        UseCase::ALL.to_vec()
                    } else {
                        args.use_case
                    },
                    preallocated: match args.preallocated {
                        Allocated::Yes => vec![true],
                        Allocated::No => vec![false],
                        Allocated::Both => vec![true, false],
                    },
                    max_entries: args.max_entries,
                },
                args.pace,
            ),
            BenchCommand::LocalStorage(args) => (
                BenchKind::LocalStorage {
                    keys: args.keys,
                    maps: args.maps,
                },
                args.pace,
            ),
            BenchCommand::Dump(args) => (
                BenchKind::Dump {
                    max_entries: args.max_entries,
                    entries: args.entries,
                    batch: args.batch.unwrap_or(0),
                },
                args.pace,
            ),
            BenchCommand::Compare(CompareArgs {
                before,
                after,
                fail_above,
                json,
            }) => {
                return Self::Compare(CompareConfig {
                    before,
                    after,
                    fail_above,
                    json,
                });
            }
        };
        Self::Bench(BenchConfig {
            kind,
            pace: Pace {
                warm_up: pace.warm_up,
                duration: pace.duration,
                interval: pace.interval,
            },
            cpus: pace.cpus,
            producers: pace.producers.map(|producers| producers as usize),
            watch: pace.watch,
            json: pace.json,
        })
    }
}
