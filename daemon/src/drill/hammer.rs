//! Fills the map, then hammers it: one pinned thread per CPU, each with work of its own.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{
        RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use mapstorm_abi::workload::{DELETE_ONLY, MAX_LOOPS, Run, Tally, Target};

use super::{DrillError, pace::Pace};
use crate::{
    config::{DrillConfig, Via},
    kernel::workload::{Workload, pin_thread},
    work::Work,
};

/// The longest a thread sleeps: it must hear soon that it is to stop.
const NAP: Duration = Duration::from_millis(20);
/// The shortest: at high rates updates are made in batches rather than one by one.
const BATCH: Duration = Duration::from_millis(1);

/// A loaded map, and how to hit it.
pub(super) struct Hammer<'a> {
    pub(super) workload: &'a Workload,
    pub(super) config: &'a DrillConfig,
    pub(super) target: Target,
    /// Set when the drill is to end early.
    pub(super) stop: &'a AtomicBool,
}

/// What the hammering came to.
pub(super) struct Blows {
    pub(super) started: SystemTime,
    pub(super) ended: SystemTime,
    /// What was done by CPU.
    pub(super) tallies: Vec<(u32, Tally)>,
}

impl Blows {
    /// What all CPUs did.
    pub(super) fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.tallies
            .iter()
            .for_each(|(_, tally)| total.merge(tally));
        total
    }
}

impl Hammer<'_> {
    /// Fills the map by system call, with the keys below `max_entries`.
    pub(super) fn fill(&self) -> Result<Tally, DrillError> {
        let mut tally = Tally::default();
        let start = Instant::now();
        for key in 0..self.config.max_entries {
            if self.stopped() {
                break;
            }
            let errno = self.workload.update(self.target, key, 0)?;
            if errno != 0 {
                let error = io::Error::from_raw_os_error(errno);
                return Err(DrillError::Fill { key, error });
            }
            tally.add(errno);
        }
        tally.ns = start.elapsed().as_nanos() as u64;
        Ok(tally)
    }

    /// Hammers from all of `cpus` at once, each with its work, until the time is over.
    pub(super) fn strike(
        &self,
        cpus: &[u32],
        works: Vec<Work>,
        time: Duration,
    ) -> Result<Blows, DrillError> {
        let before = self.workload.tallies(self.target)?;
        let mut blows = self.strike_uncounted(cpus, works, time)?;
        if self.config.via == Via::Program {
            let counted = self.workload.tallies(self.target)?;
            for (cpu, tally) in &mut blows.tallies {
                let cpu = *cpu as usize;
                let both = counted.get(cpu).zip(before.get(cpu));
                *tally = both.map(|(now, was)| now.since(was)).unwrap_or_default();
            }
        }
        Ok(blows)
    }

    /// The same; of what programs did, only they keep count.
    fn strike_uncounted(
        &self,
        cpus: &[u32],
        works: Vec<Work>,
        time: Duration,
    ) -> Result<Blows, DrillError> {
        // Everyone waits to read until nobody writes any more: they begin together.
        let gate = RwLock::new(());
        let closed = gate.write();
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(cpus.len());
            for (&cpu, work) in cpus.iter().zip(works) {
                let gate = &gate;
                let work = move || self.on_cpu(cpu, work, time, gate);
                let thread = thread::Builder::new().name(format!("drill-{cpu}"));
                match thread.spawn_scoped(scope, work) {
                    Ok(thread) => threads.push((cpu, thread)),
                    Err(error) => {
                        self.stop.store(true, Ordering::Relaxed);
                        return Err(DrillError::Thread { cpu, error });
                    }
                }
            }
            let started = SystemTime::now();
            drop(closed);
            self.show_progress(time, || {
                threads.iter().all(|(_, thread)| thread.is_finished())
            });
            let mut ended = started;
            let mut tallies = Vec::with_capacity(cpus.len());
            for (cpu, thread) in threads {
                let (tally, end) = thread.join().map_err(|_| DrillError::Panic(cpu))??;
                ended = ended.max(end);
                tallies.push((cpu, tally));
            }
            Ok(Blows {
                started,
                ended,
                tallies,
            })
        })
    }

    /// One CPU's part, from the opening of the gate on.
    fn on_cpu(
        &self,
        cpu: u32,
        mut work: Work,
        time: Duration,
        gate: &RwLock<()>,
    ) -> Result<(Tally, SystemTime), DrillError> {
        if let Err(error) = pin_thread(cpu) {
            self.stop.store(true, Ordering::Relaxed);
            return Err(DrillError::Pin { cpu, error });
        }
        drop(gate.read());
        let mut tally = Tally::default();
        let start = Instant::now();
        let mut pace = Pace::new(self.config.rate, start);
        loop {
            let now = Instant::now();
            if self.stopped() || now - start >= time {
                return Ok((tally, SystemTime::now()));
            }
            let end = start + time;
            match pace.take(now, MAX_LOOPS) {
                0 => {
                    let wait = (pace.next(now) - now).clamp(BATCH, NAP);
                    thread::sleep(wait.min(end - now));
                }
                updates => match work.next(updates) {
                    Some(run) => {
                        self.batch(run, &mut tally)?;
                        work.done(&run);
                    }
                    // Others are to come first.
                    None => thread::sleep(BATCH.min(end - now)),
                },
            }
        }
    }

    /// One batch. The programs keep their own tally.
    fn batch(&self, run: Run, tally: &mut Tally) -> Result<(), DrillError> {
        match self.config.via {
            Via::Program => self.workload.run(self.target, run)?,
            Via::Syscall => {
                let start = Instant::now();
                for turn in 0..run.loops {
                    let key = (run.first_key + (turn & run.key_mask)) as u32;
                    if run.delete != DELETE_ONLY {
                        tally.add(self.workload.update(self.target, key, run.flags)?);
                    }
                    if run.delete != 0 {
                        tally.add_delete(self.workload.delete(self.target, key)?);
                    }
                }
                tally.ns += start.elapsed().as_nanos() as u64;
            }
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits for the end, and tells a person at a terminal how far it is.
    fn show_progress(&self, time: Duration, is_over: impl Fn() -> bool) {
        let mut terminal = io::stderr();
        let is_shown = terminal.is_terminal();
        let (start, whole) = (Instant::now(), time.as_secs());
        let mut said = u64::MAX;
        while !is_over() {
            let seconds = start.elapsed().as_secs();
            if is_shown && seconds != said {
                said = seconds;
                // A terminal that cannot be written to loses its progress, nothing else.
                let _written = write!(terminal, "\rdrill: {seconds} of {whole} s ");
            }
            thread::sleep(NAP);
        }
        if is_shown {
            let _written = write!(terminal, "\r{:40}\r", "");
        }
    }
}
