//! The command line as clap sees it. Defaults are those of [`crate::config`]; each flag of `serve`
//! and of the log has an environment variable, `MAPSTORM_` and its name.

use std::{net::SocketAddr, num::NonZeroU64, path::PathBuf, time::Duration};

use clap::{Parser, builder::BoolishValueParser, value_parser};

use super::{
    ask::{ManArgs, MapsArgs, TopArgs},
    bench::BenchCommand,
    values,
};
use crate::{
    client::Target,
    config::{DrillConfig, DrillKind, LogFormat, LogLevel, ServeConfig, Via},
    facts::CpuList,
    metrics::By,
    notify::NotifyConfig,
    selection::Pattern,
    storm::{ContentionThresholds, FullThresholds, SeverityThresholds, Thresholds},
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
  mapstorm top                        what happens on maps, live, by the daemon that watches
  mapstorm drill full --seconds 5     make a storm on purpose, to see it flagged
  mapstorm bench full-update          measure what a full map costs on this kernel"
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
    Serve(Box<ServeArgs>),
    /// Say what can be seen on this host, what cannot, why, and what to do about it
    Doctor(DoctorArgs),
    /// List the maps of a host, by its daemon or by the kernel
    Maps(MapsArgs),
    /// Show what happens on maps, live, by the daemon that watches them
    Top(TopArgs),
    /// Make a real storm on purpose, on a map of its own
    #[command(subcommand)]
    Drill(DrillCommand),
    /// Measure what this kernel does with maps, as the kernel's own benchmarks do
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Print a script that completes this command line in a shell
    #[command(after_help = "\
Examples:
  mapstorm completions bash > /etc/bash_completion.d/mapstorm
  source <(mapstorm completions zsh)")]
    Completions {
        /// Shell to print for.
        shell: clap_complete::Shell,
    },
    /// Write man pages, one for each command
    Man(ManArgs),
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
    /// Keep storms in this directory, so that a restart forgets none; it is made when it is not there.
    #[arg(long, env = "MAPSTORM_STATE_DIR", value_name = "DIRECTORY")]
    pub(super) state_dir: Option<PathBuf>,
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
    #[arg(default_value_t = ServeConfig::default().metrics.max_series)]
    pub(super) max_series: usize,
    /// What a map's series stand for: one map id, or all maps of a name and type, for hosts whose
    /// map ids churn. Then counters keep what maps counted that are gone, and the largest gauge
    /// counts.
    #[arg(long = "metrics.by", env = "MAPSTORM_METRICS_BY", value_name = "WHAT")]
    #[arg(default_value = By::default().label(), value_parser = values::choice(&By::ALL, By::label))]
    pub(super) by: By,
    /// Publish only maps whose whole name matches this regular expression; the host's own numbers
    /// have all maps in them.
    #[arg(
        long = "maps.include",
        env = "MAPSTORM_MAPS_INCLUDE",
        value_name = "REGEX"
    )]
    #[arg(value_parser = Pattern::new)]
    pub(super) include: Option<Pattern>,
    /// Publish no map whose whole name matches this regular expression, included or not.
    #[arg(
        long = "maps.exclude",
        env = "MAPSTORM_MAPS_EXCLUDE",
        value_name = "REGEX"
    )]
    #[arg(value_parser = Pattern::new)]
    pub(super) exclude: Option<Pattern>,
    #[command(flatten)]
    pub(super) probes: ProbeArgs,
    #[command(flatten)]
    pub(super) storm: StormArgs,
    #[command(flatten)]
    pub(super) notify: NotifyArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Who is told of storms")]
pub(super) struct NotifyArgs {
    /// Post storms to this Alertmanager, or whatever speaks its v2 API: when one opens, gets worse,
    /// while it is open, and when it closes. A URL without a path gets /api/v2/alerts; may be given
    /// several times. A password belongs into the environment variable, not on a command line.
    #[arg(
        long = "notify-url",
        env = "MAPSTORM_NOTIFY_URL",
        hide_env_values = true
    )]
    #[arg(value_name = "URL", value_delimiter = ',', value_parser = values::Url)]
    pub(super) targets: Vec<Target>,
    /// How often an open storm is posted again, 1s to 1h. Receivers take one for over when they have
    /// not heard of it for three times as long.
    #[arg(long = "notify-interval", env = "MAPSTORM_NOTIFY_INTERVAL")]
    #[arg(value_name = "TIME", value_parser = values::notify_interval)]
    #[arg(default_value = values::time_text(NotifyConfig::default().interval))]
    pub(super) interval: Duration,
}

#[derive(Debug, clap::Args)]
pub(super) struct ProbeArgs {
    /// Leave the kernel's trampolines alone, where they are not to be trusted: kprobes in pairs take
    /// their place, and what bpf(2) does to maps is not seen.
    #[arg(long, env = "MAPSTORM_NO_TRAMPOLINES")]
    #[arg(value_parser = BoolishValueParser::new())]
    pub(super) no_trampolines: bool,
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
    /// Kind `alloc`: updates per second that one map refuses for want of memory. Below half of it a
    /// window is calm.
    #[arg(long = "storm-alloc-rejects-per-second", value_name = "RATE")]
    #[arg(env = "MAPSTORM_STORM_ALLOC_REJECTS_PER_SECOND")]
    #[arg(default_value_t = Thresholds::default().alloc_rejects_per_second)]
    #[arg(value_parser = values::rate)]
    pub(super) alloc_rejects_per_second: f64,
    /// Kind `lru`: updates per second for which one LRU map finds nothing to evict. Below half of it,
    /// and where no CPUs fight, a window is calm.
    #[arg(long = "storm-lru-rejects-per-second", value_name = "RATE")]
    #[arg(env = "MAPSTORM_STORM_LRU_REJECTS_PER_SECOND")]
    #[arg(default_value_t = Thresholds::default().lru_rejects_per_second)]
    #[arg(value_parser = values::rate)]
    pub(super) lru_rejects_per_second: f64,
    /// Kinds `freelist`, `hot_bucket` and `lru`: time that CPUs lose to each other on one map, all
    /// together, as a share of one CPU. Below half of it a window is calm.
    #[arg(long = "storm-contention-cpu-ratio", value_name = "RATIO")]
    #[arg(env = "MAPSTORM_STORM_CONTENTION_CPU_RATIO")]
    #[arg(default_value_t = ContentionThresholds::default().cpu_ratio)]
    #[arg(value_parser = values::rate)]
    pub(super) contention_cpu_ratio: f64,
    /// The same kinds: CPUs that must lose some of it.
    #[arg(long = "storm-contention-cpus", value_name = "CPUS")]
    #[arg(env = "MAPSTORM_STORM_CONTENTION_CPUS")]
    #[arg(default_value_t = ContentionThresholds::default().cpus)]
    #[arg(value_parser = value_parser!(u32).range(2..=10_000))]
    pub(super) contention_cpus: u32,
    /// The same kinds: share of a map's operations that must wait for its locks, before time waited is
    /// time lost. Where CPUs are virtual, a few operations wait long for a lock whose holder's CPU was
    /// taken away.
    #[arg(long = "storm-contention-waits-ratio", value_name = "RATIO")]
    #[arg(env = "MAPSTORM_STORM_CONTENTION_WAITS_RATIO")]
    #[arg(default_value_t = ContentionThresholds::default().waits_ratio)]
    #[arg(value_parser = values::ratio)]
    pub(super) contention_waits_ratio: f64,
    /// The same kinds: mean wait above which time waited is not lost to others, but to a holder whose
    /// CPU was taken away.
    #[arg(long = "storm-contention-mean-wait", value_name = "TIME")]
    #[arg(env = "MAPSTORM_STORM_CONTENTION_MEAN_WAIT")]
    #[arg(default_value = values::time_text(ContentionThresholds::default().mean_wait))]
    #[arg(value_parser = humantime::parse_duration)]
    pub(super) contention_mean_wait: Duration,
    /// The same kinds: how many times its median in calm an operation's median must be, before what
    /// is above is time lost.
    #[arg(long = "storm-latency-shift", value_name = "TIMES")]
    #[arg(env = "MAPSTORM_STORM_LATENCY_SHIFT")]
    #[arg(default_value_t = ContentionThresholds::default().latency_shift)]
    #[arg(value_parser = values::above_one)]
    pub(super) latency_shift: f64,
    /// The same kinds: how many times its map's median in calm the median of one CPU's operations must be,
    /// before that CPU counts as starved by others, whose operations need not be longer at all.
    #[arg(long = "storm-starved-shift", value_name = "TIMES")]
    #[arg(env = "MAPSTORM_STORM_STARVED_SHIFT")]
    #[arg(default_value_t = ContentionThresholds::default().starved_shift)]
    #[arg(value_parser = values::above_one)]
    pub(super) starved_shift: f64,
    /// The same kinds: what stands in for the median in calm of an operation that was never seen calm.
    #[arg(long = "storm-calm-latency", value_name = "TIME")]
    #[arg(env = "MAPSTORM_STORM_CALM_LATENCY")]
    #[arg(default_value = values::time_text(ContentionThresholds::default().calm_latency))]
    #[arg(value_parser = humantime::parse_duration)]
    pub(super) calm_latency: Duration,
    /// CPUs that make a storm major.
    #[arg(long = "storm-major-cpus", value_name = "CPUS")]
    #[arg(env = "MAPSTORM_STORM_MAJOR_CPUS")]
    #[arg(default_value_t = SeverityThresholds::default().major.cpus)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000))]
    pub(super) major_cpus: u32,
    /// CPU time burnt, seconds per second, that makes a storm major.
    #[arg(long = "storm-major-cpu-seconds", value_name = "SECONDS")]
    #[arg(env = "MAPSTORM_STORM_MAJOR_CPU_SECONDS")]
    #[arg(default_value_t = SeverityThresholds::default().major.cpu_seconds_per_second)]
    #[arg(value_parser = values::rate)]
    pub(super) major_cpu_seconds: f64,
    /// CPUs that make a storm critical.
    #[arg(long = "storm-critical-cpus", value_name = "CPUS")]
    #[arg(env = "MAPSTORM_STORM_CRITICAL_CPUS")]
    #[arg(default_value_t = SeverityThresholds::default().critical.cpus)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000))]
    pub(super) critical_cpus: u32,
    /// CPU time burnt, seconds per second, that makes a storm critical.
    #[arg(long = "storm-critical-cpu-seconds", value_name = "SECONDS")]
    #[arg(env = "MAPSTORM_STORM_CRITICAL_CPU_SECONDS")]
    #[arg(default_value_t = SeverityThresholds::default().critical.cpu_seconds_per_second)]
    #[arg(value_parser = values::rate)]
    pub(super) critical_cpu_seconds: f64,
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
    #[command(flatten)]
    pub(super) probes: ProbeArgs,
}

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  mapstorm drill full
  mapstorm drill hot-bucket --seconds 30 --json")]
pub(super) enum DrillCommand {
    /// Fill a preallocated hash map and hammer it with new keys from every CPU (1000 entries)
    Full(DrillArgs),
    /// Insert into a map that allocates its elements, in a cgroup that has no memory for them (100000
    /// entries; root, cgroup2 and Linux 5.11)
    Alloc(DrillArgs),
    /// Insert keys of its own from every CPU into a small LRU map (128 entries)
    Lru(FightArgs),
    /// Update one key from every CPU (16 entries of 16 KiB)
    HotBucket(FightArgs),
    /// Insert on some CPUs and delete on others, so that all reach for one free list (65536 entries)
    Freelist(FightArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  mapstorm drill hot-bucket --seconds 5 --calm-seconds 3
  mapstorm drill lru --cpus 0-3 --via syscall --json"
)]
pub(super) struct FightArgs {
    /// How long one CPU works alone first, in seconds, so that whoever watches learns the map's calm.
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(0..=86_400))]
    #[arg(default_value_t = DrillConfig::of(DrillKind::HotBucket).calm.as_secs())]
    pub(super) calm_seconds: u64,
    #[command(flatten)]
    pub(super) drill: DrillArgs,
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
    #[arg(default_value_t = DrillConfig::of(DrillKind::Full).duration.as_secs())]
    pub(super) seconds: u64,
    /// CPUs to hammer from, as a list like 0-3,5; all that are online when not given.
    #[arg(long, value_name = "LIST", value_parser = values::cpus)]
    pub(super) cpus: Option<CpuList>,
    /// Size of the map, in entries: 1 to 1000000; the drill's own when not given.
    #[arg(long, value_name = "ENTRIES")]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(DrillConfig::MAX_ENTRIES)))]
    pub(super) max_entries: Option<u32>,
    /// Updates per second from each CPU; as many as it takes when not given.
    #[arg(long, value_name = "UPDATES")]
    pub(super) rate: Option<NonZeroU64>,
    /// Who updates: a BPF program, or the bpf(2) system call.
    #[arg(long, value_name = "WAY", default_value = DrillConfig::of(DrillKind::Full).via.label())]
    #[arg(value_parser = values::choice(&Via::ALL, Via::label))]
    pub(super) via: Via,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}
