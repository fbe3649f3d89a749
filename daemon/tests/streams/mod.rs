//! Many event streams at once, and readers that are slow or read nothing.

use std::{fs, io::Write, net::TcpStream, time::Duration};

use mapstorm::{api::WindowFrame, http::MAX_STREAMS, motion::WINDOWS_KEPT};
use nix::sys::socket::{setsockopt, sockopt::RcvBuf};

use crate::{events::Events, passing::pass_window, site::Server};

/// Readers that do not read.
const STALLED: usize = 200;
/// What the server may need for them, bytes: much less than if it kept their events.
const FLAT: u64 = 64 << 20;

#[test]
fn o06_two_hundred_streams_work_beside_scrapes_and_one_too_many_is_told_so() {
    let server = Server::start();
    let mut streams: Vec<Events> = (0..MAX_STREAMS)
        .map(|_| Events::open(&server, "", ""))
        .collect();
    assert!(streams.len() >= 200);
    for events in &mut streams {
        events.expect("hello");
    }
    server.show(pass_window);
    for events in &mut streams {
        assert_eq!(events.expect("window").data["window"], 43);
    }
    assert_eq!(server.get("/metrics").status, 200);
    let refused = Events::open(&server, "", "Connection: close\r\n");
    assert_eq!(refused.status(), "503");
    assert!(
        refused.head.contains("application/problem+json"),
        "{}",
        refused.head
    );
    assert!(refused.head.contains("retry-after: 10"), "{}", refused.head);
    streams.pop();
    // The place is free once the server has seen that its reader is gone.
    while Events::open(&server, "", "Connection: close\r\n").status() != "200" {
        server.show(pass_window);
    }
    server.stop();
}

/// A connection that has hardly any room for what is not read.
fn narrow(server: &Server) -> TcpStream {
    let stream = server.connect();
    setsockopt(&stream, RcvBuf, &4096).unwrap();
    stream
}

/// Memory of this process, in which the server is, too.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    1024 * kib.parse::<u64>().unwrap()
}

/// Reads on to window `last`; every window and every update since the one of `first` is in a sum.
fn catch_up(events: &mut Events, first: &WindowFrame, last: u64) -> u64 {
    let (mut told, mut updates, mut window) = (0, 0, first.window);
    while window < last {
        let frame: WindowFrame = serde_json::from_value(events.expect("window").data).unwrap();
        assert_eq!(frame.window, window + frame.windows, "none is left out");
        (told, window) = (told + 1, frame.window);
        updates += frame.maps[0].update.iter().map(|pair| pair.1).sum::<u64>();
    }
    assert_eq!(updates, 100 * (last - first.window));
    told
}

/// So many streams that begin with more than there is room for, and are not read.
fn stalled(server: &Server, streams: usize) -> Vec<Events> {
    for _ in 0..WINDOWS_KEPT {
        server.show(pass_window);
    }
    (0..streams)
        .map(|_| Events::over(narrow(server), server, "?history=240", ""))
        .collect()
}

#[test]
fn o06_memory_is_flat_whatever_two_hundred_readers_do_not_read() {
    let server = Server::with(|site| site.with_patience(Duration::from_secs(3600)));
    let streams = stalled(&server, STALLED);
    let before = resident_bytes();
    for window in 0..1500 {
        server.show(pass_window);
        if window % 20 == 0 {
            // Lets the server say what it can.
            assert_eq!(server.get("/-/ready").status, 200);
        }
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < FLAT, "grown by {} MiB", grown >> 20);
    drop(streams);
    server.stop();
}

#[test]
fn a_stream_that_is_not_read_is_dropped_and_its_place_is_free() {
    let server = Server::with(|site| site.with_patience(Duration::from_millis(200)));
    let stalled = stalled(&server, MAX_STREAMS);
    assert!(stalled.iter().all(|events| events.status() == "200"));
    let place = || Events::open(&server, "", "Connection: close\r\n");
    while place().status() != "200" {
        server.show(pass_window);
    }
    drop(stalled);
    server.stop();
}

#[test]
fn a_slow_reader_gets_sums_and_leaves_nothing_out() {
    let server = Server::start();
    server.show(pass_window);
    let mut events = Events::open(&server, "", "");
    events.expect("hello");
    let first: WindowFrame = serde_json::from_value(events.expect("window").data).unwrap();
    // More than any buffer holds, were each window to be an event.
    let last = first.window + 200;
    for _ in first.window..last {
        server.show(pass_window);
    }
    assert!(catch_up(&mut events, &first, last) <= 200);
    server.stop();
}

#[test]
fn a_reader_that_reads_nothing_is_dropped() {
    let server = Server::with(|site| site.with_patience(Duration::from_millis(200)));
    let mut stream = server.connect();
    // Ever more is asked for and nothing read: once all buffers are full, patience ends, and with it the
    // connection, so that asking fails.
    let request = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: h\r\n\r\n";
    while stream.write_all(request).is_ok() {}
    assert_eq!(server.get("/-/ready").status, 200);
    server.stop();
}

#[test]
fn streams_end_in_order_when_the_server_does() {
    let server = Server::start();
    let mut events = Events::open(&server, "", "");
    events.expect("hello");
    server.stop();
    while events.next().is_some() {}
}
