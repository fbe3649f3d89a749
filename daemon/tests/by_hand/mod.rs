//! One view made by hand, for the tests of what readers are told.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

use mapstorm::{
    build_info::BuildInfo,
    facts::FreelistGeneration,
    identity::{MapType, printable_name},
    metrics::ProcessStats,
    probes::{Mechanism, ProbeStatus, Refusal},
    snapshot::{Durations, MapStats, OpStats, PopStats, Snapshot},
    storm::{Advice, Board, FreelistUse, Kind, Moment, Storm},
    view::{Host, Phase, View},
};
use mapstorm_abi::{Lost, Outcome, bucket};

/// Id of a full map with an awkward name, and of an idle one.
pub(crate) const FULL: u32 = 7;
pub(crate) const IDLE: u32 = 12;

fn durations(ns: &[u64]) -> Durations {
    let mut durations = Durations::default();
    for &ns in ns {
        durations.buckets[bucket::index(ns)] += 1;
        durations.sum_ns += ns;
    }
    durations
}

fn full_map() -> MapStats {
    let mut update = OpStats {
        durations: Some(durations(&[900, 1_100, 1_200_000, 70_000_000_000])),
        exhausted_by_cpu: vec![1500, 0, 1500],
        ..OpStats::default()
    };
    update.outcomes[Outcome::Ok as usize] = 1000;
    update.outcomes[Outcome::E2big as usize] = 3000;
    MapStats {
        name: printable_name(b"fl\\o\"w\ns"),
        kind: MapType::HASH,
        max_entries: 1000,
        flags: 0,
        entries: Some(1000),
        update: Some(update),
        pops: Some(PopStats {
            ok: Some(1000),
            empty: 3000,
            durations: Some(durations(&[59, 60, 500])),
            alloc: None,
        }),
    }
}

/// A map that nobody updates.
pub(crate) fn idle_map() -> MapStats {
    MapStats {
        name: "idle".to_owned(),
        kind: MapType::LRU_PERCPU_HASH,
        max_entries: 64,
        flags: 2,
        entries: None,
        update: Some(OpStats::default()),
        pops: None,
    }
}

/// The storm on [`FULL`].
pub(crate) fn storm() -> Storm {
    let moment = |window| Moment {
        window,
        time: Some(SystemTime::UNIX_EPOCH),
    };
    Storm {
        kind: Kind::Full,
        map_id: FULL,
        map_name: full_map().name,
        map_type: MapType::HASH,
        since_window: 40,
        opened: moment(41),
        closed: None,
        rejects_per_second: 3000.5,
        peak_rejects_per_second: 9000.0,
        cpus: 2,
        peak_cpus: 3,
        rejects: 3000,
        fill: Some(1.0),
        freelist: FreelistUse::EveryListScanned,
        advice: Advice {
            action: "raise max_entries",
            reason: "it is full",
        },
    }
}

fn probes() -> Arc<[ProbeStatus]> {
    let probe = |probe, hook: &str, refusal| ProbeStatus {
        probe,
        signal: "update",
        hook: hook.to_owned(),
        mechanism: Mechanism::Fexit,
        refusal,
    };
    let refusal = Refusal {
        reason: "notrace",
        detail: String::new(),
        remedy: String::new(),
    };
    Arc::new([
        probe("htab_update_exit", "htab_map_update_elem", None),
        probe("pop_exit", "__pcpu_freelist_pop", Some(refusal)),
    ])
}

/// A degraded host in its 42nd window: one map in a storm, one idle that has had one.
pub(crate) fn view() -> View {
    let host = Host {
        build: BuildInfo {
            version: "0.1.0",
            revision: "0af73e0",
            rustversion: "1.95.0",
        },
        kernel_release: "6.12.117+deb12-cloud-amd64".to_owned(),
        freelist: FreelistGeneration::LooksFirst,
        started: SystemTime::UNIX_EPOCH + Duration::from_millis(1_750_000_000_250),
        sample_interval: Duration::from_millis(250),
    };
    let mut snapshot = Snapshot {
        window: 42,
        taken: Some(SystemTime::UNIX_EPOCH),
        elapsed: Duration::from_millis(250),
        maps: [(FULL, full_map()), (IDLE, idle_map())].into(),
        cpu_pops: [(0, durations(&[59])), (2, durations(&[60, 500]))].into(),
        misses: [("htab_update_exit", 3)].into(),
        ..Snapshot::default()
    };
    snapshot.lost[Lost::Unframed as usize] = 1;
    View {
        phase: Phase::Degraded,
        snapshot: Arc::new(snapshot),
        storms: Board {
            active: vec![storm()],
            calmed: vec![(IDLE, Kind::Full)],
            totals: [2],
            ..Board::default()
        },
        idle: BTreeSet::from([IDLE]),
        sampling: Duration::from_micros(8400),
        ..View::starting(host, probes())
    }
}

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
