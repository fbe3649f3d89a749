//! What a person asked for, in plain types: the commands and their settings, already checked.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroU64,
    time::Duration,
};

use crate::{facts::CpuList, metrics, storm::Thresholds};

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
    Serve(ServeConfig),
    /// Say what can be seen here, and why not the rest.
    Doctor(DoctorConfig),
    /// Make a storm of kind `full` on purpose.
    DrillFull(DrillConfig),
    /// Print this script, which completes the command line in a shell.
    Completions(String),
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
    /// Series that one answer to a scrape holds at most.
    pub max_series: usize,
    /// Kernel memory for the probes' tables, bytes per possible CPU, within
    /// [`PROBE_MEMORY`](Self::PROBE_MEMORY).
    pub probe_memory: usize,
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
            max_series: metrics::MAX_SERIES,
            probe_memory: 512 * 1024,
        }
    }
}

/// Settings of `doctor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoctorConfig {
    /// Print JSON instead of a table.
    pub json: bool,
}

/// Settings of `drill full`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillConfig {
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

impl Default for DrillConfig {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(10),
            cpus: None,
            max_entries: 1000,
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
