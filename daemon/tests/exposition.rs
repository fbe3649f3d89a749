//! What a scrape says, to the letter: one view made by hand against `golden/exposition.txt`.
//!
//! After a change on purpose: `UPDATE_GOLDEN=1 cargo test -p mapstorm --test exposition`, and read
//! the difference.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_hand;
mod text_format;
mod usage;

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use by_hand::{FULL, IDLE, idle_map, storm, view};
use mapstorm::{
    identity::printable_name,
    metrics::{By, Exposition, MAX_SERIES, Settings},
    probes::ProbeStatus,
    selection::{Pattern, Selection},
    snapshot::{Durations, OpStats, Snapshot},
    storm::{Board, Closed, End, Kind, Moment},
    view::View,
};
use mapstorm_abi::{
    Lost, Op, Outcome,
    bucket::{BOUNDS, BOUNDS_NS},
};
use usage::process;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/exposition.txt");

fn scrape(view: View, max_series: usize) -> String {
    let (_sender, views) = tokio::sync::watch::channel(Arc::new(view));
    let settings = Settings {
        max_series,
        ..Settings::default()
    };
    let exposition = Exposition::new(views, settings, process).unwrap();
    exposition.render().unwrap()
}

fn scrape_as(view: View, settings: Settings) -> BTreeMap<String, text_format::Family> {
    let (_sender, views) = tokio::sync::watch::channel(Arc::new(view));
    let exposition = Exposition::new(views, settings, process).unwrap();
    text_format::parse(&exposition.render().unwrap()).unwrap()
}

#[test]
fn a_scrape_is_the_golden_file_to_the_letter() {
    let text = scrape(view(), MAX_SERIES);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &text).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap();
    for (line, (is, was)) in (1..).zip(text.lines().zip(golden.lines())) {
        assert_eq!(is, was, "line {line} of the golden file");
    }
    assert_eq!(text.len(), golden.len(), "one is longer");
}

#[test]
fn any_scraper_can_read_it_and_labels_come_back_as_they_went() {
    let families = text_format::parse(&scrape(view(), MAX_SERIES)).unwrap();
    let info = &families["mapstorm_map_info"].samples;
    let name = &info[1].labels["map_name"];
    assert_eq!(name, r#"fl\x5co"w\x0as"#);
    assert_eq!(*name, printable_name(b"fl\\o\"w\ns"));
    let lost = &families["mapstorm_events_lost_total"].samples;
    assert_eq!(lost.len(), Lost::COUNT);
}

#[test]
fn nothing_is_published_that_was_not_measured() {
    let families = text_format::parse(&scrape(view(), MAX_SERIES)).unwrap();
    for family in ["fill_ratio", "entries"].map(|name| &families[&format!("mapstorm_map_{name}")]) {
        let [sample] = &family.samples[..] else {
            panic!("{family:?}");
        };
        assert_eq!(sample.labels["map_id"], FULL.to_string());
    }
    let mut untimed = view();
    let mut snapshot = Snapshot::clone(&untimed.snapshot);
    let pops = snapshot
        .maps
        .get_mut(&FULL)
        .and_then(|map| Arc::make_mut(map).pops.as_mut());
    let pops = pops.unwrap();
    pops.alloc = pops.durations.take();
    snapshot.cpu_pops.clear();
    untimed.snapshot = Arc::new(snapshot);
    let families = text_format::parse(&scrape(untimed, MAX_SERIES)).unwrap();
    assert!(!families.contains_key("mapstorm_freelist_pop_duration_seconds"));
    assert!(!families.contains_key("mapstorm_cpu_freelist_pop_duration_seconds"));
    let mut alloc = families["mapstorm_operation_duration_seconds"]
        .samples
        .iter();
    assert!(alloc.any(|sample| sample.labels["op"] == "alloc"));
}

#[test]
fn a_host_that_has_seen_nothing_says_its_zeros() {
    let blank = View {
        snapshot: Arc::default(),
        storms: Board::default(),
        ..view()
    };
    let families = text_format::parse(&scrape(blank, MAX_SERIES)).unwrap();
    let storms = &families["mapstorm_storms_total"].samples;
    assert_eq!(storms.len(), Kind::COUNT, "every kind that can be seen");
    assert!(storms.iter().all(|storm| storm.value == 0.0));
    assert!(!families.contains_key("mapstorm_operations_total"));
}

#[test]
fn a_kind_of_storm_that_cannot_be_seen_has_coverage_zero_and_no_total() {
    let mut blind = view();
    let waits = |mut probe: ProbeStatus| {
        probe.signal = "lock_wait";
        probe
    };
    blind.probes = blind.probes.iter().cloned().map(waits).collect();
    let families = text_format::parse(&scrape(blind, MAX_SERIES)).unwrap();
    let kinds = families["mapstorm_storms_total"].samples.iter();
    let kinds: Vec<_> = kinds.map(|sample| &*sample.labels["kind"]).collect();
    assert_eq!(kinds, ["freelist", "hot_bucket", "lru"]);
    let mut coverage = families["mapstorm_coverage"].samples.iter();
    let full = coverage.find(|sample| sample.labels["signal"] == "storm_full");
    assert_eq!(full.map(|sample| sample.value), Some(0.0));
}

#[test]
fn the_limit_counts_every_line_and_spares_the_host() {
    let lines = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    let (whole, blank) = (
        scrape(view(), MAX_SERIES),
        View {
            snapshot: Arc::default(),
            ..view()
        },
    );
    let all = lines(&whole);
    let families = text_format::parse(&scrape(view(), all - 1)).unwrap();
    let operations = &families["mapstorm_operations_total"].samples;
    assert!(
        operations
            .iter()
            .all(|s| s.labels["map_id"] == FULL.to_string()),
        "the idle one goes"
    );
    assert_eq!(
        families["mapstorm_series_dropped_total"].samples[0].value,
        9.0
    );
    for limit in [all, all - 1, all * 2 / 3] {
        let text = scrape(view(), limit);
        let dropped =
            text_format::parse(&text).unwrap()["mapstorm_series_dropped_total"].samples[0].value;
        assert!(lines(&text) <= limit);
        assert_eq!(lines(&text) + dropped as usize, all);
    }
    let least = scrape(view(), 0);
    assert!(lines(&least) >= lines(&scrape(blank, 0)), "host rows stay");
    assert!(!least.contains("map_id"));
}

#[test]
fn o07_fifty_maps_of_one_name_are_fifty_series() {
    let mut many = view();
    let mut snapshot = Snapshot::clone(&many.snapshot);
    snapshot.maps = (1..=50).map(|id| (id, Arc::new(idle_map()))).collect();
    many.snapshot = Arc::new(snapshot);
    let families = text_format::parse(&scrape(many, MAX_SERIES)).unwrap();
    assert_eq!(families["mapstorm_map_info"].samples.len(), 50);
}

/// Every operation in every bucket, each a different number of times.
#[test]
fn o25_every_operation_adds_up_over_all_buckets() {
    let mut all = view();
    let mut snapshot = Snapshot::clone(&all.snapshot);
    let mut map = idle_map();
    let mut truth = BTreeMap::new();
    for op in Op::ALL {
        let mut stats = OpStats::default();
        let mut durations = Durations::default();
        let (mut count, mut sum_ns) = (0, 0);
        for (at, events) in durations.buckets.iter_mut().enumerate() {
            // Above the last bound there is none to take the duration from.
            let ns = BOUNDS_NS[..BOUNDS].get(at).unwrap_or(&100_000_000_000);
            *events = (at + op as usize) as u64;
            (count, sum_ns) = (count + *events, sum_ns + *events * ns);
        }
        durations.sum_ns = sum_ns;
        stats.outcomes[Outcome::Ok as usize] = count;
        stats.durations = Some(durations);
        map.ops.insert(op, stats);
        truth.insert(op.label(), (count as f64, sum_ns as f64 / 1e9));
    }
    snapshot.maps = [(IDLE, Arc::new(map))].into();
    all.snapshot = Arc::new(snapshot);
    // The parser refuses buckets that are not cumulative, and a `+Inf` that is not the count.
    let families = text_format::parse(&scrape(all, MAX_SERIES)).unwrap();
    let samples = &families["mapstorm_operation_duration_seconds"].samples;
    for (op, (count, seconds)) in truth {
        let of = |name: &str| -> Vec<f64> {
            let of_op = samples
                .iter()
                .filter(|s| s.labels["op"] == op && s.name.ends_with(name));
            of_op.map(|sample| sample.value).collect()
        };
        assert_eq!(of("_count"), [count], "{op}");
        let [sum] = of("_sum")[..] else {
            panic!("one sum of {op}");
        };
        assert!((sum - seconds).abs() < 1e-6 * seconds, "{op}: {sum} s");
        let buckets = of("_bucket");
        assert!(buckets.windows(2).all(|pair| pair[0] < pair[1]), "{op}");
    }
}

#[test]
fn a_closed_storm_tells_its_end_in_json() {
    let mut storm = storm();
    storm.closed = Some(Closed {
        at: Moment {
            window: 50,
            time: Some(SystemTime::UNIX_EPOCH),
        },
        end: End::Calm,
    });
    let json = serde_json::to_value(&storm).unwrap();
    assert_eq!(json["map_type"], "hash");
    assert_eq!(json["closed"]["end"], "calm");
    assert_eq!(json["closed"]["time"], "1970-01-01T00:00:00.000Z");
    assert_eq!(json["severity"], "major");
    assert_eq!(json["evidence"]["told_by"], "refusals");
    assert_eq!(json["peak_cpu_seconds_per_second"], 0.75);
}

#[test]
fn a_map_that_nobody_touched_has_no_counter_and_derived_pops_no_ok() {
    let mut quiet = view();
    let mut snapshot = Snapshot::clone(&quiet.snapshot);
    let map = snapshot.maps.get_mut(&IDLE).unwrap();
    Arc::make_mut(map).ops.clear();
    let pops = Arc::make_mut(snapshot.maps.get_mut(&FULL).unwrap())
        .pops
        .as_mut();
    pops.unwrap().ok = None;
    quiet.snapshot = Arc::new(snapshot);
    let families = text_format::parse(&scrape(quiet, MAX_SERIES)).unwrap();
    let of = |family: &str, id: u32| {
        let samples = families[family].samples.iter();
        let id = id.to_string();
        samples.filter(|s| s.labels["map_id"] == id).count()
    };
    assert_eq!(of("mapstorm_map_info", IDLE), 1);
    assert_eq!(of("mapstorm_map_max_entries", IDLE), 1);
    assert_eq!(of("mapstorm_operations_total", IDLE), 0);
    assert_eq!(
        of("mapstorm_operations_total", FULL),
        2 * 9,
        "two operations"
    );
    let [pops] = &families["mapstorm_freelist_pops_total"].samples[..] else {
        panic!("the empty ones only");
    };
    assert_eq!((&*pops.labels["outcome"], pops.value), ("empty", 3000.0));
}

#[test]
fn by_name_counters_are_added_gauges_are_the_largest_and_the_dead_count() {
    let mut many = view();
    let mut snapshot = Snapshot::clone(&many.snapshot);
    let map = Arc::clone(&snapshot.maps[&FULL]);
    let key = (map.name.clone(), map.kind);
    snapshot.departed = Arc::new([(key, (*map).clone())].into());
    snapshot.maps = (1..=3).map(|id| (id, Arc::clone(&map))).collect();
    many.snapshot = Arc::new(snapshot);
    let settings = Settings {
        by: By::Name,
        ..Settings::default()
    };
    let families = scrape_as(many, settings);
    let of = |family: &str, name: &str, label: (&str, &str)| {
        let mut samples = families[family].samples.iter();
        let is = |s: &&text_format::Sample| {
            s.name == name && s.labels.get(label.0).is_some_and(|value| value == label.1)
        };
        let found = samples.find(is).unwrap();
        assert!(found.labels.get("map_id").is_none_or(String::is_empty));
        assert!(!samples.any(|s| is(&s)), "one series of {name}");
        found.value
    };
    let operations = "mapstorm_operations_total";
    let refused = families[operations].samples.iter();
    let refused = refused.filter(|s| s.labels["op"] == "update" && s.labels["outcome"] == "e2big");
    assert_eq!(refused.map(|s| s.value).collect::<Vec<_>>(), [4.0 * 3000.0]);
    let kind = ("map_type", "hash");
    assert_eq!(
        of("mapstorm_map_entries", "mapstorm_map_entries", kind),
        1000.0
    );
    assert_eq!(of("mapstorm_map_info", "mapstorm_map_info", kind), 1.0);
    let pops = "mapstorm_freelist_pop_duration_seconds";
    assert_eq!(of(pops, &format!("{pops}_count"), kind), 4.0 * 3.0);
    assert_eq!(
        of(pops, &format!("{pops}_bucket"), ("le", "+Inf")),
        4.0 * 3.0
    );
}

#[test]
fn hidden_maps_have_no_series_and_are_counted() {
    let settings = Settings {
        maps: Selection {
            include: None,
            exclude: Some(Pattern::new("idle").unwrap()),
        },
        ..Settings::default()
    };
    let families = scrape_as(view(), settings);
    let maps = &families["mapstorm_map_info"].samples;
    assert!(maps.iter().all(|s| s.labels["map_name"] != "idle"));
    assert_eq!(maps.len(), 1);
    assert_eq!(families["mapstorm_maps_hidden"].samples[0].value, 1.0);
}
