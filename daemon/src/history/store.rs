//! The last storms on disk: bounded in number and age, every commit on the disk before it is acknowledged.

use std::{
    cmp::Reverse,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use redb::{
    Database, Error, ReadableTable as _, ReadableTableMetadata as _, Table, TableDefinition,
};

use super::{
    Batch, Entry, HistoryError,
    shelf::{self, ABOUT, FORMAT, FORMAT_KEY, Shelf},
};
use crate::{
    identity::MapId,
    storm::{CLOSED_KEPT, Storm},
};

/// A storm's place: when the daemon started that saw it, milliseconds since 1970, and its [`Key`](super::Key) with the kind's label.
/// So rows are in the order in which storms opened.
type Place = (u64, u64, MapId, &'static str);

/// The table, while it is written.
type Rows<'t> = Table<'t, Place, &'static [u8]>;

const STORMS: TableDefinition<'static, Place, &[u8]> = TableDefinition::new("storms");

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Closed storms.
    pub storms: usize,
    /// Time since they closed.
    pub age: Duration,
}

impl Default for Limits {
    /// As many as readers are told, and none older than 90 days.
    fn default() -> Self {
        Self {
            storms: CLOSED_KEPT,
            age: Duration::from_secs(90 * 24 * 3600),
        }
    }
}

/// A history that can be written.
pub struct Store {
    directory: PathBuf,
    /// `None` after a failure: it must be opened anew.
    database: Option<Database>,
    run: u64,
    limits: Limits,
}

/// What a history told when it was opened.
#[derive(Debug, Default)]
pub struct Past {
    /// Storms of earlier runs, all of them closed, the newest first.
    pub storms: Vec<Storm>,
    /// How many of them the daemon had left open.
    pub left_open: usize,
    /// Records that this version cannot read; they stay in the file until they are among the oldest.
    pub unread: usize,
    /// Where that file is now which was in the way, and what was wrong with it.
    pub aside: Option<(PathBuf, String)>,
}

impl Store {
    /// Opens the history in `directory`, for a daemon that starts `now`. What an earlier run left open is closed there.
    ///
    /// # Errors
    /// When the directory or the file cannot be had, or another process has it.
    pub fn open(
        directory: &Path,
        limits: Limits,
        now: SystemTime,
    ) -> Result<(Self, Past), HistoryError> {
        let Shelf { database, aside } = shelf::open(directory)?;
        let mut store = Self {
            directory: directory.to_owned(),
            database: None,
            run: 0,
            limits,
        };
        let past = store.begin(&database, now);
        let past = past.map_err(|error| store.failed(error))?;
        store.database = Some(database);
        Ok((store, Past { aside, ..past }))
    }

    /// Writes these storms as they are now. When it returns they are on the disk, all or, after an error, none.
    ///
    /// # Errors
    /// When the disk refuses; the next call opens the file anew.
    pub fn write(&mut self, batch: &Batch, now: SystemTime) -> Result<(), HistoryError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => shelf::open(&self.directory)?.database,
        };
        let written = self.put(&database, batch, now);
        written.map_err(|error| self.failed(error))?;
        self.database = Some(database);
        Ok(())
    }

    /// Reads what there is, and makes it the past.
    fn begin(&mut self, database: &Database, now: SystemTime) -> Result<Past, Error> {
        let mut past = Past::default();
        let writer = database.begin_write()?;
        {
            writer.open_table(ABOUT)?.insert(FORMAT_KEY, FORMAT)?;
            let mut storms = writer.open_table(STORMS)?;
            let newest = storms.last()?.map_or(0, |(place, _)| place.value().0);
            self.run = millis(now).max(newest + 1);
            let mut open = Vec::new();
            for row in storms.iter()? {
                let (place, bytes) = row?;
                let Ok(entry) = serde_json::from_slice::<Entry>(bytes.value()) else {
                    past.unread += 1;
                    continue;
                };
                let was_open = entry.storm.closed.is_none();
                let seen = entry.seen;
                let storm = entry.ended();
                if was_open {
                    let (run, window, ..) = place.value();
                    let storm = storm.clone();
                    open.push(((run, window), Entry { storm, seen }));
                }
                past.storms.push(storm);
            }
            past.left_open = open.len();
            for ((run, window), entry) in &open {
                let (_, map, kind) = entry.key();
                insert(&mut storms, (*run, *window, map, kind.label()), entry)?;
            }
            self.trim(&mut storms, now)?;
        }
        writer.commit()?;
        let ended = |storm: &Storm| Reverse(storm.closed.and_then(|closed| closed.at.time));
        past.storms.sort_by_key(ended);
        let recent = |storm: &Storm| !self.is_old(storm, now);
        past.storms.retain(recent);
        past.storms.truncate(self.limits.storms);
        Ok(past)
    }

    fn put(&self, database: &Database, batch: &Batch, now: SystemTime) -> Result<(), Error> {
        let writer = database.begin_write()?;
        {
            // A file that took the place of a damaged one is new.
            writer.open_table(ABOUT)?.insert(FORMAT_KEY, FORMAT)?;
            let mut storms = writer.open_table(STORMS)?;
            for (&(window, map, kind), entry) in batch {
                insert(&mut storms, (self.run, window, map, kind.label()), entry)?;
            }
            self.trim(&mut storms, now)?;
        }
        Ok(writer.commit()?)
    }

    /// Removes the oldest closed storms, as far as there are too many or they are too old. What cannot be read counts
    /// as closed.
    fn trim(&self, storms: &mut Rows<'_>, now: SystemTime) -> Result<(), Error> {
        let most = self.limits.storms as u64;
        let mut excess = storms.len()?.saturating_sub(most);
        let mut gone = Vec::new();
        for row in storms.iter()? {
            let (place, bytes) = row?;
            let entry = serde_json::from_slice::<Entry>(bytes.value()).ok();
            let storm = entry.map(|entry| entry.storm);
            if storm.as_ref().is_some_and(|storm| storm.closed.is_none()) {
                continue;
            }
            if excess == 0 && !storm.is_some_and(|storm| self.is_old(&storm, now)) {
                break;
            }
            let (run, window, map, kind) = place.value();
            gone.push((run, window, map, kind.to_owned()));
            excess = excess.saturating_sub(1);
        }
        for (run, window, map, kind) in &gone {
            storms.remove((*run, *window, *map, kind.as_str()))?;
        }
        Ok(())
    }

    fn is_old(&self, storm: &Storm, now: SystemTime) -> bool {
        let ended = storm.closed.and_then(|closed| closed.at.time);
        let age = ended.and_then(|ended| now.duration_since(ended).ok());
        age.is_some_and(|age| age > self.limits.age)
    }

    fn failed(&self, error: Error) -> HistoryError {
        HistoryError::Disk {
            path: shelf::path(&self.directory),
            error: Box::new(error),
        }
    }
}

fn insert(
    storms: &mut Rows<'_>,
    place: (u64, u64, MapId, &str),
    entry: &Entry,
) -> Result<(), Error> {
    // The types have nothing that JSON cannot say.
    let bytes = serde_json::to_vec(entry).unwrap_or_default();
    storms.insert(place, bytes.as_slice())?;
    Ok(())
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
