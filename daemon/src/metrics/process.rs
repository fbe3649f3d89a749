//! `process_*`: what this process costs, from `/proc/self` at each scrape. Each figure is absent
//! when it cannot be read: a sandbox may hide any of them.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use nix::time::{ClockId, clock_gettime};

use super::{
    family::{self, Family},
    row::Row,
};

/// What this process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessStats {
    /// User and system CPU time, seconds.
    pub cpu_seconds: Option<f64>,
    /// Resident memory, bytes.
    pub resident_bytes: Option<u64>,
    /// Virtual memory, bytes.
    pub virtual_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_fds: Option<u64>,
    /// The limit on them; `None` also where there is none.
    pub max_fds: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
}

impl ProcessStats {
    /// Reads them now.
    pub fn read() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let kib = |key| field(&status, key).map(|n| n * 1024);
        let clock = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok();
        let fds = fs::read_dir("/proc/self/fd").ok();
        Self {
            cpu_seconds: clock.map(|t| t.tv_sec() as f64 + t.tv_nsec() as f64 / 1e9),
            resident_bytes: kib("VmRSS:"),
            virtual_bytes: kib("VmSize:"),
            // The listing's own descriptor is in the list.
            open_fds: fds.map(|fds| (fds.count() as u64).saturating_sub(1)),
            max_fds: field(&limits, "Max open files"),
            threads: field(&status, "Threads:"),
        }
    }
}

/// The first number after `key` at the start of a line.
fn field(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

pub(super) fn rows(stats: &ProcessStats, started: SystemTime) -> Vec<Row> {
    let count = |family: &'static Family, n: Option<u64>| n.map(|n| Row::count(family, &[], n));
    let start = started.duration_since(UNIX_EPOCH).ok();
    let rows = [
        stats
            .cpu_seconds
            .map(|s| Row::number(&family::PROCESS_CPU, &[], s)),
        count(&family::PROCESS_RESIDENT, stats.resident_bytes),
        count(&family::PROCESS_VIRTUAL, stats.virtual_bytes),
        count(&family::PROCESS_OPEN_FDS, stats.open_fds),
        count(&family::PROCESS_MAX_FDS, stats.max_fds),
        count(&family::PROCESS_THREADS, stats.threads),
        start.map(|s| Row::number(&family::PROCESS_START, &[], s.as_secs_f64())),
    ];
    rows.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_read() {
        let stats = ProcessStats::read();
        assert!(stats.cpu_seconds.is_some_and(|s| s > 0.0 && s < 3600.0));
        assert!(stats.resident_bytes.is_some_and(|n| n > 4096));
        assert!(stats.virtual_bytes >= stats.resident_bytes);
        assert!(stats.open_fds.is_some_and(|n| (3..10_000).contains(&n)));
        assert!(stats.threads.is_some_and(|n| n >= 2));
    }

    #[test]
    fn a_field_that_is_not_a_number_is_absent() {
        assert_eq!(
            field(
                "Max open files            unlimited            unlimited\n",
                "Max open files"
            ),
            None
        );
        assert_eq!(field("Threads:\t7\n", "Threads:"), Some(7));
        assert_eq!(field("", "Threads:"), None);
    }
}
