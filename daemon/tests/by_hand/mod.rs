//! One view made by hand, for the tests of what readers are told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, SystemTime},
};

use mapstorm::{
    build_info::BuildInfo,
    facts::FreelistGeneration,
    identity::{MapType, printable_name},
    memory::Quality,
    probes::{Mechanism, ProbeStatus, Refusal},
    snapshot::{Durations, Listed, LockStats, MapStats, OpStats, PopStats, Room, Snapshot},
    storm::{Advice, Board, Evidence, FreelistUse, Kind, Moment, Severity, Storm},
    view::{Host, Phase, View},
    who::{Caller, Callers, Names, Program, ProgramType, Programs, Sample, Task},
};
use mapstorm_abi::{LockClass, Lost, Op, Outcome, bucket};

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
    let mut batch = OpStats {
        elements: 50,
        ..OpStats::default()
    };
    batch.outcomes[Outcome::Enoent as usize] = 2;
    let waits = LockStats {
        outcomes: [4, 1, 0, 0],
        durations: Some(durations(&[700, 800, 800, 3_000, 250_000_000])),
        waited_ns_by_cpu: vec![5_300, 0, 250_000_000],
    };
    MapStats {
        name: printable_name(b"fl\\o\"w\ns"),
        kind: MapType::HASH,
        max_entries: 1000,
        flags: 0,
        entries: Some(1000),
        listed: Some(Listed {
            key_size: 4,
            value_size: 8,
            memory: Some(98_304),
        }),
        ops: [(Op::Update, update), (Op::LookupBatch, batch)].into(),
        pops: Some(PopStats {
            ok: Some(1000),
            empty: 3000,
            durations: Some(durations(&[59, 60, 500])),
            alloc: None,
        }),
        locks: [(LockClass::Bucket, waits)].into(),
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
        listed: None,
        ops: [(Op::Update, OpStats::default())].into(),
        pops: None,
        locks: BTreeMap::new(),
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
        severity: Severity::Major,
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
        cpu_seconds_per_second: Some(0.25),
        peak_cpu_seconds_per_second: Some(0.75),
        fill: Some(1.0),
        freelist: FreelistUse::EveryListScanned,
        evidence: Evidence {
            text: "2 CPUs had 3000 updates a second refused".to_owned(),
            ..Evidence::default()
        },
        callers: Vec::new(),
        advice: Advice::new("raise max_entries", "it is full"),
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

/// One program, which uses [`FULL`].
fn programs() -> Programs {
    let program = Program {
        name: "ingress".to_owned(),
        kind: ProgramType(3),
        tag: [1, 2, 3, 4, 5, 6, 7, 8],
        loaded_ns: 0,
        code: Vec::new(),
        maps: vec![FULL],
    };
    Programs::new([(21, program)].into())
}

/// Three samples of [`FULL`]: two of its program, one of a process.
fn callers() -> Callers {
    let sample = Sample {
        map: FULL,
        op: Op::Update,
        outcome: Outcome::E2big,
        duration_ns: 1200,
        time_ns: 1,
        task: Task {
            process: 42,
            name: "nginx".to_owned(),
            cgroup_id: 1,
        },
        stack: vec![0xffff_ffff_8100_0005, 0xffff_ffff_c000_1010],
        cut: false,
    };
    let program = Caller::Program {
        prog_id: 21,
        prog_name: "ingress".into(),
        prog_type: ProgramType(3),
    };
    let process = Caller::Process {
        pid: 42,
        comm: "nginx".into(),
        cgroup: Some("/system.slice/nginx.service".into()),
    };
    let mut callers = Callers::default();
    for caller in [program.clone(), process, program] {
        callers.note(caller, &sample, 41);
    }
    callers
}

fn names() -> Names {
    let mut names = Names::default();
    names.insert(0xffff_ffff_8100_0005, Some("htab_map_update_elem".into()));
    names
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
        maps: [(FULL, full_map().into()), (IDLE, idle_map().into())].into(),
        cpu_pops: [(0, durations(&[59])), (2, durations(&[60, 500]))].into(),
        memory: Some(Quality::Exact),
        programs: Arc::new(programs()),
        callers: Arc::new(callers()),
        names: Arc::new(names()),
        samples_due: 4,
        misses: [("htab_update_exit", 3)].into(),
        room: Room {
            state_bytes: 8 << 10,
            counter_bytes: 1 << 20,
            timing_bytes: 992 << 10,
            slots: 2048,
            slots_used: 2,
            timings: 124,
            timings_used: 1,
            untimed_pairs: 1,
        },
        forgotten: [5, 0],
        ..Snapshot::default()
    };
    snapshot.lost[Lost::Unframed as usize] = 1;
    View {
        phase: Phase::Degraded,
        snapshot: Arc::new(snapshot),
        storms: Board {
            active: vec![storm()],
            calmed: vec![(IDLE, Kind::Full)],
            totals: [2, 0, 0, 0, 1],
            ..Board::default()
        },
        idle: BTreeSet::from([IDLE]),
        sampling: Duration::from_micros(8400),
        ..View::starting(host, probes())
    }
}
