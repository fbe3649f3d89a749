//! `/api/v1` over real sockets: what it answers, what it refuses, and how much it bears.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_hand;
mod events;
mod passing;
mod serving;
mod site;
mod streams;
mod usage;

use std::{fs, path::Path, sync::Arc};

use events::Events;
use mapstorm::{
    api::{MapDetail, MapList, ProbeList, Problem, StormList, WindowFrame},
    http,
    storm::{Closed, End, Moment},
    view::View,
};
use passing::pass_window;
use site::{Answer, Server};

fn problem(answer: &Answer, status: u16) -> Problem {
    assert_eq!(answer.status, status, "{}", answer.text());
    let kind = "content-type: application/problem+json";
    assert!(answer.head.contains(kind), "{}", answer.head);
    let problem: Problem = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((problem.status, &*problem.kind), (status, "about:blank"));
    problem
}

#[test]
fn the_openapi_file_is_the_one_in_the_documentation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/docs/openapi.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, http::openapi_json()).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert!(
        golden == http::openapi_json(),
        "deploy/docs/openapi.json is not what is served; \
         UPDATE_GOLDEN=1 cargo test -p mapstorm --test api writes it anew"
    );
    let server = Server::start();
    let served = server.get("/api/v1/openapi.json");
    assert_eq!(served.text(), golden);
    let document = served.json();
    let paths = document["paths"].as_object().unwrap();
    for path in paths.keys().filter(|path| !path.contains(['{'])) {
        if path != "/api/v1/events" {
            assert_eq!(server.get(path).status, 200, "{path}");
        }
    }
    server.stop();
}

#[test]
fn answers_are_of_the_types_that_clients_have() {
    let server = Server::start();
    let maps: MapList = serde_json::from_value(server.get("/api/v1/maps").json()).unwrap();
    assert_eq!((maps.window, maps.total, maps.maps.len()), (42, 2, 2));
    let path = format!("/api/v1/maps/{}", by_hand::FULL);
    let map: MapDetail = serde_json::from_value(server.get(&path).json()).unwrap();
    assert_eq!(map.map, maps.maps[0]);
    let pops = map.pop_durations.unwrap();
    assert_eq!((pops.count, pops.buckets[0].index), (3, 0));
    assert_eq!(map.durations["update"].buckets.last().unwrap().le, None);
    assert_eq!(map.lock_durations["bucket"].count, 5);
    assert_eq!(map.open_storms[0].kind, "full");
    let storms: StormList = serde_json::from_value(server.get("/api/v1/storms").json()).unwrap();
    assert_eq!(storms.active, map.open_storms);
    let probes: ProbeList = serde_json::from_value(server.get("/api/v1/probes").json()).unwrap();
    assert_eq!(probes.sample_seconds, 0.25);
    let update = |row: &&mapstorm::api::CoverageRow| row.signal == "update";
    assert!(probes.coverage.iter().find(update).unwrap().ratio > 0.0);
    server.stop();
}

#[test]
fn maps_are_sorted_filtered_and_paged() {
    let server = Server::start();
    let ids = |query: &str| {
        let maps: MapList =
            serde_json::from_value(server.get(&format!("/api/v1/maps{query}")).json()).unwrap();
        let ids: Vec<u32> = maps.maps.iter().map(|map| map.id).collect();
        (maps.total, ids)
    };
    let (full, idle) = (by_hand::FULL, by_hand::IDLE);
    assert_eq!(ids("?sort=id&order=desc"), (2, vec![idle, full]));
    assert_eq!(ids("?sort=name"), (2, vec![full, idle]));
    for sort in ["fill", "memory", "entries", "p99"] {
        for order in ["asc", "desc"] {
            let query = format!("?sort={sort}&order={order}");
            assert_eq!(
                ids(&query),
                (2, vec![full, idle]),
                "{query}: unknown is last"
            );
        }
    }
    assert_eq!(ids("?limit=1&offset=1"), (2, vec![idle]));
    assert_eq!(ids("?offset=5"), (2, vec![]));
    assert_eq!(ids("?name=IDL"), (1, vec![idle]));
    assert_eq!(ids("?type=hash"), (1, vec![full]));
    assert_eq!(ids("?name=%22w%5Cx"), (1, vec![full]));
    server.stop();
}

#[test]
fn a_wrong_parameter_is_named_with_its_value_and_what_is_allowed() {
    let server = Server::start();
    for (path, name, words) in [
        (
            "/api/v1/maps?sort=size",
            "sort",
            "\"size\" is not allowed; it is one of id, name",
        ),
        ("/api/v1/maps?order=up", "order", "asc, desc"),
        ("/api/v1/maps?limit=0", "limit", "from 1 to 10000"),
        (
            "/api/v1/maps?limit=99999999999999999999",
            "limit",
            "from 1 to 10000",
        ),
        ("/api/v1/maps?limit=%2B5", "limit", "whole number"),
        ("/api/v1/maps?offset=-1", "offset", "from 0 to 1000000"),
        ("/api/v1/maps?name=", "name", "1 to 64 characters"),
        ("/api/v1/maps?limit=1&limit=2", "limit", "once"),
        (
            "/api/v1/maps?page=2",
            "page",
            "sort, order, name, type, limit, offset",
        ),
        ("/api/v1/maps/0", "id", "from 1 to 4294967295"),
        ("/api/v1/maps/seven", "id", "\"seven\""),
        ("/api/v1/maps/7?x", "x", "no parameters"),
        ("/api/v1/storms?active=yes", "active", "true, false"),
        ("/api/v1/storms?kind=rain", "kind", "full"),
        ("/api/v1/storms?map=0", "map", "from 1"),
        ("/api/v1/storms?limit=10001", "limit", "from 0 to 10000"),
        ("/api/v1/probes?a=b", "a", "no parameters"),
        ("/api/v1/events?history=241", "history", "from 0 to 240"),
    ] {
        let problem = problem(&server.get(path), 400);
        assert_eq!(problem.parameter.as_deref(), Some(name), "{path}");
        assert!(problem.detail.contains(words), "{path}: {}", problem.detail);
        assert_eq!(problem.instance, path.split('?').next().unwrap());
    }
    let long = format!("/api/v1/maps?name={}", "x".repeat(5000));
    let detail = problem(&server.get(&long), 400).detail;
    assert!(detail.len() < 200, "{detail}");
    server.stop();
}

#[test]
fn paths_and_methods_that_do_not_exist_are_problems() {
    let server = Server::start();
    for path in [
        "/api",
        "/api/",
        "/api/v2/maps",
        "/api/v1/map",
        "/api/v1/maps/7/x",
    ] {
        let problem = problem(&server.get(path), 404);
        assert!(
            problem.detail.contains("openapi.json"),
            "{}",
            problem.detail
        );
    }
    let gone = problem(&server.get("/api/v1/maps/99"), 404);
    assert!(gone.detail.contains("99"), "{}", gone.detail);
    let answer = server.ask("POST", "/api/v1/storms", "Content-Length: 0\r\n");
    assert!(answer.head.contains("allow: get,head"), "{}", answer.head);
    assert!(problem(&answer, 405).detail.starts_with("POST"));
    assert_eq!(server.get("/nowhere").text(), "no such page; see /\n");
    server.stop();
}

#[test]
fn who_has_the_newest_answer_is_not_sent_it_again() {
    let server = Server::start();
    let tag_of = |path: &str| {
        let answer = server.get(path);
        let mut head = answer.head.lines();
        let tag = head.find_map(|line| line.strip_prefix("etag: ")).unwrap();
        // The heads of answers are told in lower case.
        tag.replace("w/", "W/")
    };
    for path in [
        "/api/v1/maps",
        "/api/v1/maps/7",
        "/api/v1/storms",
        "/api/v1/probes",
    ] {
        let tag = tag_of(path);
        let header = format!("If-None-Match: {tag}\r\n");
        let answer = server.ask("GET", path, &header);
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{path}");
        server.show(pass_window);
        assert_eq!(server.ask("GET", path, &header).status, 200, "{path}");
        assert_ne!(tag_of(path), tag, "{path}");
    }
    server.stop();
}

#[test]
fn closed_storms_are_told_as_many_as_are_asked_for() {
    let server = Server::start();
    server.show(|view| close(view, 50));
    let storms = |query: &str| -> StormList {
        serde_json::from_value(server.get(&format!("/api/v1/storms{query}")).json()).unwrap()
    };
    let all = storms("");
    assert_eq!(
        (all.active.len(), all.closed.len(), all.closed_total),
        (0, 1, 1)
    );
    assert_eq!(all.closed[0].closed.as_ref().unwrap().end, "calm");
    assert_eq!(storms("?limit=0").closed_total, 1);
    assert_eq!(storms("?limit=0").closed, []);
    assert_eq!(storms("?active=true").closed_total, 0);
    assert_eq!(storms("?map=8").closed_total, 0);
    assert_eq!(storms("?kind=full&map=7&active=false").closed_total, 1);
    server.stop();
}

/// Ends the storm in this window.
fn close(view: &mut View, window: u64) {
    let mut storm = view.storms.active.remove(0);
    let at = Moment { window, time: None };
    storm.closed = Some(Closed { at, end: End::Calm });
    Arc::make_mut(&mut view.storms.closed).push_front(storm);
    Arc::make_mut(&mut view.snapshot).window = window;
}

#[test]
fn a_stream_says_hello_then_what_was_and_then_what_happens() {
    let server = Server::start();
    for _ in 0..3 {
        server.show(pass_window);
    }
    let mut events = Events::open(&server, "?history=240", "");
    assert!(
        events.head.contains("content-type: text/event-stream"),
        "{}",
        events.head
    );
    let hello = events.expect("hello");
    assert_eq!(hello.data["kernel"]["freelist"], "looks_first");
    for window in [43, 44] {
        let past = events.expect("window").data;
        assert_eq!(
            (&past["window"], &past["windows"]),
            (&window.into(), &1.into())
        );
        assert!(
            past["storms"].is_null(),
            "what was open then is not told: {past}"
        );
    }
    let now: WindowFrame = serde_json::from_value(events.expect("window").data).unwrap();
    assert_eq!((now.window, now.windows), (45, 1));
    assert_eq!(now.storms.unwrap()[0].map_id, by_hand::FULL);
    assert_eq!(now.maps[0].rates.updates_per_second, 400.0);
    assert_eq!(now.maps[0].rates.rejects_per_second, 200.0);
    assert_eq!(
        now.maps[0].update.iter().map(|pair| pair.1).sum::<u64>(),
        100
    );
    server.show(pass_window);
    let live = events.expect("window");
    assert_eq!(live.data["window"], 46);
    // Another reader goes on where this one ended.
    drop(events);
    server.show(pass_window);
    let resume = format!("Last-Event-ID: {}\r\n", live.id);
    let mut again = Events::open(&server, "", &resume);
    again.expect("hello");
    assert_eq!(again.expect("window").data["window"], 47);
    server.stop();
}

#[test]
fn storms_are_told_when_they_open_and_when_they_close() {
    let server = Server::start();
    server.show(|view| {
        pass_window(view);
        view.storms.active.clear();
    });
    let mut events = Events::open(&server, "", "");
    events.expect("hello");
    events.expect("window");
    server.show(|view| {
        pass_window(view);
        view.storms.active = vec![by_hand::storm()];
    });
    let opened = events.expect("storm").data;
    assert_eq!(opened["what"], "opened");
    assert_eq!(opened["storm"]["map_id"], by_hand::FULL);
    events.expect("window");
    server.show(|view| close(view, 60));
    let closed = events.expect("storm").data;
    assert_eq!(
        (&closed["what"], &closed["storm"]["closed"]["end"]),
        (&"closed".into(), &"calm".into())
    );
    server.stop();
}
