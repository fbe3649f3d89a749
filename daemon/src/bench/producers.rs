//! Threads that work, each kept on a CPU of its own, and a clock that looks at what they did at equal intervals.

use std::{
    sync::{
        RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{BenchError, config::Pace};
use crate::kernel::workload::pin_thread;

/// Looks between two edges of intervals.
const TICKS: u32 = 10;
/// How long who has nothing to do waits for others.
const NAP: Duration = Duration::from_micros(50);

/// What came of one turn of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Something was done.
    Worked,
    /// Others are to come first.
    Waits,
}

/// When it is to be looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// At the end of the warm-up, and of each interval.
    Edge,
    /// In between.
    Tick,
}

/// Where cases are run.
pub(super) struct Stage<'a> {
    pub(super) pace: Pace,
    /// Set when the bench is to end early.
    pub(super) stop: &'a AtomicBool,
    progress: ProgressBar,
}

impl<'a> Stage<'a> {
    /// A stage for so many cases; how far they are shows on a terminal.
    pub(super) fn new(pace: Pace, stop: &'a AtomicBool, cases: usize) -> Self {
        let steps = u64::from(TICKS * pace.intervals()) * cases as u64;
        let progress = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {msg:28}  {eta} left");
        if let Ok(style) = style {
            progress.set_style(style);
        }
        Self {
            pace,
            stop,
            progress,
        }
    }

    /// Is it to end early?
    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Lets all work at once, each on its CPU, and looks until the time is over. `name` is the case's.
    pub(super) fn drive<W>(
        &self,
        name: &str,
        works: Vec<(u32, W)>,
        mut look: impl FnMut(Look) -> Result<(), BenchError>,
    ) -> Result<(), BenchError>
    where
        W: FnMut() -> Result<Turn, BenchError> + Send,
    {
        self.progress.set_message(name.to_owned());
        let over = AtomicBool::new(false);
        // Everyone waits to read until nobody writes any more: they begin together.
        let gate = RwLock::new(());
        let closed = gate.write();
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(works.len());
            for (cpu, work) in works {
                let (gate, over) = (&gate, &over);
                let work = move || on_cpu(cpu, work, gate, over);
                let builder = thread::Builder::new().name(format!("bench-{cpu}"));
                match builder.spawn_scoped(scope, work) {
                    Ok(thread) => threads.push((cpu, thread)),
                    Err(error) => {
                        over.store(true, Ordering::Relaxed);
                        return Err(BenchError::Thread { cpu, error });
                    }
                }
            }
            drop(closed);
            let ended = || threads.iter().any(|(_, thread)| thread.is_finished());
            let looked = self.look(&mut look, ended);
            over.store(true, Ordering::Relaxed);
            for (cpu, thread) in threads {
                thread.join().map_err(|_| BenchError::Panic(cpu))??;
            }
            looked
        })
    }

    /// Looks at every edge and tick until the time is over, someone has `ended`, or all are to end.
    fn look(
        &self,
        look: &mut impl FnMut(Look) -> Result<(), BenchError>,
        ended: impl Fn() -> bool,
    ) -> Result<(), BenchError> {
        let start = Instant::now() + self.pace.warm_up;
        let tick = self.pace.interval / TICKS;
        let ticks = TICKS * self.pace.intervals();
        for n in 0..=ticks {
            let due = start + tick * n;
            while let Some(left) = due.checked_duration_since(Instant::now()) {
                thread::sleep(left.min(Duration::from_millis(20)));
                if self.stopped() || ended() {
                    return Ok(());
                }
            }
            look(if n.is_multiple_of(TICKS) {
                Look::Edge
            } else {
                Look::Tick
            })?;
            self.progress.inc(u64::from(n > 0));
        }
        Ok(())
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.progress.finish_and_clear();
    }
}

/// One thread's part, from the opening of the gate on.
fn on_cpu(
    cpu: u32,
    mut work: impl FnMut() -> Result<Turn, BenchError>,
    gate: &RwLock<()>,
    over: &AtomicBool,
) -> Result<(), BenchError> {
    if let Err(error) = pin_thread(cpu) {
        over.store(true, Ordering::Relaxed);
        return Err(BenchError::Pin { cpu, error });
    }
    drop(gate.read());
    while !over.load(Ordering::Relaxed) {
        if work()? == Turn::Waits {
            thread::sleep(NAP);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn stage(stop: &AtomicBool) -> Stage<'_> {
        let pace = Pace {
            warm_up: Duration::from_millis(1),
            duration: Duration::from_millis(30),
            interval: Duration::from_millis(10),
        };
        Stage::new(pace, stop, 1)
    }

    #[test]
    fn every_interval_has_two_edges_and_all_work_in_it() {
        let (stop, turns) = (AtomicBool::new(false), AtomicU64::new(0));
        let work = || {
            turns.fetch_add(1, Ordering::Relaxed);
            Ok(Turn::Waits)
        };
        let (mut edges, mut ticks) = (0, 0);
        let look = |look| {
            match look {
                Look::Edge => edges += 1,
                Look::Tick => ticks += 1,
            }
            Ok(())
        };
        stage(&stop).drive("work", vec![(0, work)], look).unwrap();
        assert_eq!((edges, ticks), (4, 27));
        assert!(turns.into_inner() > 0);
    }

    #[test]
    fn what_fails_ends_all_and_is_told() {
        let stop = AtomicBool::new(false);
        let work = || Err(BenchError::Panic(7));
        let told = stage(&stop).drive::<fn() -> _>("work", vec![(0, work)], |_| Ok(()));
        assert!(matches!(told, Err(BenchError::Panic(7))), "{told:?}");
    }

    #[test]
    fn a_bench_that_is_stopped_ends_before_its_time() {
        let stop = AtomicBool::new(true);
        let mut edges = 0;
        let work = || Ok(Turn::Waits);
        let look = |_| {
            edges += 1;
            Ok(())
        };
        stage(&stop).drive("work", vec![(0, work)], look).unwrap();
        assert!(edges <= 1, "{edges}");
    }
}
