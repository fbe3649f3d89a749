//! From arguments to settings: the last place that knows both.

use std::time::Duration;

use super::args::{DoctorArgs, DrillCommand, LogArgs, NotifyArgs, ServeArgs, StormArgs};
use crate::{
    config::{DoctorConfig, DrillConfig, DrillKind, LogConfig, ServeConfig},
    metrics,
    notify::NotifyConfig,
    selection::Selection,
    storm::{ContentionThresholds, FullThresholds, Scale, SeverityThresholds, Thresholds},
};

impl From<LogArgs> for LogConfig {
    fn from(LogArgs { level, format }: LogArgs) -> Self {
        Self { level, format }
    }
}

impl From<ServeArgs> for ServeConfig {
    fn from(args: ServeArgs) -> Self {
        Self {
            listen: args.listen,
            sample_interval: args.sample_interval,
            require: args.require,
            thresholds: args.storm.into(),
            state_dir: args.state_dir,
            notify: args.notify.into(),
            metrics: metrics::Settings {
                max_series: args.max_series,
                by: args.by,
                maps: Selection {
                    include: args.include,
                    exclude: args.exclude,
                },
            },
            probe_memory: args.probe_memory,
            no_trampolines: args.probes.no_trampolines,
        }
    }
}

impl From<NotifyArgs> for NotifyConfig {
    fn from(NotifyArgs { targets, interval }: NotifyArgs) -> Self {
        Self { targets, interval }
    }
}

impl From<StormArgs> for Thresholds {
    fn from(args: StormArgs) -> Self {
        Self {
            full: FullThresholds {
                rejects_per_second: args.full_rejects_per_second,
                fill_ratio: args.full_fill_ratio,
            },
            alloc_rejects_per_second: args.alloc_rejects_per_second,
            lru_rejects_per_second: args.lru_rejects_per_second,
            contention: ContentionThresholds {
                cpu_ratio: args.contention_cpu_ratio,
                cpus: args.contention_cpus,
                waits_ratio: args.contention_waits_ratio,
                mean_wait: args.contention_mean_wait,
                latency_shift: args.latency_shift,
                starved_shift: args.starved_shift,
                calm_latency: args.calm_latency,
            },
            severity: SeverityThresholds {
                major: Scale {
                    cpus: args.major_cpus,
                    cpu_seconds_per_second: args.major_cpu_seconds,
                },
                critical: Scale {
                    cpus: args.critical_cpus,
                    cpu_seconds_per_second: args.critical_cpu_seconds,
                },
            },
            open_windows: args.open_windows,
            close_windows: args.close_windows,
        }
    }
}

impl From<DoctorArgs> for DoctorConfig {
    fn from(DoctorArgs { json, probes }: DoctorArgs) -> Self {
        Self {
            json,
            no_trampolines: probes.no_trampolines,
        }
    }
}

impl From<DrillCommand> for DrillConfig {
    fn from(command: DrillCommand) -> Self {
        let (kind, calm_seconds, args) = match command {
            DrillCommand::Full(args) => (DrillKind::Full, 0, args),
            DrillCommand::Alloc(args) => (DrillKind::Alloc, 0, args),
            DrillCommand::Lru(args) => (DrillKind::Lru, args.calm_seconds, args.drill),
            DrillCommand::HotBucket(args) => (DrillKind::HotBucket, args.calm_seconds, args.drill),
            DrillCommand::Freelist(args) => (DrillKind::Freelist, args.calm_seconds, args.drill),
        };
        Self {
            kind,
            calm: Duration::from_secs(calm_seconds),
            duration: Duration::from_secs(args.seconds),
            cpus: args.cpus,
            max_entries: args.max_entries.unwrap_or(kind.max_entries()),
            rate: args.rate,
            via: args.via,
            json: args.json,
        }
    }
}
