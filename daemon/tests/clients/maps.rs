//! `mapstorm maps`, and what every command says when its daemon is not there.

use std::{fs, net::TcpListener};

use mapstorm::{api::MapList, http};

use crate::{by_hand, command::mapstorm, server::Server};

#[test]
fn maps_are_a_table_or_the_very_json_of_the_api() {
    let server = Server::start();
    let url = server.url();
    let table = mapstorm(&["maps", "--url", &url]);
    assert_eq!((table.status, &*table.err), (0, ""));
    let lines: Vec<_> = table.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", table.out);
    let words: Vec<_> = lines[1].split_whitespace().collect();
    assert_eq!(
        words[..3],
        ["7", "fl\\x5co\"w\\x0as", "hash"],
        "{}",
        table.out
    );
    assert_eq!(words.last(), Some(&"full"));
    assert!(
        !table.out.contains('\x1b'),
        "no colours where there is no terminal"
    );
    let json = mapstorm(&["maps", "--url", &url, "--json"]);
    let told: MapList = serde_json::from_str(&json.out).unwrap();
    let listed = http::list_maps(&by_hand::view(), "limit=1000");
    assert_eq!(Ok(told), listed);
    server.stop();
}

#[test]
fn maps_are_sorted_filtered_and_paged_by_the_daemon() {
    let server = Server::start();
    let url = server.url();
    let ids = |flags: &[&str]| -> Vec<u32> {
        let words = [&["maps", "--json", "--url", &url], flags].concat();
        let list: MapList = serde_json::from_str(&mapstorm(&words).out).unwrap();
        list.maps.iter().map(|map| map.id).collect()
    };
    let (full, idle) = (by_hand::FULL, by_hand::IDLE);
    assert_eq!(ids(&["--sort", "id", "--order", "desc"]), [idle, full]);
    assert_eq!(ids(&["--sort", "fill"]), [full, idle]);
    assert_eq!(ids(&["--name", "IDL"]), [idle]);
    assert_eq!(ids(&["--name", "\"w\\x"]), [full]);
    assert_eq!(ids(&["--type", "hash"]), [full]);
    assert_eq!(ids(&["--limit", "1", "--offset", "1"]), [idle]);
    server.stop();
}

#[test]
fn a_daemon_that_is_not_there_is_status_1_and_says_where_it_was_looked_for() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://me:secret@{}", place.local_addr().unwrap());
    drop(place);
    for words in [
        &["maps", "--url", &url][..],
        &["top", "--once", "--url", &url],
        &["top", "--json", "--url", &url],
    ] {
        let ran = mapstorm(words);
        assert_eq!((ran.status, &*ran.out), (1, ""), "{words:?}");
        for text in ["connection refused", "mapstorm serve", "--url", "127.0.0.1"] {
            assert!(ran.err.contains(text), "{words:?}: {}", ran.err);
        }
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}

#[test]
fn a_server_that_is_no_daemon_is_named_as_such() {
    let server = Server::start();
    let url = format!("{}/elsewhere", server.url());
    let ran = mapstorm(&["maps", "--url", &url]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.contains("no mapstorm of this version"),
        "{}",
        ran.err
    );
    server.stop();
}

#[test]
fn what_makes_no_sense_is_status_64() {
    for words in [
        &["maps", "--sort", "size"][..],
        &["maps", "--limit", "0"],
        &["top", "--interval", "1h"],
        &["top", "--url", "ftp://host"],
        &["man"],
    ] {
        assert_eq!(mapstorm(words).status, 64, "{words:?}");
    }
}

#[test]
fn man_pages_are_written_where_they_were_wanted() {
    let directory = std::env::temp_dir().join(format!("mapstorm-man-{}", std::process::id()));
    let ran = mapstorm(&["man", directory.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let written = ran
        .out
        .lines()
        .map(|path| fs::read_to_string(path).unwrap());
    assert!(written.clone().count() > 10);
    assert!({ written }.all(|page| page.contains(".SH NAME")));
    fs::remove_dir_all(directory).unwrap();
}
