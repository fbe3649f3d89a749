//! What a person asked for, in plain types: the commands and their settings, already checked.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroU64,
    path::PathBuf,
    time::Duration,
};

use crate::{
    bench::{BenchConfig, CompareConfig},
    client::{Question, Target},
    facts::CpuList,
    metrics,
    notify::NotifyConfig,
    storm::Thresholds,
};

/// What to do, and how to log meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The log.
    pub log: LogConfig,
    /// The command.
    pub command: Command,
}

/// A command of `mapstorm`.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Watch until told to stop.
    Serve(Box<ServeConfig>),
    /// Say what can be seen here, and why not the rest.
    Doctor(DoctorConfig),
    /// List maps.
    Maps(MapsConfig),
    /// Show what happens on maps, live.
    Top(TopConfig),
    /// Make a storm on purpose.
    Drill(DrillConfig),
    /// Measure what the kernel does with maps of our own.
    Bench(BenchConfig),
    /// Compare two reports of a bench.
    Compare(CompareConfig),
    /// Print this script, which completes the command line in a shell.
    Completions(String),
    /// Write these man pages.
    Man(ManConfig),
}

/// Settings of `serve`.
#[derive(Clone, Debug, PartialEq)]
pub struct ServeConfig {
    /// Addresses to listen on; at least one.
    pub listen: Vec<SocketAddr>,
    /// Length of a sample window, within [`SAMPLE_INTERVALS`](Self::SAMPLE_INTERVALS).
    pub sample_interval: Duration,
    /// Probes and signals without which it must not start, by [name](crate::plan::names).
    pub require: Vec<String>,
    /// When a storm opens and closes.
    pub thresholds: Thresholds,
    /// Where storms are kept over restarts; `None` for nowhere.
    pub state_dir: Option<PathBuf>,
    /// Who is told of storms.
    pub notify: NotifyConfig,
    /// What is published of the maps, and how much.
    pub metrics: metrics::Settings,
    /// Kernel memory for the probes' tables, bytes per possible CPU, within
    /// [`PROBE_MEMORY`](Self::PROBE_MEMORY).
    pub probe_memory: usize,
    /// Leave trampolines alone, and use what comes after them.
    pub no_trampolines: bool,
}

impl ServeConfig {
    /// Shortest and longest sample window.
    pub const SAMPLE_INTERVALS: [Duration; 2] =
        [Duration::from_millis(50), Duration::from_millis(500)];
    /// Least and most memory for the probes' tables, bytes per possible CPU.
    pub const PROBE_MEMORY: [usize; 2] = [16 << 10, 64 << 20];
    /// Port of the default address.
    pub const PORT: u16 = 10061;
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            listen: vec![(Ipv4Addr::LOCALHOST, Self::PORT).into()],
            sample_interval: Duration::from_millis(250),
            require: Vec::new(),
            thresholds: Thresholds::default(),
            state_dir: None,
            notify: NotifyConfig::default(),
            metrics: metrics::Settings::default(),
            probe_memory: 512 * 1024,
            no_trampolines: false,
        }
    }
}

/// Settings of `doctor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoctorConfig {
    /// Print JSON instead of a table.
    pub json: bool,
    /// Leave trampolines alone, as `serve` would.
    pub no_trampolines: bool,
}

/// Who is asked for maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The daemon at this address.
    Daemon(Target),
    /// The kernel of this host.
    Kernel,
}

/// Settings of `maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapsConfig {
    /// Who is asked.
    pub ask: Ask,
    /// For what.
    pub question: Question,
    /// Print JSON instead of a table.
    pub json: bool,
}

/// Settings of `top`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopConfig {
    /// The daemon that is asked.
    pub target: Target,
    /// For what, at first.
    pub question: Question,
    /// How often, within [`INTERVALS`](Self::INTERVALS).
    pub interval: Duration,
    /// What it is shown as.
    pub form: TopForm,
}

/// What `top` shows things as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopForm {
    /// A screen that keys work on.
    Screen,
    /// One screen as text.
    Text,
    /// One reading as JSON.
    Json,
}

impl TopConfig {
    /// Least and most time between two readings.
    pub const INTERVALS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(60)];
    /// That time when nothing is said.
    pub const INTERVAL: Duration = Duration::from_secs(1);
}

/// Settings of `man`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManConfig {
    /// Where pages are written to.
    pub directory: PathBuf,
    /// The pages: each one's file name and text.
    pub pages: Vec<(String, String)>,
}

/// Which storm a drill makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrillKind {
    /// A full map, hammered with keys that are not in it.
    Full,
    /// A map that allocates its elements, and no memory for any.
    Alloc,
    /// A small LRU map, into which every CPU inserts keys of its own.
    Lru,
    /// One key, updated from every CPU.
    HotBucket,
    /// Elements that some CPUs take and others give back.
    Freelist,
}

impl DrillKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::Alloc,
        Self::Lru,
        Self::HotBucket,
        Self::Freelist,
    ];

    /// The kind of storm it makes, as the label `kind` has it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Alloc => "alloc",
            Self::Lru => "lru",
            Self::HotBucket => "hot_bucket",
            Self::Freelist => "freelist",
        }
    }

    /// Does it make CPUs fight? Then one of them works alone first, so that whoever watches learns what
    /// the map's calm is.
    pub const fn is_fight(self) -> bool {
        matches!(self, Self::Lru | Self::HotBucket | Self::Freelist)
    }

    /// Size of its map when nothing is said, in entries.
    pub const fn max_entries(self) -> u32 {
        match self {
            Self::Full => 1000,
            Self::Alloc => 100_000,
            Self::Lru => 128,
            Self::HotBucket => 16,
            Self::Freelist => 65_536,
        }
    }
}

/// Settings of `drill`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillConfig {
    /// Which storm.
    pub kind: DrillKind,
    /// How long one CPU works alone first, in drills that make a fight.
    pub calm: Duration,
    /// How long to hammer.
    pub duration: Duration,
    /// CPUs to hammer from; `None` for all that are online.
    pub cpus: Option<CpuList>,
    /// Size of the map, in entries; 1 to [`MAX_ENTRIES`](Self::MAX_ENTRIES).
    pub max_entries: u32,
    /// Updates per second and CPU; `None` for as many as it takes.
    pub rate: Option<NonZeroU64>,
    /// Who updates the map.
    pub via: Via,
    /// Print JSON instead of a table.
    pub json: bool,
}

impl DrillConfig {
    /// Largest map a drill makes.
    pub const MAX_ENTRIES: u32 = 1_000_000;
}

impl DrillConfig {
    /// A drill of which nothing else is said.
    pub fn of(kind: DrillKind) -> Self {
        Self {
            kind,
            calm: Duration::from_secs(if kind.is_fight() { 2 } else { 0 }),
            duration: Duration::from_secs(10),
            cpus: None,
            max_entries: kind.max_entries(),
            rate: None,
            via: Via::Program,
            json: false,
        }
    }
}

/// Who updates the map of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A BPF program, run by `bpf_prog_test_run`.
    Program,
    /// The bpf(2) system call.
    Syscall,
}

impl Via {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Program, Self::Syscall];

    /// The word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Syscall => "syscall",
        }
    }
}

/// Settings of the log, which goes to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogConfig {
    /// The least level that is written.
    pub level: LogLevel,
    /// How a line is written.
    pub format: LogFormat,
}

/// How much matters enough to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// What failed.
    Error,
    /// What someone should look at.
    Warn,
    /// What happened.
    #[default]
    Info,
    /// Why.
    Debug,
    /// Every step, libraries' too.
    Trace,
}

impl LogLevel {
    /// All, the least talkative first.
    pub const ALL: [Self; 5] = [
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    /// The word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `key=value` pairs.
    #[default]
    Logfmt,
    /// One JSON object.
    Json,
}

impl LogFormat {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Logfmt, Self::Json];

    /// The word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Logfmt => "logfmt",
            Self::Json => "json",
        }
    }
}
