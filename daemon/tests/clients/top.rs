//! `mapstorm top` in a real terminal, against a real server; and what it prints where there is none.

use std::{fs, sync::Arc};

use serde_json::Value;

use crate::{
    by_hand::{FULL, IDLE},
    command::{MAPSTORM, mapstorm},
    server::Server,
    tmux::Terminal,
};

/// `mapstorm top` on this server.
fn top(name: &str, server: &Server, before: &str) -> Terminal {
    let url = server.url();
    let flags = "--interval 100ms --sort id";
    let command = format!("{before} {MAPSTORM} top --url {url} {flags}");
    let terminal = Terminal::run(name, &command, 120, 32);
    terminal.wait_for("STORM full major");
    terminal
}

/// Keeps a screen where somebody can look at it, if `MAPSTORM_SCREENS` says where.
fn keep(terminal: &Terminal, name: &str) {
    if let Some(directory) = std::env::var_os("MAPSTORM_SCREENS") {
        let path = std::path::Path::new(&directory).join(name);
        fs::write(path, terminal.painted()).unwrap();
    }
}

/// Ids of the rows, from top to bottom.
fn rows(screen: &str) -> Vec<u32> {
    let first = |line: &str| line.split_whitespace().next()?.parse().ok();
    let rows = screen.lines().filter(|line| line.contains("hash"));
    rows.filter_map(first).collect()
}

#[test]
fn keys_sort_filter_open_and_end() {
    let server = Server::start();
    let terminal = top("keys", &server, "");
    let screen = terminal.wait_for("map▲");
    assert_eq!(rows(&screen), [FULL, IDLE], "{screen}");
    for words in [
        "2 CPUs had 3000 updates a second refused",
        "raise max_entries: it is full",
        "2 maps  window 42",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    keep(&terminal, "table");
    terminal.press(&["r"]);
    let screen = terminal.wait_for("map▼");
    assert_eq!(rows(&screen), [IDLE, FULL], "{screen}");
    terminal.press(&["s"]);
    terminal.wait_for("name▲");
    terminal.press(&["?"]);
    terminal.wait_for("sort by the next column");
    keep(&terminal, "keys");
    terminal.press(&["Escape"]);
    terminal.press(&["/", "i", "d", "l"]);
    let screen = terminal.wait("filtered", |text| rows(text) == [IDLE]);
    assert!(screen.contains("/idl▏"), "{screen}");
    terminal.press(&["Escape"]);
    terminal.wait("all again", |text| rows(text).len() == 2);
    terminal.press(&["g", "Enter"]);
    terminal.wait_for("durations of");
    let screen = terminal.wait_for("program 21 \"ingress\"");
    for words in ["update ", "freelist pop", "wait, bucket", ">64 s", "█"] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    keep(&terminal, "map");
    terminal.press(&["Down", "Down"]);
    terminal.wait("another histogram", |text| text.contains("≤ 250 ms"));
    terminal.press(&["Escape"]);
    terminal.wait_for("name▲");
    terminal.resize(80, 24);
    let screen = terminal.wait("narrow", |text| {
        text.contains("refused/s") && text.lines().all(|line| line.chars().count() <= 80)
    });
    assert!(screen.contains("STORM full"), "{screen}");
    keep(&terminal, "narrow");
    terminal.press(&["q"]);
    terminal.wait_for("ended with 0");
    // The terminal is as it was: what is typed is echoed.
    terminal.press(&["still here", "Enter"]);
    terminal.wait_for("still here");
    server.stop();
}

#[test]
fn news_are_seen_and_silence_is_said() {
    let server = Server::start();
    let address = server.address;
    let terminal = top("silence", &server, "");
    server.show(|view| Arc::make_mut(&mut view.snapshot).window += 1);
    terminal.wait_for("window 43");
    server.show(|view| view.storms.active.clear());
    terminal.wait("calm", |text| {
        text.contains("calm") && !text.contains("STORM")
    });
    server.stop();
    let screen = terminal.wait_for("NO ANSWER since");
    assert!(screen.contains("what is shown is of"), "{screen}");
    assert_eq!(rows(&screen), [FULL, IDLE], "what was known is still shown");
    keep(&terminal, "silence");
    let server = Server::at(address);
    terminal.wait("back", |text| {
        text.contains("STORM full") && !text.contains("NO ANSWER")
    });
    terminal.press(&["C-c"]);
    terminal.wait_for("ended with 0");
    server.stop();
}

#[test]
fn colours_are_left_out_where_somebody_said_so() {
    let server = Server::start();
    // A background of red, the terminal's colour 1, as tmux writes it.
    let red = |terminal: &Terminal| terminal.painted().contains("48;5;1m");
    let terminal = top("colours", &server, "env -u NO_COLOR");
    assert!(red(&terminal), "{:?}", terminal.painted());
    let terminal = top("plain", &server, "env NO_COLOR=1");
    assert!(!red(&terminal), "{:?}", terminal.painted());
    server.stop();
}

#[test]
fn without_a_terminal_there_is_one_screen_as_text_or_json() {
    let server = Server::start();
    let url = server.url();
    let once = mapstorm(&["top", "--once", "--sort", "id", "--url", &url]);
    assert_eq!((once.status, &*once.err), (0, ""));
    assert!(
        once.out.contains(" STORM full major: map 7 "),
        "{}",
        once.out
    );
    assert_eq!(rows(&once.out), [FULL, IDLE], "{}", once.out);
    assert!(!once.out.contains('\x1b'), "{}", once.out);
    let json = mapstorm(&["top", "--json", "--url", &url]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["storms"]["active"][0]["kind"], "full");
    assert_eq!(json["maps"]["sort"], "cost");
    assert_eq!(json["probes"]["phase"], "degraded");
    let neither = mapstorm(&["top", "--url", &url]);
    assert_eq!((neither.status, &*neither.out), (1, ""));
    assert!(neither.err.contains("--once"), "{}", neither.err);
    server.stop();
}
