//! From arguments to settings: the last place that knows both.

use std::time::Duration;

use super::args::{DoctorArgs, DrillArgs, LogArgs, ServeArgs, StormArgs};
use crate::{
    config::{DoctorConfig, DrillConfig, LogConfig, ServeConfig},
    storm::{FullThresholds, Thresholds},
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
            max_series: args.max_series,
            probe_memory: args.probe_memory,
        }
    }
}

impl From<StormArgs> for Thresholds {
    fn from(args: StormArgs) -> Self {
        Self {
            full: FullThresholds {
                rejects_per_second: args.full_rejects_per_second,
                fill_ratio: args.full_fill_ratio,
            },
            open_windows: args.open_windows,
            close_windows: args.close_windows,
        }
    }
}

impl From<DoctorArgs> for DoctorConfig {
    fn from(DoctorArgs { json }: DoctorArgs) -> Self {
        Self { json }
    }
}

impl From<DrillArgs> for DrillConfig {
    fn from(args: DrillArgs) -> Self {
        Self {
            duration: Duration::from_secs(args.seconds),
            cpus: args.cpus,
            max_entries: args.max_entries,
            rate: args.rate,
            via: args.via,
            json: args.json,
        }
    }
}
