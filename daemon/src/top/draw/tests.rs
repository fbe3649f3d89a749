//! Whole screens, on a terminal that is none.

use std::time::Duration;

use ratatui::{Terminal, backend::TestBackend};

use super::*;
use crate::{
    client::Question,
    top::{
        app::Action,
        examples,
        once::{self, lines},
        reading::Reading,
    },
};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A screen that has heard this.
fn heard(reading: Reading) -> App {
    let mut app = App::new("http://host:1/".to_owned(), Question::default());
    let request = app.request();
    app.hear(&request, reading, at(100));
    app
}

fn drawn(app: &App, theme: Theme, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let draw = |frame: &mut ratatui::Frame<'_>| {
        screen(app, theme, at(100), frame.area(), frame.buffer_mut());
    };
    terminal.draw(draw).unwrap();
    terminal.backend().buffer().clone()
}

fn plain(app: &App, width: u16, height: u16) -> String {
    lines(&drawn(app, Theme { colour: false }, width, height))
}

#[test]
fn a_storm_is_the_first_thing_to_see() {
    let text = plain(&heard(examples::reading()), 120, 17);
    let expected = "\
mapstorm  http://host:1/  Linux 6.12.117  2 maps  window 42
not seen in full: pop; mapstorm doctor says why
 STORM full major: map 7 \"flows\", since 03:04:05Z (1s), 3.0k refused/s on 4 CPUs, fill 100 %
  evidence  4 CPUs had 3000 updates a second refused
  callers   program 21 \"ingress\" 83 %
  advice    raise max_entries: it is full

updates/s        4.0k                                                                                                  █
refused/s        3.0k                                                                                                  █
map▲  name   type         max  entries   fill  memory  upd/s  ref/s   cpu     p50    p99  storm
   7  flows  hash        1000     1000  100 %  96 KiB   4.0k   3.0k  12 %  1.4 µs  >64 s  full,freelist
  12  idle   lru_percpu    64        -      -       -      -      -     -       -      -




↑↓ select  Enter open  s sort  r turn  / filter  ? keys  q end
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn in_calm_the_last_storm_is_remembered() {
    let mut reading = examples::reading();
    reading.storms.active.clear();
    let text = plain(&heard(reading.clone()), 100, 12);
    assert_eq!(text.lines().nth(2), Some("calm"));
    reading.storms.closed.push(examples::closed_storm());
    let text = plain(&heard(reading), 100, 12);
    let words = "calm; the last storm, full on map 7 \"flows\", ended 2026-12-01T03:04:06.000Z";
    assert_eq!(text.lines().nth(2), Some(words));
}

#[test]
fn of_many_storms_the_worst_are_told() {
    let mut reading = examples::reading();
    for id in 1..=4 {
        let mut storm = examples::storm();
        storm.map_id = id;
        storm.severity = Some(if id == 3 { "critical" } else { "minor" }.to_owned());
        reading.storms.active.push(storm);
    }
    let text = plain(&heard(reading), 100, 30);
    let storms: Vec<_> = text.lines().filter(|l| l.starts_with(" STORM")).collect();
    assert_eq!(storms.len(), 3);
    assert!(storms[0].contains("critical: map 3 ") && storms[1].contains("major: map 7 "));
    assert!(text.contains("and 2 more storms"));
}

#[test]
fn old_data_says_since_when_it_is_old() {
    let mut app = heard(examples::reading());
    app.fail("http://host:1/: nobody listens there".to_owned(), at(103));
    let mut buffer = Buffer::empty(Rect::new(0, 0, 140, 14));
    let area = buffer.area;
    page(&app, Theme { colour: false }, at(112), area, &mut buffer);
    let text = lines(&buffer);
    let line = text.lines().nth(2).unwrap();
    assert!(
        line.starts_with(
            "NO ANSWER since 00:01:43Z, trying again; what is shown is of 00:01:40Z (12s ago): \
             http://host:1/: nobody listens"
        ),
        "{line}"
    );
    assert!(text.contains("flows"), "what was known is still shown");
}

#[test]
fn one_that_never_answered_shows_nothing_as_if_it_were_something() {
    let mut app = App::new("http://host:1/".to_owned(), Question::default());
    assert!(plain(&app, 80, 8).contains("asking …"));
    app.fail("no such host".to_owned(), at(100));
    let text = plain(&app, 80, 8);
    assert!(
        text.contains("nothing was heard yet: no such host"),
        "{text}"
    );
    assert!(!text.contains("calm"), "{text}");
}

#[test]
fn a_map_shows_its_histogram_its_callers_and_its_users() {
    let mut app = heard(examples::reading());
    app.act(Action::Open);
    let request = app.request();
    let reading = Reading {
        map: Some(examples::detail()),
        ..examples::reading()
    };
    app.hear(&request, reading, at(100));
    let text = plain(&app, 100, 32);
    for words in [
        "map 7 \"flows\"  hash  in a storm: full, freelist",
        "max 1000  entries 1000  fill 100 %  memory 96 KiB  cpu 12 %  flags 0x0  key 4 B  value 8 B",
        "durations of                   count      mean       p50       p90       p99",
        "update                             8      10 s    1.1 µs     >64 s     >64 s",
        "freelist pop                       3",
        "    ≤ 1.1 µs          4 ██████",
        "   83 %  program 21 \"ingress\" (sched_cls): last update e2big, 1.2 µs",
        "  program 21 \"ingress\" (sched_cls)",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    app.hear(&request, examples::reading(), at(100));
    assert!(plain(&app, 100, 32).contains("GONE: this was told of it last"));
}

#[test]
fn where_there_is_less_room_columns_go_and_nothing_panics() {
    let mut app = heard(examples::reading());
    let text = plain(&app, 80, 24);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let header = text.lines().find(|line| line.starts_with("map▲")).unwrap();
    assert!(
        header.contains("storm") && !header.contains("p50"),
        "{text}"
    );
    for open in [false, true] {
        if open {
            app.act(Action::Open);
            let request = app.request();
            let reading = Reading {
                map: Some(examples::detail()),
                ..examples::reading()
            };
            app.hear(&request, reading, at(100));
        }
        app.act(Action::Help);
        for width in (1..60).step_by(7) {
            for height in 1..30 {
                plain(&app, width, height);
            }
        }
        app.act(Action::Help);
    }
}

#[test]
fn without_colours_things_stand_out_by_weight_alone() {
    let app = heard(examples::reading());
    let colours = |colour| {
        let buffer = drawn(&app, Theme { colour }, 100, 20);
        let cells = buffer.content().iter();
        cells
            .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
            .count()
    };
    assert_eq!(colours(false), 0);
    assert!(colours(true) > 100);
}

#[test]
fn the_keys_are_shown_when_asked_for() {
    let mut app = heard(examples::reading());
    app.act(Action::Help);
    let text = plain(&app, 100, 24);
    assert!(text.contains("sort by the next column"), "{text}");
}

#[test]
fn one_screen_as_text_has_every_map_and_no_keys() {
    let mut reading = examples::reading();
    let idle = reading.maps.maps[1].clone();
    for id in 100..200 {
        let mut map = idle.clone();
        map.id = id;
        reading.maps.maps.push(map);
    }
    reading.maps.total = reading.maps.maps.len();
    let text = once::text(&heard(reading), None, at(100));
    let rows = text.lines().filter(|line| line.contains("lru_percpu"));
    assert_eq!(rows.count(), 101);
    assert!(!text.contains("q end") && !text.contains('\x1b'), "{text}");
    assert!(text.ends_with("-\n"), "{text}");
}
