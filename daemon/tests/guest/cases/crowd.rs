//! Many CPUs on a map that has room: whatever they fight over, the map is not full.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use mapstorm::kernel::workload::pin_thread;
use mapstorm_abi::{Outcome, workload::Target};

use crate::tools::{
    bench::{Bench, Piece, Source, Work},
    bpf::program::Program,
    check::OPERATIONS,
    daemon::Daemon,
    guest::Guest,
    kinds,
    scrape::Scrape,
};

/// Windows to watch.
const WINDOWS: u64 = 30;

/// Every CPU updates one and the same key of a per-CPU hash.
pub(crate) fn o21_one_key_is_never_a_full_map(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let map = kinds::PERCPU_HASH.create(64, guest.cpus()?.possible.table_len())?;
    let update = Program::update(&map)?;
    let stop = AtomicBool::new(false);
    let (updates, seen) = thread::scope(|scope| {
        let worker = |&cpu: &u32| {
            let (update, stop) = (&update, &stop);
            scope.spawn(move || -> Result<u64> {
                pin_thread(cpu)?;
                let mut updates = 0;
                while !stop.load(Ordering::Relaxed) {
                    let errno = update.run(1, 0)?;
                    ensure!(errno != 7, "the map is full of one key");
                    updates += 1;
                }
                Ok(updates)
            })
        };
        let workers: Vec<_> = online.as_slice().iter().map(worker).collect();
        let seen = daemon.windows_later(WINDOWS);
        stop.store(true, Ordering::Relaxed);
        let join = |worker: thread::ScopedJoinHandle<'_, Result<u64>>| {
            let panicked = |_| Err(anyhow!("a worker panicked"));
            worker.join().unwrap_or_else(panicked)
        };
        let updates = workers.into_iter().map(join).sum::<Result<u64>>();
        (updates, seen)
    });
    let (updates, seen) = (updates?, seen?);
    ensure!(updates > WINDOWS * 10, "only {updates} updates");
    never_full(&daemon, &seen)?;
    let id = map.id.to_string();
    let counted = daemon.settled()?.sum(OPERATIONS, &[("map_id", &id)])?;
    ensure!(counted == updates, "{counted} updates of {updates} counted");
    Ok(())
}

/// A half-full map with few elements for very many lists: some lists begin empty, and CPUs take from
/// each other's (kernel 4b45cd81f737).
pub(crate) fn o34_stealing_is_no_full_map(guest: &Guest) -> Result<()> {
    let possible = guest.cpus()?.possible.len();
    ensure!(
        possible >= 32,
        "{possible} CPUs are possible: too few lists"
    );
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let mut bench = Bench::load(guest, &[(Target::Churn, 256)])?;
    bench.fill(Target::Churn, 0..128)?;
    let work = Work {
        source: Source::Program,
        cpus: online.as_slice(),
        rounds: 1,
        pieces: &[Piece {
            target: Target::Churn,
            first_key: 10_000,
            keys: 32,
            delete: true,
        }],
    };
    let mut seen = None;
    bench.hammer(work, |_| {
        seen = Some(daemon.windows_later(WINDOWS)?);
        Ok(())
    })?;
    let truth = bench.truth(Target::Churn)?;
    let refused = truth.outcomes[Outcome::E2big as usize];
    ensure!(refused == 0, "{refused} updates were refused");
    never_full(&daemon, &seen.context("nothing was seen")?)
}

/// No storm of a full map has opened, while something was seen to happen.
fn never_full(daemon: &Daemon, seen: &Scrape) -> Result<()> {
    ensure!(seen.sum(OPERATIONS, &[])? > WINDOWS, "nothing was seen");
    let full = [("kind", "full")];
    let storms = daemon.settled()?.get("mapstorm_storms_total", &full)?;
    ensure!(storms == 0, "{storms} storms of a full map");
    Ok(())
}
