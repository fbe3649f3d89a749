//! The command line as clap sees it. Defaults are those of [`crate::config`]; each flag of `serve`
//! and of the log has an environment variable, `MAPSTORM_` and its name.

use std::{net::SocketAddr, num::NonZeroU64, time::Duration};

use clap::{Parser, value_parser};

use super::values;
use crate::{
    config::{DrillConfig, LogFormat, LogLevel, ServeConfig, Via},
    facts::CpuList,
    storm::{FullThresholds, Thresholds},
};

/// Watches BPF maps on this host: how long operations on them take, whether they are full, and when
/// many CPUs fight over one.
#[derive(Debug, Parser)]
#[command(name = "mapstorm", version = values::version(), arg_required_else_help = true)]
#[command(
    subcommand_required = true,
    after_help = "\
Exit status: 0 done, 1 failed, 2 nothing can be observed, 64 the command line makes no sense.

Examples:
  mapstorm doctor                     what can be seen on this host, and why not the rest
  mapstorm serve                      watch, and serve http://127.0.0.1:10061/metrics
  mapstorm drill full --seconds 5     make a storm on purpose, to see it flagged"
)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) log: LogArgs,
    #[command(subcommand)]
    pub(super) command: Subcommand,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Log")]
pub(super) struct LogArgs {
    /// Least level that is written to standard error.
    #[arg(
        long = "log.level",
        env = "MAPSTORM_LOG_LEVEL",
        global = true,
        value_name = "LEVEL"
    )]
    #[arg(default_value = LogLevel::default().label())]
    #[arg(value_parser = values::choice(&LogLevel::ALL, LogLevel::label))]
    pub(super) level: LogLevel,
    /// How its lines are written.
    #[arg(
        long = "log.format",
        env = "MAPSTORM_LOG_FORMAT",
        global = true,
        value_name = "FORMAT"
    )]
    #[arg(default_value = LogFormat::default().label())]
    #[arg(value_parser = values::choice(&LogFormat::ALL, LogFormat::label))]
    pub(super) format: LogFormat,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Subcommand {
    /// Attach the probes, sample, and serve metrics until told to stop
    Serve(ServeArgs),
    /// Say what can be seen on this host, what cannot, why, and what to do about it
    Doctor(DoctorArgs),
    /// Make a real storm on purpose, on a map of its own
    #[command(subcommand)]
    Drill(DrillCommand),
    /// Print a script that completes this command line in a shell
    #[command(after_help = "\
Examples:
  mapstorm completions bash > /etc/bash_completion.d/mapstorm
  source <(mapstorm completions zsh)")]
    Completions {
        /// Shell to print for.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  mapstorm serve --web.listen-address '[::]:10061'
  mapstorm serve --sample-interval 100ms --storm-full-rejects-per-second 200
  MAPSTORM_LOG_FORMAT=json mapstorm serve --require pop"
)]
pub(super) struct ServeArgs {
    /// Address and port to listen on; may be given several times.
    #[arg(long = "web.listen-address", env = "MAPSTORM_WEB_LISTEN_ADDRESS")]
    #[arg(value_name = "ADDRESS:PORT", value_delimiter = ',')]
    #[arg(default_values_t = ServeConfig::default().listen)]
    pub(super) listen: Vec<SocketAddr>,
    /// Length of a sample window, 50ms to 500ms.
    #[arg(long, env = "MAPSTORM_SAMPLE_INTERVAL", value_name = "TIME")]
    #[arg(default_value = values::time_text(ServeConfig::default().sample_interval))]
    #[arg(value_parser = values::sample_interval)]
    pub(super) sample_interval: Duration,
    /// Refuse to start when this probe, or all of this signal (update, pop or maps), cannot be had;
    /// may be given several times. `mapstorm doctor` lists the names.
    #[arg(
        long,
        env = "MAPSTORM_REQUIRE",
        value_name = "PROBE",
        value_delimiter = ','
    )]
    #[arg(value_parser = values::probe(), hide_possible_values = true)]
    pub(super) require: Vec<String>,
    /// Kernel memory for the probes' tables on each possible CPU, 16KiB to 64MiB.
    #[arg(long, env = "MAPSTORM_PROBE_MEMORY", value_name = "SIZE")]
    #[arg(default_value = values::bytes_text(ServeConfig::default().probe_memory))]
    #[arg(value_parser = values::probe_memory)]
    pub(super) probe_memory: usize,
    /// Series that one answer to a scrape holds at most: idle maps lose detail first, the host's
    /// totals never.
    #[arg(
        long = "metrics.max-series",
        env = "MAPSTORM_METRICS_MAX_SERIES",
        value_name = "SERIES"
    )]
    #[arg(default_value_t = ServeConfig::default().max_series)]
    pub(super) max_series: usize,
    #[command(flatten)]
    pub(super) storm: StormArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "When a storm opens and closes")]
pub(super) struct StormArgs {
    /// Kind `full`: updates per second that one map refuses because it is full. Below half of it a
    /// window is calm.
    #[arg(long = "storm-full-rejects-per-second", value_name = "RATE")]
    #[arg(env = "MAPSTORM_STORM_FULL_REJECTS_PER_SECOND")]
    #[arg(default_value_t = FullThresholds::default().rejects_per_second)]
    #[arg(value_parser = values::rate)]
    pub(super) full_rejects_per_second: f64,
    /// Kind `full`: share of max_entries in use, above 0 to 1, where the kernel tells it.
    #[arg(long = "storm-full-fill-ratio", value_name = "RATIO")]
    #[arg(env = "MAPSTORM_STORM_FULL_FILL_RATIO")]
    #[arg(default_value_t = FullThresholds::default().fill_ratio)]
    #[arg(value_parser = values::ratio)]
    pub(super) full_fill_ratio: f64,
    /// Sample windows in a row whose evidence opens a storm.
    #[arg(
        long = "storm-open-windows",
        env = "MAPSTORM_STORM_OPEN_WINDOWS",
        value_name = "WINDOWS"
    )]
    #[arg(default_value_t = Thresholds::default().open_windows)]
    #[arg(value_parser = value_parser!(u32).range(1..=1000))]
    pub(super) open_windows: u32,
    /// Calm sample windows in a row that close one.
    #[arg(
        long = "storm-close-windows",
        env = "MAPSTORM_STORM_CLOSE_WINDOWS",
        value_name = "WINDOWS"
    )]
    #[arg(default_value_t = Thresholds::default().close_windows)]
    #[arg(value_parser = value_parser!(u32).range(1..=1000))]
    pub(super) close_windows: u32,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 something can be observed, 2 nothing can.

Examples:
  mapstorm doctor
  mapstorm doctor --json | jq '.probes[] | select(.refusal)'")]
pub(super) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  mapstorm drill full")]
pub(super) enum DrillCommand {
    /// Fill a preallocated hash map and hammer it with new keys from every CPU
    Full(DrillArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  mapstorm drill full --seconds 5
  mapstorm drill full --cpus 0-3 --via syscall
  mapstorm drill full --rate 2000 --max-entries 100000 --json"
)]
pub(super) struct DrillArgs {
    /// How long to hammer, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=86_400))]
    #[arg(default_value_t = DrillConfig::default().duration.as_secs())]
    pub(super) seconds: u64,
    /// CPUs to hammer from, as a list like 0-3,5; all that are online when not given.
    #[arg(long, value_name = "LIST", value_parser = values::cpus)]
    pub(super) cpus: Option<CpuList>,
    /// Size of the map, in entries: 1 to 1000000.
    #[arg(long, value_name = "ENTRIES", default_value_t = DrillConfig::default().max_entries)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(DrillConfig::MAX_ENTRIES)))]
    pub(super) max_entries: u32,
    /// Updates per second from each CPU; as many as it takes when not given.
    #[arg(long, value_name = "UPDATES")]
    pub(super) rate: Option<NonZeroU64>,
    /// Who updates: a BPF program, or the bpf(2) system call.
    #[arg(long, value_name = "WAY", default_value = DrillConfig::default().via.label())]
    #[arg(value_parser = values::choice(&Via::ALL, Via::label))]
    pub(super) via: Via,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}
