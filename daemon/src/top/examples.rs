//! Answers of a daemon for tests: one map in a storm, one idle.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::reading::Reading;
use crate::{
    api::{
        Bucket, Caller, CallerSource, Histogram, MapDetail, ProbeList, Quantiles, Storm, StormEnd,
        StormList, User,
    },
    maps::examples,
};

/// Eight durations around a microsecond, one of them beyond measure.
pub(super) fn histogram() -> Histogram {
    let bucket = |index: u8, count| Bucket {
        index,
        le: Some(f64::exp2(f64::from(index) / 4.0 - 24.0)),
        count,
    };
    let longest = Bucket {
        index: 121,
        le: None,
        count: 1,
    };
    Histogram {
        count: 8,
        sum_seconds: 80.0,
        quantiles: Some(Quantiles {
            p50: Some(1.13e-6),
            p90: None,
            p99: None,
        }),
        buckets: vec![bucket(16, 1), bucket(17, 4), bucket(18, 2), longest],
    }
}

/// A program that calls.
pub(super) fn caller() -> Caller {
    Caller {
        source: CallerSource::Program,
        prog_id: Some(21),
        prog_name: Some("ingress".to_owned()),
        prog_type: Some("sched_cls".to_owned()),
        pid: None,
        comm: None,
        cgroup: None,
        samples: 5,
        share: 0.83,
        op: "update".to_owned(),
        outcome: "e2big".to_owned(),
        duration_ns: 1200,
        last_window: 42,
        stack: None,
    }
}

/// The storm on the full map; opened a second before the sample.
pub(super) fn storm() -> Storm {
    from_json(json!({
        "kind": "full",
        "map_id": 7,
        "map_name": "flows",
        "map_type": "hash",
        "since_window": 37,
        "opened": { "window": 38, "time": "2026-12-01T03:04:05.000Z" },
        "closed": null,
        "severity": "major",
        "evidence": "4 CPUs had 3000 updates a second refused",
        "rejects_per_second": 3000.5,
        "peak_rejects_per_second": 9000.0,
        "cpus": 4,
        "peak_cpus": 4,
        "rejects": 3000,
        "fill": 1.0,
        "freelist": "every_list_scanned",
        "callers": [caller()],
        "advice": { "action": "raise max_entries", "reason": "it is full" },
    }))
}

/// A kernel of which not all is seen.
fn probes() -> ProbeList {
    from_json(json!({
        "build": { "version": "0.1.0", "revision": "unknown", "rustversion": "1.95.0" },
        "kernel": { "release": "6.12.117", "freelist": "looks_first" },
        "phase": "degraded",
        "started": "2026-12-01T03:00:00.000Z",
        "sample_seconds": 0.25,
        "probes": [],
        "coverage": [{ "signal": "pop", "source": "program", "ratio": 0.0 }],
    }))
}

/// What a daemon of another version may answer, too: it may say more.
fn from_json<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The same, over.
pub(super) fn closed_storm() -> Storm {
    Storm {
        closed: Some(StormEnd {
            window: 40,
            time: Some("2026-12-01T03:04:06.000Z".to_owned()),
            end: "calm".to_owned(),
        }),
        ..storm()
    }
}

/// Two maps, one storm, a kernel of which not all is seen.
pub(super) fn reading() -> Reading {
    Reading {
        maps: examples::list(),
        storms: StormList {
            window: 42,
            active: vec![storm()],
            closed: Vec::new(),
            closed_total: 0,
            totals: BTreeMap::new(),
        },
        probes: probes(),
        map: None,
    }
}

/// The full map, closely.
pub(super) fn detail() -> MapDetail {
    let mut map = examples::stormy();
    map.callers = vec![caller()];
    map.users = vec![User {
        prog_id: 21,
        prog_name: "ingress".to_owned(),
        prog_type: "sched_cls".to_owned(),
        tag: "0102030405060708".to_owned(),
    }];
    MapDetail {
        window: 42,
        map,
        durations: [("update".to_owned(), histogram())].into(),
        pop_durations: Some(Histogram {
            count: 3,
            ..histogram()
        }),
        lock_durations: BTreeMap::new(),
        open_storms: vec![storm()],
    }
}
