//! The site over real sockets, as a scraper, a supervisor and a rude client meet it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_hand;
mod serving;
mod site;
mod text_format;
mod usage;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use mapstorm::view::Phase;
use site::Server;

#[test]
fn a_scrape_is_text_0_0_4_and_gzip_for_those_who_ask() {
    let server = Server::start();
    let answer = server.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .head
            .contains("content-type: text/plain; version=0.0.4"),
        "{}",
        answer.head
    );
    text_format::parse(answer.text()).unwrap();
    let packed = server.ask("GET", "/metrics", "Accept-Encoding: gzip\r\n");
    assert!(
        packed.head.contains("content-encoding: gzip"),
        "{}",
        packed.head
    );
    // Chunked: the first chunk begins with its length in hexadecimal.
    let magic = packed.body.windows(2).position(|two| two == [0x1f, 0x8b]);
    assert!(magic.is_some_and(|at| at < 8));
    assert!(packed.body.len() < answer.body.len() / 4);
    server.stop();
}

#[test]
fn unknown_paths_are_404_other_methods_405_and_head_has_no_body() {
    let server = Server::start();
    for path in [
        "/metric",
        "/metrics/",
        "/-/",
        "/api/v1/map",
        "/../etc/passwd",
    ] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    for path in [
        "/",
        "/metrics",
        "/-/healthy",
        "/-/ready",
        "/api/v1/maps",
        "/api/v1/probes",
        "/api/v1/storms",
    ] {
        let head = server.ask("HEAD", path, "");
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let answer = server.ask(method, path, "Content-Length: 0\r\n");
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(answer.head.contains("allow: get,head"), "{}", answer.head);
        }
    }
    server.stop();
}

#[test]
fn ready_and_healthy_follow_the_view() {
    let server = Server::start();
    let ready = server.get("/-/ready");
    assert_eq!(ready.status, 200);
    assert!(
        ready.text().contains("degraded, 1 of 2 probes"),
        "{}",
        ready.text()
    );
    for (phase, status) in [
        (Phase::Starting, 503),
        (Phase::Armed, 200),
        (Phase::Stopping, 503),
    ] {
        server.show(|view| view.phase = phase);
        assert_eq!(server.get("/-/ready").status, status, "{phase:?}");
        assert_eq!(server.get("/-/healthy").status, 200, "{phase:?}");
    }
    server
        .show(|view| view.published = Instant::now().checked_sub(Duration::from_secs(6)).unwrap());
    assert_eq!(server.get("/-/healthy").status, 503);
    server.stop();
}

#[test]
fn the_api_tells_storms_and_probes() {
    let server = Server::start();
    let storms = server.get("/api/v1/storms").json();
    assert_eq!(storms["totals"]["full"], 2);
    assert_eq!(storms["active"][0]["map_id"], by_hand::FULL);
    assert_eq!(storms["active"][0]["closed"], serde_json::Value::Null);
    assert_eq!(storms["closed"], serde_json::json!([]));
    let probes = server.get("/api/v1/probes").json();
    assert_eq!(probes["phase"], "degraded");
    assert_eq!(probes["probes"][1]["refusal"]["reason"], "notrace");
    assert_eq!(probes["kernel"]["freelist"], "looks_first");
    server.stop();
}

#[test]
fn the_api_tells_every_map_with_its_counts_and_its_users() {
    let server = Server::start();
    let maps = server.get("/api/v1/maps").json();
    assert_eq!(maps["window"], 42);
    let [full, idle] = &maps["maps"].as_array().unwrap()[..] else {
        panic!("{maps}");
    };
    assert_eq!(full["id"], by_hand::FULL);
    assert_eq!(full["operations"]["update"]["e2big"], 3000);
    assert_eq!(full["fill"], 1.0);
    assert_eq!(full["users"][0]["prog_name"], "ingress");
    assert_eq!(full["users"][0]["prog_type"], "sched_cls");
    assert_eq!(full["users"][0]["tag"], "0102030405060708");
    let [program, process] = &full["callers"].as_array().unwrap()[..] else {
        panic!("{full}");
    };
    assert_eq!(program["source"], "program");
    assert_eq!(
        (&program["prog_id"], &program["samples"]),
        (&21.into(), &2.into())
    );
    assert_eq!(
        program["stack"],
        serde_json::json!(["htab_map_update_elem", "?"])
    );
    assert_eq!(process["comm"], "nginx");
    assert_eq!(process["cgroup"], "/system.slice/nginx.service");
    assert_eq!(idle["callers"], serde_json::json!([]));
    assert_eq!(idle["entries"], serde_json::Value::Null);
    assert_eq!(idle["users"], serde_json::json!([]));
    server.stop();
}

#[test]
fn the_page_is_made_of_what_the_daemon_has_and_runs_nothing_inline() {
    let server = Server::start();
    let page = server.get("/");
    let html = "content-type: text/html";
    assert!(page.head.contains(html), "{}", page.head);
    assert!(page.head.contains("default-src 'none'; script-src 'self'"));
    assert!(!page.head.contains("unsafe"), "{}", page.head);
    for inline in ["style=", "onclick", "<style", "<script>"] {
        assert!(!page.text().contains(inline), "{inline}");
    }
    let mut links = Vec::new();
    for attribute in ["href=\"", "src=\""] {
        let found = page.text().split(attribute).skip(1);
        links.extend(found.filter_map(|rest| rest.split('"').next()));
    }
    assert!(links.len() > 10, "{links:?}");
    for link in links.iter().filter(|link| !link.starts_with('#')) {
        let answer = server.get(&format!("/{link}"));
        assert_eq!(answer.status, 200, "{link}");
        // Modules load each other by name.
        if link.ends_with(".js") {
            let kind = "content-type: text/javascript";
            assert!(answer.head.contains(kind), "{}", answer.head);
        }
    }
    server.stop();
}

#[test]
fn who_has_a_part_of_the_page_is_not_sent_it_again() {
    let server = Server::start();
    let answer = server.get("/assets/app.js");
    let mut head = answer.head.lines();
    let tag = head.find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let header = format!("If-None-Match: {}\r\n", tag.replace("w/", "W/"));
    let again = server.ask("GET", "/assets/app.js", &header);
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(server.ask("GET", "/assets/dom.js", &header).status, 200);
    for missing in ["/assets/nothing.js", "/assets/", "/assets/../page.rs"] {
        assert_eq!(server.get(missing).status, 404, "{missing}");
    }
    server.stop();
}

#[test]
fn it_ends_within_a_second_whatever_clients_do() {
    let server = Server::start();
    let silent = server.connect();
    let mut halfway = server.connect();
    halfway
        .write_all(b"GET /metrics HTTP/1.1\r\nHost:")
        .unwrap();
    let mut kept = server.connect();
    kept.write_all(b"GET /-/ready HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    let mut first = [0; 12];
    kept.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let took = server.stop();
    assert!(took < Duration::from_secs(1), "{took:?}");
    drop((silent, halfway));
}

#[test]
fn more_clients_than_places_wait_their_turn() {
    let server = Server::start();
    let silent: Vec<TcpStream> = (0..511).map(|_| server.connect()).collect();
    assert_eq!(server.get("/metrics").status, 200);
    drop(silent);
    server.stop();
}

#[test]
fn headers_without_end_are_refused() {
    let server = Server::start();
    let mut stream = server.connect();
    let request = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    // The server may close before it has read all.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"));
    server.stop();
}

#[test]
fn o06_ten_scrapers_at_once_are_all_answered_soon() {
    let server = Server::start();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| assert_eq!(server.get("/metrics").status, 200));
        }
    });
    assert!(start.elapsed() < Duration::from_secs(5));
    server.stop();
}
