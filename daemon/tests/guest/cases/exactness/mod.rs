//! The table of limits: every kind of map, every operation, from programs and by system call, counted
//! to the unit, or the cell says which metric admits why not.
//!
//! A cell is a line, `mapstorm-exact KIND OPERATION SOURCE VERDICT`; `cargo xtask test` compares them
//! with what was found before, and the README shows them.

mod batches;
mod drive;
mod elements;
mod storage;
mod verdict;

use anyhow::{Result, bail};

use crate::tools::{bench::Source, daemon::Daemon, guest::Guest, kinds::KINDS, scrape::Scrape};
use verdict::{Cell, Verdict};

/// All cells, as lines for the host.
pub(crate) fn exactness(guest: &Guest) -> Result<()> {
    let (cells, _) = cells(guest)?;
    for cell in &cells {
        println!("mapstorm-exact {cell}");
    }
    fail_on(&cells, |verdict| matches!(verdict, Verdict::Wrong(_)))
}

/// The same on this machine only, where nothing but exact will do; the scrape that was compared.
pub(crate) fn all_exact(guest: &Guest) -> Result<Scrape> {
    let (cells, scrape) = cells(guest)?;
    let strict = |verdict: &Verdict| !matches!(verdict, Verdict::Exact | Verdict::Absent);
    fail_on(&cells, strict)?;
    Ok(scrape)
}

/// How often all is done again where something was missed by chance.
const TRIES: u32 = 3;

/// What is seen of everything when no run of a program is missed.
fn cells(guest: &Guest) -> Result<(Vec<Cell>, Scrape)> {
    let mut tries = 1;
    loop {
        let found = one_try(guest)?;
        let missed = found.0.iter().any(|cell| cell.verdict.is_by_chance());
        if !missed || tries == TRIES {
            return Ok(found);
        }
        tries += 1;
        println!("exactness: something was missed, try {tries} of {TRIES}");
    }
}

fn one_try(guest: &Guest) -> Result<(Vec<Cell>, Scrape)> {
    let daemon = Daemon::start(guest, &[])?;
    let mut driven = Vec::new();
    for kind in KINDS {
        for source in [Source::Program, Source::Syscall] {
            driven.push(elements::elements(guest, kind, source)?);
        }
        driven.push(batches::batches(guest, kind)?);
    }
    driven.extend(storage::drive(guest, &daemon)?);
    let scrape = daemon.settled()?;
    let mut cells = Vec::new();
    for driven in &driven {
        cells.extend(verdict::judge(guest, &scrape, driven)?);
    }
    Ok((cells, scrape))
}

fn fail_on(cells: &[Cell], is_bad: impl Fn(&Verdict) -> bool) -> Result<()> {
    let bad = cells.iter().filter(|cell| is_bad(&cell.verdict));
    let bad: Vec<_> = bad.map(Cell::to_string).collect();
    if !bad.is_empty() {
        bail!("{}", bad.join("; "));
    }
    Ok(())
}
