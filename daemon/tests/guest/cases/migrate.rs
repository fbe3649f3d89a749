//! A batch that begins on one CPU and ends on another.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Result, ensure};
use nix::{
    sched::{CpuSet, sched_setaffinity},
    unistd::{Pid, gettid},
};

use crate::tools::{
    check::{self, BATCH_ELEMENTS, OPERATION_COUNT},
    daemon::Daemon,
    guest::Guest,
    kinds,
};

/// Elements of the map, all of them in one batch; and batches.
const ELEMENTS: u32 = 4096;
const BATCHES: u64 = 200;

/// One thread looks everything up again and again, while another moves it from CPU to CPU.
pub(crate) fn batches_that_migrate(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let map = kinds::PERCPU_HASH.create(ELEMENTS, guest.cpus()?.possible.table_len())?;
    let mut keys: Vec<u32> = (0..ELEMENTS).collect();
    let filled = map.update_batch(&mut keys);
    ensure!(filled.errno == 0, "the map is not filled: {filled:?}");
    let online = guest.online()?;
    let (me, stop) = (gettid(), AtomicBool::new(false));
    let (mut calls, mut elements, mut moves) = (0, 0, 0);
    thread::scope(|scope| -> Result<()> {
        let mover = scope.spawn(|| {
            let mut moves = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                for &cpu in online.as_slice() {
                    moves += u64::from(run_on(me, &[cpu]).is_ok());
                }
            }
            moves
        });
        for _ in 0..BATCHES {
            for batch in map.lookup_batches(ELEMENTS as usize) {
                calls += 1;
                elements += u64::from(batch.count);
            }
        }
        stop.store(true, Ordering::Relaxed);
        moves = mover.join().unwrap_or(0);
        Ok(())
    })?;
    run_on(me, online.as_slice())?;
    ensure!(moves > BATCHES, "only {moves} moves");
    let scrape = daemon.settled()?;
    let id = map.id.to_string();
    let labels = [("map_id", &*id), ("op", "lookup_batch")];
    let mut comparison = check::Comparison::default();
    comparison.is("timed", scrape.find(OPERATION_COUNT, &labels)?, Some(calls));
    comparison.is(
        "elements",
        scrape.find(BATCH_ELEMENTS, &labels)?,
        Some(elements),
    );
    comparison.finish()?;
    check::nothing_lost(&scrape)
}

/// Lets a thread run on these CPUs only.
fn run_on(thread: Pid, cpus: &[u32]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu as usize)?;
    }
    sched_setaffinity(thread, &set)
}
