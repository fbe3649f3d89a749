//! What one receiver is yet to be told: pure, with the time as an argument.
//!
//! A storm has one place here, and its newest state takes the place of an older one. There are [`CAPACITY`] places: when
//! they are taken, the oldest closed storm gives way to a new one, and without such the new one is dropped.
//!
//! The severity is a label, so a storm that gets worse is another alert to a receiver: the one it was ends, and the
//! storm has a second place until that has been told.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime},
};

use crate::{
    identity::MapId,
    storm::{Board, Closed, End, Kind, Moment, Severity, Storm},
};

/// Storms that are kept for one receiver.
pub const CAPACITY: usize = 256;
/// Storms that are told in one request.
pub const BATCH: usize = 64;

/// To a receiver, storms of one kind and severity on one map are one alert.
type Key = (MapId, Kind, Severity);

/// Storms and when each is to be told.
#[derive(Debug)]
pub struct Outbox {
    interval: Duration,
    storms: BTreeMap<Key, Entry>,
    /// The window looked at last; storms that opened later are news.
    seen: Moment,
    dropped: usize,
}

#[derive(Debug)]
struct Entry {
    storm: Storm,
    /// When it is to be told next.
    due: Instant,
    /// Counts what is news of it, so that what comes while an older state is on its way stays due.
    edition: u64,
}

/// Stands for one storm's state in a request on its way.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    key: Key,
    edition: u64,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The receiver has it.
    Delivered,
    /// The receiver does not want it: nobody tries again, but what goes on is told again in its time.
    Refused,
    /// It is to be tried again.
    Failed,
}

impl Outbox {
    /// An outbox for storms that open after `seen`; those that stay open are told every `interval`.
    pub fn new(interval: Duration, seen: Moment) -> Self {
        Self {
            interval,
            storms: BTreeMap::new(),
            seen,
            dropped: 0,
        }
    }

    /// Takes in the storms of the window that ended at `moment`. Windows may have been skipped.
    pub fn observe(&mut self, board: &Board, moment: Moment, now: Instant) {
        for storm in self.missed(board) {
            self.insert(storm, now);
        }
        let worse = self.close_ended(board, moment, now);
        for storm in &board.active {
            let key = key(storm);
            let is_news = storm.opened.window > self.seen.window || worse.contains(&key);
            match self.storms.get_mut(&key) {
                Some(entry) => entry.renew(storm.clone(), now),
                None if is_news => self.insert(storm.clone(), now),
                // Dropped when it was new.
                None => {}
            }
        }
        self.seen = moment;
    }

    /// Storms that opened and closed since the window before, the oldest first. A store may give back storms of an
    /// earlier run, whose windows were counted anew: the time tells them apart.
    fn missed(&self, board: &Board) -> Vec<Storm> {
        let is_new = |storm: &&Storm| {
            let closed = storm.closed.and_then(|closed| closed.at.time);
            closed > self.seen.time && storm.opened.window > self.seen.window
        };
        let closed = board.closed.iter().filter(is_new).cloned();
        let mut closed: Vec<_> = closed.collect();
        closed.reverse();
        closed
    }

    /// Closes what is open here and nowhere else; returns the alerts that storms have become by getting worse.
    fn close_ended(&mut self, board: &Board, moment: Moment, now: Instant) -> Vec<Key> {
        let mut worse = Vec::new();
        for (&(map, kind, severity), entry) in &mut self.storms {
            let same = |storm: &&Storm| {
                (storm.map_id, storm.kind, storm.opened) == (map, kind, entry.storm.opened)
            };
            if entry.storm.closed.is_some() {
                continue;
            }
            match board.active.iter().find(same) {
                Some(storm) if storm.severity == severity => continue,
                Some(storm) => worse.push(key(storm)),
                None => {}
            }
            let closed = board.closed.iter().find(same).cloned();
            // So many have closed since that this one is forgotten: it is over all the same.
            let storm = closed.unwrap_or_else(|| Storm {
                closed: Some(Closed {
                    at: moment,
                    end: End::Calm,
                }),
                ..entry.storm.clone()
            });
            // It is told under the labels that the receiver knows.
            entry.renew(Storm { severity, ..storm }, now);
        }
        worse
    }

    /// Finds a place for a storm that has none.
    fn insert(&mut self, storm: Storm, now: Instant) {
        let key = key(&storm);
        if let Some(entry) = self.storms.get_mut(&key) {
            return entry.renew(storm, now);
        }
        if self.storms.len() >= CAPACITY {
            self.dropped += 1;
            let closed = self.storms.iter().filter(|(_, e)| e.storm.closed.is_some());
            let oldest = closed
                .min_by_key(|(_, entry)| entry.due)
                .map(|(&key, _)| key);
            let Some(oldest) = oldest else {
                return;
            };
            self.storms.remove(&oldest);
        }
        let entry = Entry {
            storm,
            due: now,
            edition: 0,
        };
        self.storms.insert(key, entry);
    }

    /// When something is to be told next.
    pub fn due(&self) -> Option<Instant> {
        self.storms.values().map(|entry| entry.due).min()
    }

    /// What is to be told by `now`, the most urgent first, [`BATCH`] storms at most. It stays due until it is
    /// [settled](Self::settle).
    pub fn take(&self, now: Instant) -> Vec<(Ticket, Storm)> {
        let due = self.storms.iter().filter(|(_, entry)| entry.due <= now);
        let mut due: Vec<_> = due.collect();
        due.sort_by_key(|(_, entry)| entry.due);
        let batch = due.into_iter().take(BATCH);
        let told = |(&key, entry): (&Key, &Entry)| {
            let edition = entry.edition;
            (Ticket { key, edition }, entry.storm.clone())
        };
        batch.map(told).collect()
    }

    /// Notes what became of what was taken.
    pub fn settle(&mut self, tickets: &[Ticket], sent: Sent, now: Instant) {
        if sent == Sent::Failed {
            return;
        }
        for Ticket { key, edition } in tickets {
            let entry = self.storms.get_mut(key).filter(|e| e.edition == *edition);
            match entry {
                Some(entry) if entry.storm.closed.is_none() => entry.due = now + self.interval,
                Some(_) => {
                    self.storms.remove(key);
                }
                None => {}
            }
        }
    }

    /// Storms that found no place, since this was last asked.
    pub fn take_dropped(&mut self) -> usize {
        std::mem::take(&mut self.dropped)
    }

    /// Storms that have a place.
    pub fn len(&self) -> usize {
        self.storms.len()
    }

    /// Is there nothing to tell, now or later?
    pub fn is_empty(&self) -> bool {
        self.storms.is_empty()
    }
}

impl Entry {
    /// Takes a newer state of the storm, or a newer storm. It is due at once if it opened or closed.
    fn renew(&mut self, storm: Storm, now: Instant) {
        let state = |storm: &Storm| -> (Option<SystemTime>, u64, bool) {
            (
                storm.opened.time,
                storm.opened.window,
                storm.closed.is_some(),
            )
        };
        if state(&storm) != state(&self.storm) {
            self.due = self.due.min(now);
            self.edition += 1;
        }
        self.storm = storm;
    }
}

fn key(storm: &Storm) -> Key {
    (storm.map_id, storm.kind, storm.severity)
}

#[cfg(test)]
mod tests;
