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
        "Runs of a probe that the kernel skipped: it was running on that CPU already or, of kprobes, bpf(2) or a program of their kind was.";
    EVENTS_LOST = COUNTER "mapstorm_events_lost_total" ["reason"],
        "Events that were not counted, or counted but not timed, by reason.";
    PROBE_MEMORY = GAUGE "mapstorm_probe_memory_bytes" ["table"],
        "Kernel memory of the probes' tables, all possible CPUs.";
    PROBE_SLOTS = GAUGE "mapstorm_probe_slots" ["table"],
        "Slots that each CPU has in a table, one for each pair of map and operation that runs there.";
    PROBE_SLOTS_USED = GAUGE "mapstorm_probe_slots_used" ["table"],
        "Those in use, on the CPU that uses most.";
    UNTIMED_PAIRS = GAUGE "mapstorm_untimed_pairs" [],
        "Pairs of map and operation that are counted but not timed, on one CPU at least, because others are busier.";
    MAPS_FORGOTTEN = COUNTER "mapstorm_maps_forgotten_total" ["reason"],
        "Maps that were gone and whose series have ended: after two minutes (expired), or earlier because too many others were gone (crowded).";
    CALLER_SAMPLES = COUNTER "mapstorm_caller_samples_total" ["source"],
        "Samples of calls that were refused or slow, by who made the call: a program, a process, or unknown.";
    CALLER_SAMPLES_DUE = COUNTER "mapstorm_caller_samples_due_total" [],
        "Samples of calls that were due: those taken and those lost together.";
    COVERAGE = GAUGE "mapstorm_coverage" ["signal", "source"],
        "Share of a signal that this kernel lets us see, by where operations come from: 1, 0 or a ratio. Of lock_wait, the share of what the kernel reports: never a lock's first waiter, nothing inside of batches that look up, and nothing in a guest without paravirtual locks.";
    SAMPLE_WINDOWS = COUNTER "mapstorm_sample_windows_total" [],
        "Samples taken of the kernel's counters.";
    SAMPLE_SECONDS = COUNTER "mapstorm_sample_seconds_total" [],
        "Time spent taking samples and judging them.";
    SERIES_DROPPED = COUNTER "mapstorm_series_dropped_total" [],
        "Series left out of answers to scrapes because of --metrics.max-series.";
    CPU_POP_DURATION = HISTOGRAM "mapstorm_cpu_freelist_pop_duration_seconds" ["cpu"],
        "How long pops from a map's free list took, by the CPU that popped.";
    NOTIFICATIONS = COUNTER "mapstorm_notifications_total" ["outcome"],
        "Alerts about storms to the receivers of --notify-url, by what became of each: sent, failed (it is tried again), refused (the receiver does not want it), dropped (too many waited).";
    HISTORY = COUNTER "mapstorm_history_records_total" ["outcome"],
        "States of storms for the history in --state-dir, by what became of each: written, failed (it is tried again), dropped (too many waited).";
    STORMS = COUNTER "mapstorm_storms_total" ["kind"],
        "Storms that have opened on this host.";
    MAPS_HIDDEN = GAUGE "mapstorm_maps_hidden" [],
        "Maps that --maps.include and --maps.exclude leave out; the host's own numbers have them in.";
    MAP_INFO = GAUGE "mapstorm_map_info" ["map_id", "map_name", "map_type", "flags", "key_size", "value_size"],
        "Always 1; a map on this host, or one seen by a probe, its creation flags and its sizes in bytes.";
    MAP_ENTRIES = GAUGE "mapstorm_map_entries" ["map_id", "map_name", "map_type"],
        "Elements in the map; absent where the kernel does not tell. Approximate for LRU maps, which evict before they are full.";
    MAP_MAX_ENTRIES = GAUGE "mapstorm_map_max_entries" ["map_id", "map_name", "map_type"],
        "Elements the map was created for.";
    MAP_FILL_RATIO = GAUGE "mapstorm_map_fill_ratio" ["map_id", "map_name", "map_type"],
        "Share of max_entries in use, 0 to 1; absent where the kernel does not tell. Approximate for LRU maps, which evict before they are full.";
    MAP_MEMORY = GAUGE "mapstorm_map_memory_bytes" ["map_id", "map_name", "map_type"],
        "Memory the map takes, by the kernel's own formula (memlock of fdinfo and bpftool); absent where that is not known. Where mapstorm_map_memory_estimated is 1 the kernel only estimates.";
    MEMORY_ESTIMATED = GAUGE "mapstorm_map_memory_estimated" [],
        "1 where the kernel only estimates a map's memory (5.11 to 6.3), 0 where it accounts for it; absent where nothing is known of it.";
    MAP_USER_INFO = GAUGE "mapstorm_map_user_info" ["map_id", "map_name", "map_type", "prog_id", "prog_name", "prog_type"],
        "Always 1; a BPF program that uses the map, 16 of them at most: /api/v1/maps lists all.";
    OPERATIONS = COUNTER "mapstorm_operations_total" ["map_id", "map_name", "map_type", "op", "outcome"],
        "Finished operations on the map, by operation and outcome (ok, or the errno in lower case).";
    OPERATION_DURATION = HISTOGRAM "mapstorm_operation_duration_seconds" ["map_id", "map_name", "map_type", "op"],
        "How long operations on the map took.";
    BATCH_ELEMENTS = COUNTER "mapstorm_batch_elements_total" ["map_id", "map_name", "map_type", "op"],
        "Elements that batch operations on the map handed out.";
    POPS = COUNTER "mapstorm_freelist_pops_total" ["map_id", "map_name", "map_type", "outcome"],
        "Pops from the map's free list that returned an element (ok; absent where none can be told) or found none (empty).";
    POP_DURATION = HISTOGRAM "mapstorm_freelist_pop_duration_seconds" ["map_id", "map_name", "map_type"],
        "How long pops from the map's free list took; absent where the kernel lets no one time them.";
    LOCK_WAITS = COUNTER "mapstorm_lock_waits_total" ["map_id", "map_name", "map_type", "lock", "outcome"],
        "Waits for locks inside of operations on the map, by the lock's place and how they ended: ok, or the errno of a lock that was not had. An undercount: of those who wait for a lock the kernel does not report the first.";
    LOCK_WAIT = HISTOGRAM "mapstorm_lock_wait_seconds" ["map_id", "map_name", "map_type", "lock"],
        "How long waits for locks inside of operations on the map took, by the lock's place: bucket, freelist, lru, other. An undercount, like mapstorm_lock_waits_total.";
    STORM_ACTIVE = GAUGE "mapstorm_storm_active" ["map_id", "map_name", "map_type", "kind"],
        "1 while a storm of this kind is open on the map; 0 on a map that has had one.";
    STORM_CPUS = GAUGE "mapstorm_storm_cpus" ["map_id", "map_name", "map_type", "kind"],
        "CPUs involved in the open storm, in the last window.";
    STORM_SEVERITY = GAUGE "mapstorm_storm_severity" ["map_id", "map_name", "map_type", "kind"],
        "How bad the open storm has been so far: 1 minor, 2 major, 3 critical.";
    STORM_CPU_SECONDS = GAUGE "mapstorm_storm_cpu_seconds_per_second" ["map_id", "map_name", "map_type", "kind"],
        "CPU time burnt in the open storm, in the last window: all that refused updates took, or what CPUs lost to each other; absent where no time is measured.";
    STORM_REJECTS = GAUGE "mapstorm_storm_rejects_per_second" ["map_id", "map_name", "map_type", "kind"],
        "Updates refused per second in the open storm, in the last window; of kinds that are about refusals.";
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
