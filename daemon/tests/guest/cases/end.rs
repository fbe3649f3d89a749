//! How the daemon ends, and that nothing of it stays in the kernel.

use std::{os::unix::process::ExitStatusExt as _, time::Instant};

use anyhow::{Context as _, Result, ensure};
use mapstorm_abi::workload::Target;
use nix::sys::signal::Signal;

use crate::tools::{
    bench::{Bench, Piece, Source, Work},
    daemon::Daemon,
    guest::Guest,
    objects::{Kind, Objects},
};

/// Attach and detach, so often.
const CYCLES: u32 = 10;

pub(crate) fn clean_end(guest: &Guest) -> Result<()> {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL] {
        ends_by(guest, signal).with_context(|| format!("by {signal}"))?;
    }
    Ok(())
}

fn ends_by(guest: &Guest, signal: Signal) -> Result<()> {
    let before = Objects::now()?;
    let daemon = Daemon::start(guest, &[])?;
    let serving = Objects::now()?;
    let added = [Kind::Program, Kind::Map].map(|kind| serving.added(&before, kind));
    ensure!(
        added.iter().all(|&n| n > 0),
        "the daemon added {added:?} programs and maps: this test sees nothing"
    );
    let start = Instant::now();
    let ended = daemon.end(signal)?;
    println!(
        "clean_end: {:.2} s after {signal}",
        start.elapsed().as_secs_f64()
    );
    if signal == Signal::SIGKILL {
        let by = ended.status.signal();
        ensure!(by == Some(signal as i32), "ended by {by:?}");
    } else {
        ended.in_order()?;
        let said = ended.lines.last();
        ensure!(
            said.is_some_and(|line| line["message"] == "ended"),
            "its last line: {said:?}"
        );
    }
    Objects::back_to(&before)
}

/// Attaching and detaching, over and over, while another processor runs through what is hooked.
pub(crate) fn o37_attach_under_load(guest: &Guest) -> Result<()> {
    let online = guest.online()?;
    let mut bench = Bench::load(guest, &[(Target::Churn, 1000)])?;
    let before = Objects::now()?;
    let work = Work {
        source: Source::Program,
        cpus: online.as_slice().get(1..).context("one CPU only")?,
        rounds: 1,
        pieces: &[Piece {
            target: Target::Churn,
            first_key: 0,
            keys: 64,
            delete: true,
        }],
    };
    bench.hammer(work, |_| {
        for cycle in 1..=CYCLES {
            let daemon = Daemon::start(guest, &[])?;
            let ended = daemon.end(Signal::SIGTERM)?;
            ended.in_order().with_context(|| format!("cycle {cycle}"))?;
        }
        Ok(())
    })?;
    Objects::back_to(&before)
}
