//! What the daemon's own process uses, made by hand.

use mapstorm::metrics::ProcessStats;

/// What the process uses.
pub(crate) fn process() -> ProcessStats {
    ProcessStats {
        cpu_seconds: Some(1.25),
        resident_bytes: Some(12_582_912),
        virtual_bytes: Some(201_326_592),
        open_fds: Some(24),
        max_fds: Some(1024),
        threads: Some(4),
    }
}
