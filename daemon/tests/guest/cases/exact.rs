//! Everything that happened is counted once, on the right map, to the unit.

use anyhow::{Context as _, Result};
use mapstorm_abi::workload::Target;

use crate::tools::{
    bench::{Bench, Piece, Source, Work},
    check,
    daemon::Daemon,
    guest::Guest,
    scrape::Scrape,
};

/// Entries of every map here.
const ENTRIES: u32 = 1000;
/// How often each CPU goes through its pieces: thousands of updates of each map.
const ROUNDS: u32 = 25;

/// Keys that do not fit any more: every update is refused.
pub(crate) const REFUSED: Piece = Piece {
    target: Target::Full,
    first_key: 1_000_000,
    keys: 64,
    delete: false,
};
/// Keys that are there: every update replaces.
const REPLACED: Piece = Piece {
    target: Target::Churn,
    first_key: 0,
    keys: 32,
    delete: false,
};
/// Keys that come and go: every update inserts.
pub(crate) const COMING_AND_GOING: Piece = Piece {
    target: Target::Churn,
    first_key: 100_000,
    keys: 32,
    delete: true,
};

pub(crate) fn exact_program(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    three_maps(guest, &daemon, Source::Program, guest.online()?.as_slice())
}

pub(crate) fn exact_syscall(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    three_maps(guest, &daemon, Source::Syscall, guest.online()?.as_slice())
}

/// A full map, one that churns below full and an idle one, at the same time from all of `cpus`; and
/// nothing was lost since the daemon started.
pub(crate) fn three_maps(
    guest: &Guest,
    daemon: &Daemon,
    source: Source,
    cpus: &[u32],
) -> Result<()> {
    check::nothing_lost(&counted(guest, daemon, source, cpus)?)
}

/// The same, whatever was lost before. The scrape that was compared.
pub(crate) fn counted(
    guest: &Guest,
    daemon: &Daemon,
    source: Source,
    cpus: &[u32],
) -> Result<Scrape> {
    let mut bench = Bench::load(
        guest,
        &[
            (Target::Full, ENTRIES),
            (Target::Churn, ENTRIES),
            (Target::Idle, ENTRIES),
        ],
    )?;
    bench.fill(Target::Full, 0..ENTRIES)?;
    bench.fill(Target::Churn, REPLACED.all_keys(cpus))?;
    let work = Work {
        source,
        cpus,
        rounds: ROUNDS,
        pieces: &[REFUSED, REPLACED, COMING_AND_GOING],
    };
    bench.hammer(work, |_| Ok(()))?;
    bench.drain(Target::Full, 0..ENTRIES)?;
    bench.drain(Target::Churn, REPLACED.all_keys(cpus))?;
    bench.drain(Target::Churn, COMING_AND_GOING.all_keys(cpus))?;
    let scrape = daemon.settled()?;
    for target in [Target::Full, Target::Churn] {
        check::exact(guest, &scrape, &bench.truth(target)?)?;
    }
    check::untouched(&scrape, &bench.truth(Target::Idle)?)?;
    Ok(scrape)
}

pub(crate) fn exact_kinds(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    all_kinds(guest, &daemon, guest.online()?.as_slice())
}

/// Every other kind of hash, by programs and then by system calls, which take other ways to some.
pub(crate) fn all_kinds(guest: &Guest, daemon: &Daemon, cpus: &[u32]) -> Result<()> {
    const KINDS: [Target; 4] = [
        Target::NoPrealloc,
        Target::Percpu,
        Target::Lru,
        Target::LruPercpu,
    ];
    let pieces = KINDS.map(|target| Piece {
        target,
        first_key: 0,
        keys: 64,
        // The LRU maps take more keys than they have room for, and evict.
        delete: matches!(target, Target::NoPrealloc | Target::Percpu),
    });
    for source in [Source::Program, Source::Syscall] {
        let mut bench = Bench::load(guest, &KINDS.map(|target| (target, 128)))?;
        let work = Work {
            source,
            cpus,
            rounds: ROUNDS,
            pieces: &pieces,
        };
        bench.hammer(work, |_| Ok(()))?;
        for piece in pieces {
            bench.drain(piece.target, piece.all_keys(cpus))?;
        }
        let scrape = daemon.settled()?;
        for target in KINDS {
            let truth = bench.truth(target)?;
            check::exact(guest, &scrape, &truth).with_context(|| format!("by {source:?}"))?;
        }
        check::nothing_lost(&scrape)?;
    }
    Ok(())
}
