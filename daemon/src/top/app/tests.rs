//! Answers and keys, and the state that they lead to.

use super::*;
use crate::top::examples;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A screen that has heard of two maps.
fn heard() -> App {
    let mut app = App::new("http://host:1".to_owned(), Question::default());
    let request = app.request();
    app.hear(&request, examples::reading(), at(100));
    app
}

fn type_in(app: &mut App, text: &str) {
    app.act(Action::Filter);
    for character in text.chars() {
        assert_eq!(app.act(Action::Type(character)), Next::Ask);
    }
}

#[test]
fn the_selection_stays_on_its_map_and_within_the_table() {
    let mut app = heard();
    assert_eq!(app.selected, Some(7));
    app.act(Action::Up);
    assert_eq!(app.selected, Some(7));
    app.act(Action::PageDown);
    assert_eq!(app.selected, Some(12));
    // The order turns, the map is the same.
    let mut turned = examples::reading();
    turned.maps.maps.reverse();
    let request = app.request();
    app.hear(&request, turned, at(101));
    assert_eq!(app.selected, Some(12));
    app.act(Action::Last);
    assert_eq!(app.selected, Some(7));
    // It goes: the first one is next.
    let mut fewer = examples::reading();
    fewer.maps.maps.remove(0);
    app.hear(&request, fewer, at(102));
    assert_eq!(app.selected, Some(12));
}

#[test]
fn sorting_asks_the_daemon_each_column_in_its_own_order() {
    let mut app = heard();
    assert_eq!(app.act(Action::LastSort), Next::Ask);
    assert_eq!(app.question.sort, SortKey::P99);
    assert_eq!(app.act(Action::Reverse), Next::Ask);
    assert_eq!(app.question.order, Some(SortOrder::Asc));
    assert_eq!(app.act(Action::NextSort), Next::Ask);
    assert_eq!((app.question.sort, app.question.order), (SortKey::Id, None));
    let keys = (0..SortKey::ALL.len()).map(|_| {
        app.act(Action::NextSort);
        app.question.sort.label()
    });
    let keys: std::collections::BTreeSet<_> = keys.collect();
    assert_eq!(keys.len(), SortKey::ALL.len());
}

#[test]
fn a_filter_works_at_once_and_goes_to_the_daemon() {
    let mut app = heard();
    type_in(&mut app, "IDx");
    assert_eq!(app.maps().count(), 0);
    app.act(Action::Erase);
    let names: Vec<_> = app.maps().map(|map| map.name.as_str()).collect();
    assert_eq!(names, ["idle"]);
    assert_eq!(app.request().question.name.as_deref(), Some("ID"));
    assert_eq!(app.act(Action::Open), Next::Draw);
    assert!(
        !app.typing && app.close.is_none(),
        "Enter ends the typing only"
    );
    assert_eq!(app.act(Action::Back), Next::Ask);
    assert_eq!((app.request().question.name, app.maps().count()), (None, 2));
}

#[test]
fn a_filter_is_no_longer_than_a_daemon_takes() {
    let mut app = heard();
    type_in(&mut app, &"x".repeat(100));
    assert_eq!(app.question.name.map(|name| name.len()), Some(64));
}

#[test]
fn a_map_opens_closes_and_its_end_is_told() {
    let mut app = heard();
    assert_eq!(app.act(Action::Open), Next::Ask);
    let request = app.request();
    assert_eq!(request.map, Some(7));
    let with_detail = Reading {
        map: Some(examples::detail()),
        ..examples::reading()
    };
    app.hear(&request, with_detail, at(101));
    for _ in 0..9 {
        app.act(Action::Down);
    }
    let close = app.close.clone().unwrap();
    assert_eq!((close.gone, close.histogram), (false, 1));
    app.hear(&request, examples::reading(), at(102));
    let close = app.close.clone().unwrap();
    assert!(close.gone && close.detail.is_some());
    assert_eq!(app.act(Action::Back), Next::Draw);
    assert_eq!(app.request().map, None);
}

#[test]
fn an_answer_to_an_earlier_request_says_nothing_of_the_map_that_is_open_now() {
    let mut app = heard();
    let before = app.request();
    app.act(Action::Open);
    app.hear(&before, examples::reading(), at(101));
    assert!(!app.close.unwrap().gone);
}

#[test]
fn trouble_begins_with_the_first_failure_and_ends_with_an_answer() {
    let mut app = heard();
    app.fail("refused".to_owned(), at(110));
    app.fail("no answer".to_owned(), at(115));
    let trouble = app.trouble.clone().unwrap();
    assert_eq!((trouble.since, &*trouble.why), (at(110), "no answer"));
    assert!(app.reading.is_some() && app.read_at == Some(at(100)));
    let request = app.request();
    app.hear(&request, examples::reading(), at(120));
    assert_eq!(app.trouble, None);
}

#[test]
fn a_daemon_that_answers_but_samples_no_more_is_stalled() {
    let mut app = heard();
    let request = app.request();
    app.hear(&request, examples::reading(), at(104));
    assert_eq!(app.stalled(at(104)), None);
    app.hear(&request, examples::reading(), at(107));
    assert_eq!(app.stalled(at(107)), Some(Duration::from_secs(7)));
    let mut newer = examples::reading();
    newer.maps.window += 1;
    app.hear(&request, newer, at(108));
    assert_eq!(app.stalled(at(108)), None);
}

#[test]
fn back_closes_one_thing_at_a_time() {
    let mut app = heard();
    app.act(Action::Help);
    app.act(Action::Open);
    assert!(!app.help && app.close.is_none());
    app.act(Action::Open);
    app.act(Action::Help);
    app.act(Action::Back);
    assert!(!app.help && app.close.is_some());
    app.act(Action::Back);
    assert!(app.close.is_none());
    assert_eq!(app.act(Action::Back), Next::Draw);
    assert_eq!(app.act(Action::Quit), Next::Quit);
}
