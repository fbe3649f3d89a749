//! What comes back after a restart.

use std::time::Duration;

use mapstorm::{
    history::{Limits, Store},
    storm::{End, Storm, StormEvent},
    who::{Caller, ProgramType},
};

use crate::{
    by_hand,
    tools::{PATIENCE, after, batch, closed, directory, keeper, moment, open, storm},
};

#[test]
fn storms_come_back_as_they_were_and_those_left_open_are_closed_by_the_restart() {
    let directory = directory("restart");
    let (keeper, mut recorder, past) = keeper(&directory);
    assert!(past.storms.is_empty() && past.aside.is_none());
    let mut calmed = storm("calmed", 3);
    calmed.callers = by_hand::view().snapshot.callers.of(by_hand::FULL);
    assert!(
        matches!(&calmed.callers[0].caller, Caller::Program { prog_type, .. } if *prog_type == ProgramType(3))
    );
    let calmed = closed(&calmed, 5, End::Calm);
    let left = storm("left", 4);
    let events = [
        StormEvent::Opened(left.clone()),
        StormEvent::Closed(calmed.clone()),
    ];
    recorder.note(&events, [].iter(), moment(5));
    let worse = Storm {
        peak_cpus: 64,
        ..left.clone()
    };
    recorder.update([worse.clone()].iter(), moment(9));
    keeper.end(PATIENCE);
    for left_open in [1, 0] {
        let (_store, past) = open(&directory);
        let mut calmed = calmed.clone();
        // Addresses of a kernel that has gone since are kept nowhere.
        calmed
            .callers
            .iter_mut()
            .for_each(|top| top.stack = [].into());
        let ended = closed(&worse, 9, End::DaemonStopped);
        assert_eq!(past.storms, [ended, calmed]);
        assert_eq!((past.left_open, past.unread), (left_open, 0));
    }
}

#[test]
fn windows_of_another_run_are_other_storms() {
    let directory = directory("runs");
    for name in ["first", "second"] {
        let (mut store, _) = open(&directory);
        store
            .write(&batch(&[storm(name, 1)], 2), after(100))
            .unwrap();
    }
    let (_store, past) = open(&directory);
    let names: Vec<_> = past.storms.iter().map(|storm| &*storm.map_name).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn the_oldest_closed_storms_give_way_and_open_ones_do_not() {
    let directory = directory("bounded");
    let limits = Limits {
        storms: 3,
        age: Duration::from_secs(1000),
    };
    let (mut store, _) = Store::open(&directory, limits, after(100)).unwrap();
    let left = storm("open", 1);
    store.write(&batch(&[left], 1), after(100)).unwrap();
    for window in 2..8 {
        let storm = storm(&window.to_string(), window);
        let storm = closed(&storm, window, End::Calm);
        store.write(&batch(&[storm], window), after(100)).unwrap();
    }
    drop(store);
    let names = |now: u64| {
        let (_store, past) = Store::open(&directory, limits, after(now)).unwrap();
        let names = past.storms.into_iter().map(|storm| storm.map_name);
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(200), ["7", "6", "open"]);
    assert_eq!(names(1006), ["7", "6"], "too old");
    assert_eq!(names(2000), [""; 0], "all too old");
    assert_eq!(names(200), [""; 0], "gone from the file, too");
}
