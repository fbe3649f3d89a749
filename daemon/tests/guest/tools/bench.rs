//! Work on maps of our own, of which everything is known: what was done, and how it ended.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use mapstorm::{
    identity::{MapId, MapType},
    kernel::workload::{Workload, pin_thread},
};
use mapstorm_abi::{
    Outcome,
    workload::{Run, Tally, Target},
};

use super::guest::Guest;

/// Updates of one piece in one round on one CPU.
const LOOPS: u32 = 100;

/// Who updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Program,
    Syscall,
}

/// Updates of one map, on each CPU with keys of its own: `first_key + cpu × keys` and on.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) target: Target,
    pub(crate) first_key: u32,
    /// How many keys; a power of two.
    pub(crate) keys: u32,
    /// Delete each key right after its update?
    pub(crate) delete: bool,
}

/// What every CPU does, all at the same time.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) source: Source,
    pub(crate) cpus: &'a [u32],
    /// How often at least each CPU goes through the pieces.
    pub(crate) rounds: u32,
    pub(crate) pieces: &'a [Piece],
}

/// The maps, their programs, and what was done by system call.
pub(crate) struct Bench {
    pub(crate) workload: Workload,
    calls: BTreeMap<Target, Tally>,
}

/// What is true of one map.
#[derive(Debug)]
pub(crate) struct Truth {
    pub(crate) id: MapId,
    pub(crate) name: &'static str,
    pub(crate) kind: MapType,
    /// Updates by outcome.
    pub(crate) outcomes: [u64; Outcome::COUNT],
    /// Deletes by outcome.
    pub(crate) deletes: [u64; Outcome::COUNT],
    /// Pops that gave an element, and that found none; `None` for a map without a freelist.
    pub(crate) pops: Option<[u64; 2]>,
}

impl Bench {
    /// Creates the maps with these sizes.
    pub(crate) fn load(guest: &Guest, targets: &[(Target, u32)]) -> Result<Self> {
        let possible = guest.cpus()?.possible.table_len();
        let workload = Workload::load(targets, possible).context("the workload")?;
        let calls = BTreeMap::new();
        Ok(Self { workload, calls })
    }

    /// Puts every key into the map, by system call. A lock that was not had in time (6.15 and newer,
    /// on a busy host) is tried again.
    pub(crate) fn fill(&mut self, target: Target, keys: Range<u32>) -> Result<()> {
        let calls = self.calls.entry(target).or_default();
        for key in keys {
            let mut tries = 0;
            loop {
                let errno = self.workload.update(target, key, 0)?;
                calls.add(errno);
                if errno == 0 {
                    break;
                }
                tries += 1;
                ensure!(tries < 100, "key {key} does not go in: errno {errno}");
            }
        }
        Ok(())
    }

    /// Takes out every key that is in the map, by system call.
    pub(crate) fn drain(&mut self, target: Target, keys: Range<u32>) -> Result<()> {
        let calls = self.calls.entry(target).or_default();
        loop {
            let mut removed = 0;
            for key in keys.clone() {
                let errno = self.workload.delete(target, key)?;
                calls.add_delete(errno);
                removed += u64::from(errno == 0);
            }
            // A second pass finds what a lock withheld from the first.
            if removed == 0 {
                return Ok(());
            }
        }
    }

    /// Does the work on all CPUs at once, and goes on with it for as long as `meanwhile` takes.
    pub(crate) fn hammer(
        &mut self,
        work: Work<'_>,
        meanwhile: impl FnOnce(&Workload) -> Result<()>,
    ) -> Result<()> {
        let (start, stop) = (Barrier::new(work.cpus.len()), AtomicBool::new(false));
        let workload = &self.workload;
        let (done, result) = thread::scope(|scope| {
            let worker = |&cpu: &u32| {
                let (start, stop) = (&start, &stop);
                scope.spawn(move || {
                    let pinned = pin_thread(cpu);
                    start.wait();
                    pinned?;
                    work.on_cpu(workload, cpu, stop)
                })
            };
            let workers: Vec<_> = work.cpus.iter().map(worker).collect();
            let result = meanwhile(workload);
            stop.store(true, Ordering::Relaxed);
            let join = |worker: thread::ScopedJoinHandle<'_, _>| {
                let panicked = |_| Err(anyhow!("a worker panicked"));
                worker.join().unwrap_or_else(panicked)
            };
            (workers.into_iter().map(join).collect::<Vec<_>>(), result)
        });
        for tallies in done {
            for (target, tally) in tallies? {
                self.calls.entry(target).or_default().merge(&tally);
            }
        }
        result
    }

    /// What programs did to a map.
    pub(crate) fn by_programs(&self, target: Target) -> Result<Tally> {
        let mut sum = Tally::default();
        for tally in self.workload.tallies(target)? {
            sum.merge(&tally);
        }
        Ok(sum)
    }

    /// What is true of a map that was drained.
    ///
    /// Every element that came off the freelist went back by a delete, whether it was inserted once
    /// or replaced in between; and an update that was refused as too big popped nothing.
    pub(crate) fn truth(&self, target: Target) -> Result<Truth> {
        let mut all = self.by_programs(target)?;
        if let Some(calls) = self.calls.get(&target) {
            all.merge(calls);
        }
        let kind = kind(target);
        let pops = matches!(target, Target::NoPrealloc | Target::Lru | Target::LruPercpu);
        Ok(Truth {
            id: self.workload.map_id(target)?,
            name: target.map(),
            kind,
            outcomes: all.outcomes(),
            deletes: all.delete_outcomes(),
            pops: (!pops).then(|| [all.removed(), all.count(Outcome::E2big)]),
        })
    }
}

impl Work<'_> {
    /// One CPU's part. Programs keep their own tallies.
    fn on_cpu(
        &self,
        workload: &Workload,
        cpu: u32,
        stop: &AtomicBool,
    ) -> Result<BTreeMap<Target, Tally>> {
        let mut tallies = BTreeMap::<Target, Tally>::new();
        let mut rounds = 0;
        while rounds < self.rounds || !stop.load(Ordering::Relaxed) {
            rounds += 1;
            for piece in self.pieces {
                match self.source {
                    Source::Program => workload.run(piece.target, piece.run(cpu))?,
                    Source::Syscall => {
                        piece.call(workload, cpu, tallies.entry(piece.target).or_default())?;
                    }
                }
            }
        }
        Ok(tallies)
    }
}

impl Piece {
    /// All keys that these CPUs use.
    pub(crate) fn all_keys(&self, cpus: &[u32]) -> Range<u32> {
        let last = cpus.iter().max().copied().unwrap_or(0);
        self.first_key..self.first_key + (last + 1) * self.keys
    }

    fn run(&self, cpu: u32) -> Run {
        Run {
            loops: LOOPS.into(),
            first_key: (self.first_key + cpu * self.keys).into(),
            key_mask: (self.keys - 1).into(),
            flags: 0,
            delete: self.delete.into(),
        }
    }

    fn call(&self, workload: &Workload, cpu: u32, tally: &mut Tally) -> Result<()> {
        for turn in 0..LOOPS {
            let key = self.first_key + cpu * self.keys + (turn & (self.keys - 1));
            tally.add(workload.update(self.target, key, 0)?);
            if self.delete {
                tally.add_delete(workload.delete(self.target, key)?);
            }
        }
        Ok(())
    }
}

fn kind(target: Target) -> MapType {
    match target {
        Target::Full
        | Target::Churn
        | Target::Idle
        | Target::NoPrealloc
        | Target::Nested
        | Target::Hot
        | Target::Freelist => MapType::HASH,
        Target::Percpu => MapType::PERCPU_HASH,
        Target::Lru => MapType::LRU_HASH,
        Target::LruPercpu => MapType::LRU_PERCPU_HASH,
    }
}
