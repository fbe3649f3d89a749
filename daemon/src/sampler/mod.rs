//! The one task that looks at the kernel: every sample interval it reads the tables, folds them and
//! publishes what they say. Readers only ever see what it published.

mod callers;
mod schedule;

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use crate::{
    fold::{Fold, Listing},
    kernel::Armed,
    publisher::Publisher,
    snapshot::Snapshot,
    who::Programs,
};
use callers::Watch;
use schedule::Schedule;

/// How often what takes system calls is read: the inventory and the misses.
const SLOW_EVERY: Duration = Duration::from_secs(1);
/// From this share of slots in use on, in percent, the inventory is read at every sample: it tells
/// whose slots are free.
const SCARCE_PERCENT: usize = 75;

/// Samples until told to stop.
pub struct Sampler {
    armed: Armed,
    fold: Fold,
    publisher: Publisher,
    interval: Duration,
    window: u64,
    previous: Option<Instant>,
    slow: Slow,
    watch: Watch,
}

/// What is read once in [`SLOW_EVERY`], as it last was.
#[derive(Default)]
struct Slow {
    due: Option<Instant>,
    listing: Option<Listing>,
    failing: bool,
    programs: Arc<Programs>,
    programs_failing: bool,
    misses: BTreeMap<&'static str, u64>,
}

impl Sampler {
    /// A sampler of everything that is `armed`; it owns the probes from here on.
    pub fn new(armed: Armed, fold: Fold, publisher: Publisher, interval: Duration) -> Self {
        let watch = Watch::new(armed.own_programs());
        Self {
            armed,
            fold,
            publisher,
            interval,
            window: 0,
            previous: None,
            slow: Slow::default(),
            watch,
        }
    }

    /// Samples on a thread of its own, until `stop` is dropped at its other end or told anything.
    /// Then the probes are detached, and the thread ends.
    ///
    /// # Errors
    /// When the thread is refused.
    pub fn spawn(mut self, stop: Receiver<()>) -> io::Result<JoinHandle<()>> {
        let builder = thread::Builder::new().name("sampler".into());
        builder.spawn(move || {
            self.run(&stop);
            self.publisher.end();
            let start = Instant::now();
            drop(self.armed);
            tracing::debug!(took = ?start.elapsed(), "detached the probes");
        })
    }

    fn run(&mut self, stop: &Receiver<()>) {
        let mut schedule = Schedule::new(Instant::now(), self.interval);
        loop {
            self.sample();
            let wait = schedule.next().saturating_duration_since(Instant::now());
            match stop.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => schedule.tick(Instant::now()),
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// One window: read, fold, publish, and pass the probes' remarks on.
    fn sample(&mut self) {
        let begun = Instant::now();
        self.slow.read(&mut self.armed, begun);
        // After the inventory: a map that is counted on now and not in it may be newer.
        let (now, taken) = (Instant::now(), SystemTime::now());
        let harvest = self.armed.harvest(self.fold.gone(), now);
        let listing = self.slow.listing.as_ref();
        if harvest.room.slots_used * 100 > harvest.room.slots * SCARCE_PERCENT {
            self.slow.due = None;
        }
        self.fold.note_misses(&self.slow.misses);
        let mut folded = self.fold.fold(harvest, listing, now);
        // A map that has just become full is full now, and not when it is listed again.
        if self.fold.is_outrun() && listing.is_some_and(|listing| listing.read < begun) {
            self.slow.list(&self.armed);
            self.fold.relist(self.slow.listing.as_ref(), &mut folded);
        }
        self.window += 1;
        let before = self.previous.replace(now);
        self.look_at_callers(now);
        let mut snapshot = Snapshot {
            window: self.window,
            taken: Some(taken),
            elapsed: before.map_or(Duration::ZERO, |before| now - before),
            programs: Arc::clone(&self.slow.programs),
            misses: self.slow.misses.clone(),
            ..folded
        };
        self.watch.tell(&mut snapshot);
        self.watch.set_slow(&self.armed, &snapshot, now);
        let (cost, elapsed, maps) = (begun.elapsed(), snapshot.elapsed, snapshot.maps.len());
        self.publisher.publish(snapshot, cost);
        // Who fights is worth knowing before the map's calls have been timed for long.
        let fought = self.publisher.fought();
        if !fought.is_empty() {
            self.armed.set_slow(&fought);
        }
        tracing::debug!(
            window = self.window,
            time = %humantime::format_rfc3339_millis(taken),
            ?elapsed,
            ?cost,
            maps,
            "sampled"
        );
        self.armed.flush_remarks();
    }
}

impl Sampler {
    /// Takes the samples of callers, and lists the programs again to tell whose they are: what made
    /// a call may have been loaded just before, and may be gone soon.
    fn look_at_callers(&mut self, now: Instant) {
        let samples = self.armed.samples();
        let before = Arc::clone(&self.slow.programs);
        if !samples.is_empty() {
            self.slow.read_programs(&mut self.armed);
        }
        let programs = &self.slow.programs;
        self.watch.note(&samples, programs, &before, self.window);
        self.watch.name(now);
    }
}

impl Slow {
    /// Reads again what is due. An inventory that cannot be read stays as it was.
    fn read(&mut self, armed: &mut Armed, now: Instant) {
        if self.due.is_some_and(|due| now < due) {
            return;
        }
        self.due = Some(now + SLOW_EVERY);
        self.misses = armed.misses();
        self.read_programs(armed);
        self.list(armed);
    }

    /// Reads the inventory.
    fn list(&mut self, armed: &Armed) {
        let Some(inventory) = armed.inventory() else {
            return;
        };
        let was_failing = self.failing;
        let read = Instant::now();
        match inventory.read() {
            Ok(maps) => {
                self.listing = Some(Listing { read, maps });
                self.failing = false;
                if was_failing {
                    tracing::info!("the list of all maps can be read again");
                }
            }
            Err(error) => {
                self.failing = true;
                if !was_failing {
                    tracing::warn!(%error, "the list of all maps cannot be read and stays as it was");
                }
            }
        }
    }

    fn read_programs(&mut self, armed: &mut Armed) {
        let Some(list) = armed.programs() else {
            return;
        };
        let was_failing = self.programs_failing;
        let read = list.read();
        self.programs_failing = read.is_err();
        match read {
            Ok(programs) => self.programs = programs,
            Err(error) if !was_failing => {
                tracing::warn!(%error, "the list of all programs cannot be read and stays as it was");
            }
            Err(_) => {}
        }
    }
}
