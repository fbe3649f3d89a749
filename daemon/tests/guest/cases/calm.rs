//! Busy maps that are no storm.

use anyhow::{Result, ensure};
use mapstorm_abi::{Outcome, workload::Target};

use crate::tools::{
    bench::{Bench, Piece, Source, Work},
    daemon::Daemon,
    guest::Guest,
};

/// Windows to watch.
const WINDOWS: u64 = 30;

/// A half-full map that churns, and one at nine tenths whose keys are only replaced: both as hard as
/// every CPU can.
pub(crate) fn o20_calm(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let mut bench = Bench::load(guest, &[(Target::Churn, 1000), (Target::Full, 1000)])?;
    bench.fill(Target::Churn, 0..500)?;
    bench.fill(Target::Full, 0..900)?;
    let churned = Piece {
        target: Target::Churn,
        first_key: 10_000,
        keys: 32,
        delete: true,
    };
    let replaced = Piece {
        target: Target::Full,
        first_key: 0,
        keys: 128,
        delete: false,
    };
    let work = Work {
        source: Source::Program,
        cpus: online.as_slice(),
        rounds: 1,
        pieces: &[churned, replaced],
    };
    let mut seen = 0;
    bench.hammer(work, |_| {
        let before = daemon.scrape()?.sum("mapstorm_operations_total", &[])?;
        let after = daemon.windows_later(WINDOWS)?;
        seen = after.sum("mapstorm_operations_total", &[])? - before;
        let waits = after.sum("mapstorm_lock_wait_seconds_count", &[])?;
        println!("o20_calm: {seen} operations in {WINDOWS} windows; {waits} waits so far");
        Ok(())
    })?;
    let refused =
        |target| Ok::<_, anyhow::Error>(bench.truth(target)?.outcomes[Outcome::E2big as usize]);
    let refusals = refused(Target::Churn)? + refused(Target::Full)?;
    ensure!(refusals == 0, "{refusals} refusals: the maps were not calm");
    ensure!(
        seen > WINDOWS * 100,
        "only {seen} updates in {WINDOWS} windows"
    );
    let lines = daemon.log.lines();
    let opened = lines.iter().find(|line| line["event"] == "storm_opened");
    ensure!(opened.is_none(), "a storm opened: {opened:?}");
    let storms = daemon.settled()?.sum("mapstorm_storms_total", &[])?;
    ensure!(storms == 0, "{storms} storms");
    Ok(())
}
