//! Histories in directories of their own, and storms to put into them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use mapstorm::{
    history::{Batch, Entry, Keeper, Limits, Past, Recorder, Store},
    storm::{Closed, End, Moment, Storm},
};

use crate::by_hand;

/// Only ends a test that has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A directory of its own, empty.
pub(crate) fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("history-{name}"));
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    path
}

pub(crate) fn after(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000 + seconds)
}

/// The end of a window; one a second.
pub(crate) fn moment(window: u64) -> Moment {
    Moment {
        window,
        time: Some(after(window)),
    }
}

pub(crate) fn storm(name: &str, window: u64) -> Storm {
    Storm {
        map_name: name.to_owned(),
        opened: moment(window),
        ..by_hand::storm()
    }
}

pub(crate) fn closed(storm: &Storm, window: u64, end: End) -> Storm {
    Storm {
        closed: Some(Closed {
            at: moment(window),
            end,
        }),
        ..storm.clone()
    }
}

pub(crate) fn batch(storms: &[Storm], seen: u64) -> Batch {
    let entries = storms.iter().map(|storm| Entry {
        storm: storm.clone(),
        seen: moment(seen),
    });
    entries.map(|entry| (entry.key(), entry)).collect()
}

pub(crate) fn open(directory: &Path) -> (Store, Past) {
    Store::open(directory, Limits::default(), after(100)).unwrap()
}

/// A keeper of storms in `directory`, and what was there.
pub(crate) fn keeper(directory: &Path) -> (Keeper, Recorder, Past) {
    let (mut store, past) = open(directory);
    let write = move |batch: &Batch| store.write(batch, after(100));
    let (keeper, recorder) = Keeper::start(write).unwrap();
    (keeper, recorder, past)
}
