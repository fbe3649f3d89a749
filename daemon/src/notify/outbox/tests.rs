//! Boards as the detector publishes them, and what a receiver hears of them.

use std::{collections::VecDeque, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::notify::alert::tests::{moment, storm};

const INTERVAL: Duration = Duration::from_secs(60);

/// Open storms, and closed ones with the newest first.
fn board(active: &[Storm], closed: &[Storm]) -> Board {
    Board {
        active: active.to_vec(),
        closed: Arc::new(VecDeque::from(closed.to_vec())),
        ..Board::default()
    }
}

/// What is told at a time: map ids, and whether each storm is over.
fn told(outbox: &Outbox, now: Instant) -> Vec<(MapId, bool)> {
    let due = outbox.take(now);
    due.iter()
        .map(|(_, storm)| (storm.map_id, storm.closed.is_some()))
        .collect()
}

fn deliver(outbox: &mut Outbox, now: Instant) -> usize {
    let (tickets, _): (Vec<_>, Vec<_>) = outbox.take(now).into_iter().unzip();
    outbox.settle(&tickets, Sent::Delivered, now);
    tickets.len()
}

#[test]
fn a_storm_is_told_when_it_opens_again_while_it_is_open_and_once_when_it_closes() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    let open = board(&[storm(7, 1, None)], &[]);
    outbox.observe(&open, moment(1), at(1));
    assert_eq!(told(&outbox, at(1)), [(7, false)]);
    deliver(&mut outbox, at(1));
    outbox.observe(&open, moment(2), at(2));
    assert_eq!(told(&outbox, at(60)), []);
    assert_eq!(outbox.due(), Some(at(61)));
    assert_eq!(told(&outbox, at(61)), [(7, false)]);
    outbox.observe(&board(&[], &[storm(7, 1, Some(70))]), moment(70), at(70));
    assert_eq!(told(&outbox, at(70)), [(7, true)]);
    deliver(&mut outbox, at(70));
    assert!(outbox.is_empty() && outbox.due().is_none());
}

#[test]
fn what_fails_stays_due_and_what_is_refused_waits_for_its_next_turn() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    let open = board(&[storm(7, 1, None)], &[storm(8, 1, Some(1))]);
    outbox.observe(&open, moment(1), now);
    let (tickets, _): (Vec<_>, Vec<_>) = outbox.take(now).into_iter().unzip();
    outbox.settle(&tickets, Sent::Failed, now);
    assert_eq!(told(&outbox, now), [(7, false), (8, true)]);
    outbox.settle(&tickets, Sent::Refused, now);
    assert_eq!(told(&outbox, now), []);
    assert_eq!((outbox.len(), outbox.due()), (1, Some(now + INTERVAL)));
}

#[test]
fn a_storm_that_closes_while_its_opening_is_on_its_way_is_told_again() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    outbox.observe(&board(&[storm(7, 1, None)], &[]), moment(1), now);
    let (tickets, _): (Vec<_>, Vec<_>) = outbox.take(now).into_iter().unzip();
    outbox.observe(&board(&[], &[storm(7, 1, Some(2))]), moment(2), now);
    outbox.settle(&tickets, Sent::Delivered, now);
    assert_eq!(told(&outbox, now), [(7, true)]);
}

#[test]
fn the_newest_state_takes_the_place_of_the_older_one() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    outbox.observe(&board(&[storm(7, 1, None)], &[]), moment(1), now);
    outbox.observe(&board(&[], &[storm(7, 1, Some(2))]), moment(2), now);
    assert_eq!(told(&outbox, now), [(7, true)]);
    // It opens once more before anybody has heard of its end.
    let again = board(&[storm(7, 3, None)], &[storm(7, 1, Some(2))]);
    outbox.observe(&again, moment(3), now);
    assert_eq!(told(&outbox, now), [(7, false)]);
    assert_eq!(outbox.len(), 1);
}

#[test]
fn what_came_and_went_between_two_looks_is_told_and_the_past_is_not() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(100));
    // Of an earlier run, whose windows went much further.
    let mut past = storm(9, 5, Some(6));
    past.opened.window = 1_000_000;
    let closed = [storm(8, 102, Some(103)), storm(7, 50, Some(60)), past];
    outbox.observe(&board(&[], &closed), moment(110), now);
    assert_eq!(told(&outbox, now), [(8, true)]);
    outbox.observe(&board(&[], &closed), moment(111), now);
    assert_eq!(outbox.len(), 1);
}

#[test]
fn a_storm_that_nobody_remembers_is_over() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    outbox.observe(&board(&[storm(7, 1, None)], &[]), moment(1), now);
    outbox.observe(&board(&[], &[]), moment(9), now);
    let (_, storm) = outbox.take(now).remove(0);
    assert_eq!(storm.closed.map(|closed| closed.at), Some(moment(9)));
}

/// The same storm, worse.
fn worse(storm: Storm, severity: Severity) -> Storm {
    Storm { severity, ..storm }
}

#[test]
fn a_storm_that_gets_worse_is_another_alert_and_the_one_it_was_ends() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    let told = |outbox: &Outbox| {
        let due = outbox.take(now).into_iter();
        due.map(|(_, storm)| (storm.severity, storm.closed.is_some()))
            .collect::<Vec<_>>()
    };
    outbox.observe(&board(&[storm(7, 1, None)], &[]), moment(1), now);
    deliver(&mut outbox, now);
    let open = worse(storm(7, 1, None), Severity::Critical);
    outbox.observe(&board(&[open], &[]), moment(2), now);
    assert_eq!(
        told(&outbox),
        [(Severity::Minor, true), (Severity::Critical, false)]
    );
    deliver(&mut outbox, now);
    assert_eq!(outbox.len(), 1);
    let over = worse(storm(7, 1, Some(3)), Severity::Critical);
    outbox.observe(&board(&[], &[over]), moment(3), now);
    assert_eq!(told(&outbox), [(Severity::Critical, true)]);
}

#[test]
fn one_that_got_worse_and_closed_unseen_ends_under_the_labels_that_were_told() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    outbox.observe(&board(&[storm(7, 1, None)], &[]), moment(1), now);
    deliver(&mut outbox, now);
    let over = worse(storm(7, 1, Some(2)), Severity::Major);
    outbox.observe(&board(&[], &[over]), moment(2), now);
    let (_, storm) = outbox.take(now).remove(0);
    assert_eq!(
        (storm.severity, storm.closed.map(|closed| closed.at)),
        (Severity::Minor, Some(moment(2)))
    );
    deliver(&mut outbox, now);
    assert!(outbox.is_empty());
}

#[test]
fn a_dead_receiver_costs_so_many_places_and_drops_the_rest() {
    let now = Instant::now();
    let mut outbox = Outbox::new(INTERVAL, moment(0));
    let open: Vec<_> = (1..=1000).map(|id| storm(id, 1, None)).collect();
    outbox.observe(&board(&open, &[]), moment(1), now);
    assert_eq!((outbox.len(), outbox.take_dropped()), (CAPACITY, 744));
    outbox.observe(&board(&open, &[]), moment(2), now);
    assert_eq!(outbox.take_dropped(), 0, "each is dropped once");
    // All are over: one that opens takes the place of one of those.
    outbox.observe(&board(&[storm(2000, 3, None)], &[]), moment(3), now);
    assert_eq!((outbox.len(), outbox.take_dropped()), (CAPACITY, 1));
    let mut heard = 0;
    loop {
        match deliver(&mut outbox, now) {
            0 => break,
            n => heard += n,
        }
        assert!(heard <= CAPACITY);
    }
    assert_eq!((heard, outbox.len()), (CAPACITY, 1), "one is open");
}

proptest! {
    /// Whatever opens and closes, however often a receiver fails: when it works again and all is calm, it has heard the
    /// end of every storm it has heard of.
    #[test]
    fn nobody_is_left_with_a_storm_that_is_over(
        steps in prop::collection::vec(
            (1u32..4, any::<bool>(), any::<bool>(), any::<bool>()), 1..60
        )
    ) {
        let start = Instant::now();
        let mut outbox = Outbox::new(INTERVAL, moment(0));
        let mut active: BTreeMap<MapId, Storm> = BTreeMap::new();
        let mut closed: Vec<Storm> = Vec::new();
        let mut believed: BTreeMap<(MapId, Severity), bool> = BTreeMap::new();
        let calm = [1, 2, 3].map(|id| (id, false, false, true));
        for (n, (id, opens, worsens, works)) in steps.into_iter().chain(calm).enumerate() {
            let second = n as u64 + 1;
            if opens {
                let open = active.entry(id).or_insert_with(|| storm(id, second, None));
                if worsens {
                    open.severity = match open.severity {
                        Severity::Minor => Severity::Major,
                        _ => Severity::Critical,
                    };
                }
            } else if let Some(storm) = active.remove(&id) {
                let end = Closed { at: moment(second), end: End::Calm };
                closed.insert(0, Storm { closed: Some(end), ..storm });
            }
            let now = start + Duration::from_secs(second);
            let open: Vec<_> = active.values().cloned().collect();
            outbox.observe(&board(&open, &closed), moment(second), now);
            let (tickets, storms): (Vec<_>, Vec<_>) = outbox.take(now).into_iter().unzip();
            if works {
                let told = storms.iter();
                believed.extend(told.map(|s| ((s.map_id, s.severity), s.closed.is_none())));
            }
            let sent = if works { Sent::Delivered } else { Sent::Failed };
            outbox.settle(&tickets, sent, now);
        }
        prop_assert!(outbox.is_empty());
        prop_assert!(believed.values().all(|open| !open), "{believed:?}");
    }
}
