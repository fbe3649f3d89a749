//! What a scrape says, to the letter: one view made by hand against `golden/exposition.txt`.
//!
//! After a change on purpose: `UPDATE_GOLDEN=1 cargo test -p mapstorm --test exposition`, and read
//! the difference.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_hand;
mod text_format;

use std::{sync::Arc, time::SystemTime};

use by_hand::{FULL, IDLE, idle_map, process, storm, view};
use mapstorm::{
    identity::printable_name,
    metrics::{Exposition, MAX_SERIES},
    snapshot::Snapshot,
    storm::{Board, Closed, End, Moment},
    view::View,
};
use mapstorm_abi::Lost;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/exposition.txt");

fn scrape(view: View, max_series: usize) -> String {
    let (_sender, views) = tokio::sync::watch::channel(Arc::new(view));
    let exposition = Exposition::new(views, max_series, process).unwrap();
    exposition.render().unwrap()
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
        .and_then(|map| map.pops.as_mut());
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
    assert_eq!(
        (storms[0].labels["kind"].as_str(), storms[0].value),
        ("full", 0.0)
    );
    assert!(!families.contains_key("mapstorm_operations_total"));
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
    snapshot.maps = (1..=50).map(|id| (id, idle_map())).collect();
    many.snapshot = Arc::new(snapshot);
    let families = text_format::parse(&scrape(many, MAX_SERIES)).unwrap();
    assert_eq!(families["mapstorm_map_info"].samples.len(), 50);
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
}

#[test]
fn a_map_that_nobody_touched_has_no_counter_and_derived_pops_no_ok() {
    let mut quiet = view();
    let mut snapshot = Snapshot::clone(&quiet.snapshot);
    let map = snapshot.maps.get_mut(&IDLE).unwrap();
    map.update = None;
    let pops = snapshot.maps.get_mut(&FULL).unwrap().pops.as_mut();
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
    assert_eq!(of("mapstorm_operations_total", FULL), 9);
    let [pops] = &families["mapstorm_freelist_pops_total"].samples[..] else {
        panic!("the empty ones only");
    };
    assert_eq!((&*pops.labels["outcome"], pops.value), ("empty", 3000.0));
}
