//! Between the sampler and the disk: what is to be written, and the thread that writes it.

use std::{
    collections::BTreeMap,
    io, mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use super::{Entry, HistoryError, Key, Outcome, Tally};
use crate::storm::{Moment, Storm, StormEvent};

/// Storms that wait to be written at most.
pub const CAPACITY: usize = 1024;
/// Windows after which open storms are written again, as they are then.
pub const UPDATE_WINDOWS: u64 = 40;
/// How long a disk that refuses is left alone: at first, and at most.
const PATIENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// What waits to be written: each storm's newest state.
pub type Batch = BTreeMap<Key, Entry>;

/// Takes the sampler's news, and never waits for the disk.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    /// The window in which open storms were last handed on.
    updated: u64,
}

/// Writes them, on a thread of its own.
#[derive(Debug)]
pub struct Keeper {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    tally: Arc<Tally>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Batch,
    /// Some are being written.
    is_writing: bool,
    /// The daemon ends: what waits is written, or given up at the first failure.
    is_ending: bool,
    has_ended: bool,
}

impl Keeper {
    /// Starts the thread; `write` puts a batch on the disk, all of it or nothing.
    ///
    /// # Errors
    /// When the thread is refused.
    pub fn start(
        write: impl FnMut(&Batch) -> Result<(), HistoryError> + Send + 'static,
    ) -> io::Result<(Self, Recorder)> {
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("history".into());
        let thread = thread.spawn(move || own.write_all(write))?;
        let recorder = Recorder {
            shared: Arc::clone(&shared),
            updated: 0,
        };
        Ok((Self { shared, thread }, recorder))
    }

    /// What became of records so far, and will.
    pub fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.shared.tally)
    }

    /// Waits until nothing waits to be written; `false` when that takes longer than this.
    pub fn flush(&self, patience: Duration) -> bool {
        let is_busy = |state: &mut State| state.is_writing || !state.waiting.is_empty();
        self.shared.wait(patience, is_busy)
    }

    /// Writes what waits and ends the thread. A disk that hangs is left behind after this long.
    pub fn end(self, patience: Duration) {
        self.shared.change(|state| state.is_ending = true);
        if self.shared.wait(patience, |state| !state.has_ended) {
            // It has nothing left to do but to return.
            let _ended = self.thread.join();
        }
        let lost = self.shared.lock().waiting.len();
        if lost > 0 {
            tracing::error!(storms = lost, "the end of these storms was not written");
        }
    }
}

impl Recorder {
    /// Hands on what storms did in the window that ended `now`, and from time to time the open ones.
    pub fn note<'a>(
        &mut self,
        events: &[StormEvent],
        open: impl Iterator<Item = &'a Storm>,
        now: Moment,
    ) {
        let is_due = now.window >= self.updated + UPDATE_WINDOWS;
        if events.is_empty() && !is_due {
            return;
        }
        let storms = events.iter().map(StormEvent::storm);
        self.put(storms, now);
        if is_due {
            self.update(open, now);
        }
    }

    /// Hands on the open storms as they are now.
    pub fn update<'a>(&mut self, open: impl Iterator<Item = &'a Storm>, now: Moment) {
        self.updated = now.window;
        self.put(open, now);
    }

    fn put<'a>(&self, storms: impl Iterator<Item = &'a Storm>, seen: Moment) {
        let entries = storms.map(|storm| {
            let storm = storm.clone();
            Entry { storm, seen }
        });
        let entries: Vec<_> = entries.collect();
        if entries.is_empty() {
            return;
        }
        self.shared.change(|state| {
            for entry in entries {
                let key = entry.key();
                if state.waiting.len() < CAPACITY || state.waiting.contains_key(&key) {
                    state.waiting.insert(key, entry);
                } else {
                    self.shared.tally.add(Outcome::Dropped, 1);
                }
            }
        });
    }
}

impl Shared {
    /// The thread: writes what waits until the end.
    fn write_all(&self, mut write: impl FnMut(&Batch) -> Result<(), HistoryError>) {
        let [first, most] = PATIENCE;
        let mut pause: Option<Duration> = None;
        while let Some(batch) = self.next(pause) {
            let Err(error) = write(&batch) else {
                self.tally.add(Outcome::Written, batch.len());
                self.change(|state| state.is_writing = false);
                if pause.take().is_some() {
                    tracing::info!("storms can be written again");
                }
                continue;
            };
            self.tally.add(Outcome::Failed, batch.len());
            match pause {
                None => {
                    tracing::warn!(%error, "storms cannot be written; they wait, and it is tried again")
                }
                Some(_) => tracing::debug!(%error, "storms still cannot be written"),
            }
            pause = Some(pause.map_or(first, |pause| (2 * pause).min(most)));
            let is_over = self.change(|state| {
                state.is_writing = false;
                for (key, entry) in batch {
                    state.waiting.entry(key).or_insert(entry);
                }
                state.is_ending
            });
            if is_over {
                break;
            }
        }
        self.change(|state| state.has_ended = true);
    }

    /// What is to be written next, after this pause; `None` when all is and the daemon ends.
    fn next(&self, pause: Option<Duration>) -> Option<Batch> {
        if let Some(pause) = pause {
            self.wait(pause, |state| !state.is_ending);
        }
        let state = self.changed.wait_while(self.lock(), |state| {
            state.waiting.is_empty() && !state.is_ending
        });
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let batch = mem::take(&mut state.waiting);
        state.is_writing = !batch.is_empty();
        state.is_writing.then_some(batch)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Waits while this holds; `false` when it still does after this long.
    fn wait(&self, patience: Duration, holds: impl FnMut(&mut State) -> bool) -> bool {
        let waited = { &self.changed }.wait_timeout_while(self.lock(), patience, holds);
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(state);
        !waited.timed_out()
    }

    /// Whoever panicked with the lock had not left anything half done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
