//! The one task that looks at the kernel: every sample interval it reads the tables, folds them and
//! publishes what they say. Readers only ever see what it published.

mod schedule;

use std::{
    collections::BTreeMap,
    io,
    sync::mpsc::{Receiver, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use crate::{
    fold::{Fold, Listing},
    kernel::Armed,
    publisher::Publisher,
    snapshot::Snapshot,
    view::Phase,
};
use schedule::Schedule;

/// How often what takes system calls is read: the inventory and the misses.
const SLOW_EVERY: Duration = Duration::from_secs(1);

/// Samples until told to stop.
pub struct Sampler {
    armed: Armed,
    fold: Fold,
    publisher: Publisher,
    interval: Duration,
    window: u64,
    previous: Option<Instant>,
    slow: Slow,
}

/// What is read once in [`SLOW_EVERY`], as it last was.
#[derive(Default)]
struct Slow {
    due: Option<Instant>,
    listing: Option<Listing>,
    failing: bool,
    misses: BTreeMap<&'static str, u64>,
}

impl Sampler {
    /// A sampler of everything that is `armed`; it owns the probes from here on.
    pub fn new(armed: Armed, fold: Fold, publisher: Publisher, interval: Duration) -> Self {
        Self {
            armed,
            fold,
            publisher,
            interval,
            window: 0,
            previous: None,
            slow: Slow::default(),
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
            self.publisher.set_phase(Phase::Stopping);
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
        let (now, taken) = (Instant::now(), SystemTime::now());
        self.slow.read(&self.armed, now);
        let tables = self.armed.tables();
        let listing = self.slow.listing.as_ref();
        let folded = self
            .fold
            .fold(tables.rows(), tables.cpu_rows(), listing, now);
        self.armed.bury(self.fold.departed());
        self.window += 1;
        let before = self.previous.replace(now);
        let snapshot = Snapshot {
            window: self.window,
            taken: Some(taken),
            elapsed: before.map_or(Duration::ZERO, |before| now - before),
            misses: self.slow.misses.clone(),
            ..folded
        };
        let (cost, elapsed, maps) = (now.elapsed(), snapshot.elapsed, snapshot.maps.len());
        self.publisher.publish(snapshot, cost);
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

impl Slow {
    /// Reads again what is due. An inventory that cannot be read stays as it was.
    fn read(&mut self, armed: &Armed, now: Instant) {
        if self.due.is_some_and(|due| now < due) {
            return;
        }
        self.due = Some(now + SLOW_EVERY);
        self.misses = armed.misses();
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
}
