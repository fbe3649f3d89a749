//! Disks that refuse, and disks that hang.

use std::{sync::mpsc, thread, time::Duration};

use mapstorm::{
    history::{Batch, CAPACITY, HistoryError, Keeper, Outcome},
    storm::{End, Kind, Storm, StormEvent},
};

use crate::tools::{PATIENCE, closed, moment, storm};

#[test]
fn a_disk_that_refuses_gets_the_newest_state_later_and_one_that_hangs_holds_nobody() {
    let (told, written) = mpsc::channel();
    let mut refusals = 2;
    let (keeper, mut recorder) = Keeper::start(move |batch: &Batch| {
        if refusals > 0 {
            refusals -= 1;
            return Err(HistoryError::InUse("x".into()));
        }
        told.send(batch.clone()).unwrap();
        // From now on it hangs.
        loop {
            thread::park();
        }
    })
    .unwrap();
    let first = storm("first", 1);
    recorder.note(&[StormEvent::Opened(first.clone())], [].iter(), moment(1));
    let first = closed(&first, 2, End::Calm);
    recorder.note(&[StormEvent::Closed(first.clone())], [].iter(), moment(2));
    let batch = written.recv_timeout(PATIENCE).unwrap();
    let states: Vec<_> = batch.into_values().map(|entry| entry.storm).collect();
    assert_eq!(states, [first]);
    let tally = keeper.tally();
    assert_eq!(tally.get(Outcome::Failed), 2);
    let more = 1_000 + CAPACITY as u64;
    for window in 3..3 + more {
        let storm = Storm {
            kind: Kind::HotBucket,
            ..storm("more", window)
        };
        recorder.note(&[StormEvent::Opened(storm)], [].iter(), moment(window));
    }
    assert_eq!(tally.get(Outcome::Dropped), 1_000);
    assert!(!keeper.flush(Duration::from_millis(1)));
    keeper.end(Duration::from_millis(1));
}
