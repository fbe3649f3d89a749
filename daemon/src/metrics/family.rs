//! The metrics this program promises: name, type, labels and help of each, stated once.

use std::collections::HashMap;

use prometheus::{core::Desc, proto::MetricType};

/// One metric family.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: MetricType,
    /// Names of the labels, in the order of a row's values.
    pub(super) labels: &'static [&'static str],
}

impl Family {
    pub(super) fn desc(&self) -> prometheus::Result<Desc> {
        let labels = self.labels.iter().map(|&label| label.to_owned()).collect();
        Desc::new(
            self.name.to_owned(),
            self.help.to_owned(),
            labels,
            HashMap::new(),
        )
    }
}

/// Declares families, and the list of them all.
macro_rules! families {
    ($($id:ident = $kind:ident $name:literal $labels:expr, $help:literal;)*) => {
        $(pub(super) static $id: Family = Family {
            name: $name,
            help: $help,
            kind: MetricType::$kind,
            labels: &$labels,
        };)*
        pub(super) static ALL: &[&Family] = &[$(&$id),*];
    };
}

families! {
    BUILD_INFO = GAUGE "mapstorm_build_info" ["version", "revision", "rustversion"],
        "Always 1; which build of mapstorm this is.";
    KERNEL_INFO = GAUGE "mapstorm_kernel_info" ["release", "freelist"],
        "Always 1; the running kernel, and whether its pops on a full map lock every free list or look first.";
    PROBE_ATTACHED = GAUGE "mapstorm_probe_attached" ["probe", "hook", "mechanism"],
        "1 while the probe is attached, else 0.";
    PROBE_UNAVAILABLE = GAUGE "mapstorm_probe_unavailable" ["probe", "reason"],
        "Always 1; a probe of the plan that could not be attached, and why.";
    PROBE_MISSES = COUNTER "mapstorm_probe_misses_total" ["probe"],
        "Runs of a probe that the kernel skipped because it was running on that CPU already.";
    EVENTS_LOST = COUNTER "mapstorm_events_lost_total" ["reason"],
        "Events that were not counted, or counted but not timed, by reason.";
    COVERAGE = GAUGE "mapstorm_coverage" ["signal", "source"],
        "Share of a signal that this kernel lets us see, by where operations come from: 1, 0 or a ratio.";
    SAMPLE_WINDOWS = COUNTER "mapstorm_sample_windows_total" [],
        "Samples taken of the kernel's counters.";
    SAMPLE_SECONDS = COUNTER "mapstorm_sample_seconds_total" [],
        "Time spent taking samples and judging them.";
    SERIES_DROPPED = COUNTER "mapstorm_series_dropped_total" [],
        "Series left out of answers to scrapes because of --metrics.max-series.";
    CPU_POP_DURATION = HISTOGRAM "mapstorm_cpu_freelist_pop_duration_seconds" ["cpu"],
        "How long pops from a map's free list took, by the CPU that popped.";
    STORMS = COUNTER "mapstorm_storms_total" ["kind"],
        "Storms that have opened on this host.";
    MAP_INFO = GAUGE "mapstorm_map_info" ["map_id", "map_name", "map_type", "flags"],
        "Always 1; a map on this host, or one seen by a probe, and its creation flags.";
    MAP_ENTRIES = GAUGE "mapstorm_map_entries" ["map_id", "map_name", "map_type"],
        "Elements in the map; absent where the kernel does not tell.";
    MAP_MAX_ENTRIES = GAUGE "mapstorm_map_max_entries" ["map_id", "map_name", "map_type"],
        "Elements the map was created for.";
    MAP_FILL_RATIO = GAUGE "mapstorm_map_fill_ratio" ["map_id", "map_name", "map_type"],
        "Share of max_entries in use, 0 to 1; absent where the kernel does not tell.";
    OPERATIONS = COUNTER "mapstorm_operations_total" ["map_id", "map_name", "map_type", "op", "outcome"],
        "Finished operations on the map, by operation and outcome (ok, or the errno in lower case).";
    OPERATION_DURATION = HISTOGRAM "mapstorm_operation_duration_seconds" ["map_id", "map_name", "map_type", "op"],
        "How long operations on the map took.";
    POPS = COUNTER "mapstorm_freelist_pops_total" ["map_id", "map_name", "map_type", "outcome"],
        "Pops from the map's free list that returned an element (ok; absent where none can be told) or found none (empty).";
    POP_DURATION = HISTOGRAM "mapstorm_freelist_pop_duration_seconds" ["map_id", "map_name", "map_type"],
        "How long pops from the map's free list took; absent where the kernel lets no one time them.";
    STORM_ACTIVE = GAUGE "mapstorm_storm_active" ["map_id", "map_name", "map_type", "kind"],
        "1 while a storm of this kind is open on the map; 0 on a map that has had one.";
    STORM_CPUS = GAUGE "mapstorm_storm_cpus" ["map_id", "map_name", "map_type", "kind"],
        "CPUs involved in the open storm, in the last window.";
    STORM_REJECTS = GAUGE "mapstorm_storm_rejects_per_second" ["map_id", "map_name", "map_type", "kind"],
        "Updates refused per second in the open storm, in the last window.";
    PROCESS_CPU = COUNTER "process_cpu_seconds_total" [],
        "User and system CPU time spent by this process.";
    PROCESS_RESIDENT = GAUGE "process_resident_memory_bytes" [],
        "Resident memory of this process.";
    PROCESS_VIRTUAL = GAUGE "process_virtual_memory_bytes" [],
        "Virtual memory of this process.";
    PROCESS_OPEN_FDS = GAUGE "process_open_fds" [],
        "Open file descriptors of this process.";
    PROCESS_MAX_FDS = GAUGE "process_max_fds" [],
        "File descriptors this process may open.";
    PROCESS_THREADS = GAUGE "process_threads" [],
        "Threads of this process.";
    PROCESS_START = GAUGE "process_start_time_seconds" [],
        "When this process started, in seconds since the epoch.";
}
