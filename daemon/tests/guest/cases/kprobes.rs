//! Kprobes in pairs, where trampolines are not to be had: what programs do is counted on the right
//! map, to the unit; what bpf(2) does is not seen, and that is said.

use anyhow::{Context as _, Result, ensure};
use mapstorm_abi::{Outcome, workload::Target};
use serde_json::Value;

use super::{
    exact::{COMING_AND_GOING, REFUSED},
    storm,
};
use crate::tools::{
    bench::{Bench, Piece, Source, Truth, Work},
    check::{self, Comparison, MISSES, OPERATIONS, STORMS},
    child,
    daemon::{Daemon, QUICK},
    guest::Guest,
    identity,
    scrape::Scrape,
};

/// Without trampolines.
const FLAG: &str = "--no-trampolines";
/// Four kinds of map are updated, and some pop.
const LEAST_PAIRS: u64 = 5;
/// Entries of the full map.
const ENTRIES: u32 = 500;
/// Every kind of map that is counted, and its size. The last two take more keys than they have room
/// for, and evict.
const TARGETS: [(Target, u32); 6] = [
    (Target::Full, ENTRIES),
    (Target::Churn, ENTRIES),
    (Target::NoPrealloc, 128),
    (Target::Percpu, 128),
    (Target::Lru, 128),
    (Target::LruPercpu, 128),
];

/// Work on all of them.
fn pieces() -> [Piece; 6] {
    TARGETS.map(|(target, _)| match target {
        Target::Full => REFUSED,
        Target::Churn => COMING_AND_GOING,
        _ => Piece {
            target,
            first_key: 0,
            keys: 64,
            delete: matches!(target, Target::NoPrealloc | Target::Percpu),
        },
    })
}

/// Programs on every map first, then system calls on every map.
pub(crate) fn o15_kprobes_see_programs_only(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[FLAG])?;
    let online = guest.online()?;
    let mut bench = Bench::load(guest, &TARGETS)?;
    bench.fill(Target::Full, 0..ENTRIES)?;
    let pieces = pieces();
    for (source, rounds) in [(Source::Program, 25), (Source::Syscall, 5)] {
        let work = Work {
            source,
            cpus: online.as_slice(),
            rounds,
            pieces: &pieces,
        };
        bench.hammer(work, |_| Ok(()))?;
    }
    let scrape = daemon.settled()?;
    for (target, _) in TARGETS {
        let truth = by_programs(&bench, target)?;
        check::exact(guest, &scrape, &truth).with_context(|| format!("{target:?}"))?;
    }
    check::nothing_uncounted(&scrape)?;
    skipped(guest, &scrape, &bench)?;
    told(&daemon, &scrape)
}

/// What programs did to a map, of which nothing else is seen.
fn by_programs(bench: &Bench, target: Target) -> Result<Truth> {
    let tally = bench.by_programs(target)?;
    let truth = bench.truth(target)?;
    Ok(Truth {
        outcomes: tally.outcomes(),
        deletes: tally.delete_outcomes(),
        pops: truth
            .pops
            .map(|_| [tally.removed(), tally.count(Outcome::E2big)]),
        ..truth
    })
}

/// The runs that the kernel skipped, where it counts them, are the system calls.
fn skipped(guest: &Guest, scrape: &Scrape, bench: &Bench) -> Result<()> {
    let mut calls = 0;
    for target in [Target::Full, Target::Churn, Target::NoPrealloc] {
        let of = |truth: Truth| truth.outcomes.iter().sum::<u64>();
        calls += of(bench.truth(target)?) - of(by_programs(bench, target)?);
    }
    let mut comparison = Comparison::default();
    for probe in ["htab_update_kprobe", "htab_update_kretprobe"] {
        let missed = scrape.find(MISSES, &[("probe", probe)])?;
        let truth = guest.kernel.counts_kprobe_misses.then_some(calls);
        comparison.is(&format!("missed runs of {probe}"), missed, truth);
    }
    comparison.finish()
}

/// Coverage, readiness and the log all say what is not seen.
fn told(daemon: &Daemon, scrape: &Scrape) -> Result<()> {
    let mut comparison = Comparison::default();
    for signal in ["update", "pop"] {
        for (source, covered) in [("program", 1), ("probe_program", 0), ("syscall", 0)] {
            let labels = [("signal", signal), ("source", source)];
            let seen = scrape.find("mapstorm_coverage", &labels)?;
            comparison.is(&format!("coverage {labels:?}"), seen, Some(covered));
        }
    }
    for mechanism in ["fexit", "fentry"] {
        comparison.is(mechanism, attached(scrape, mechanism)?, 0);
    }
    let pairs = attached(scrape, "kprobe")?;
    comparison.is("return probes", attached(scrape, "kretprobe")?, pairs);
    comparison.is("there are pairs", pairs >= LEAST_PAIRS, true);
    let labels = [("reason", "no_trampolines")];
    let refused = scrape.samples("mapstorm_probe_unavailable", &labels);
    comparison.is("trampolines are refused", refused.count() > 0, true);
    comparison.finish()?;
    let ready = daemon.get("/-/ready")?.body;
    ensure!(ready.starts_with("ready: degraded"), "{ready}");
    let lines = daemon.log.lines();
    let blind = lines.iter().any(|line| {
        let message = line["message"].as_str().unwrap_or_default();
        line["level"] == "WARN" && message.contains("what bpf(2) does")
    });
    ensure!(blind, "the log does not say it: {lines:?}");
    Ok(())
}

/// Kprobes take no file of tracefs, wherever it may be mounted.
pub(crate) fn o05_kprobes_without_tracefs(guest: &Guest) -> Result<()> {
    let command = |arguments: &[&str]| {
        let mut command = guest.mapstorm(arguments);
        identity::hide(&mut command, "/sys/kernel/tracing");
        identity::hide(&mut command, "/sys/kernel/debug");
        command
    };
    let finished = child::finish(command(&["doctor", FLAG, "--json"]))?;
    finished.ended_with(0).context("doctor")?;
    let report = finished.json()?;
    let signals = report["signals"].as_array().context("no signals")?;
    let paired = ["update", "pop", "delete"];
    let paired = |signal: &&Value| paired.iter().any(|name| signal["signal"] == *name);
    let mut seen = signals.iter().filter(paired).peekable();
    ensure!(seen.peek().is_some(), "doctor: {signals:?}");
    for signal in seen {
        ensure!(signal["seen_on"].is_string(), "doctor: {signal}");
    }
    let daemon = Daemon::launch(command(&[]), QUICK, &[FLAG])?;
    let scrape = daemon.settled()?;
    let pairs = attached(&scrape, "kprobe")?;
    ensure!(pairs >= LEAST_PAIRS, "{pairs} kprobes");
    Ok(())
}

/// Probes that are attached by a mechanism.
fn attached(scrape: &Scrape, mechanism: &str) -> Result<u64> {
    scrape.sum("mapstorm_probe_attached", &[("mechanism", mechanism)])
}

/// A storm that programs make is seen as ever; one that system calls make is not, and nothing of it
/// is shown as a zero.
pub(crate) fn kprobes_storm(guest: &Guest) -> Result<()> {
    let daemon = storm::cycles(guest, &[FLAG], 2)?;
    let report = super::drill::drill(guest, "syscall")?;
    let scrape = daemon.settled()?;
    let id = report["map"]["id"].to_string();
    let operations = scrape.samples(OPERATIONS, &[("map_id", &*id)]).count();
    ensure!(operations == 0, "{operations} samples of map {id}");
    let storms = scrape.get(STORMS, &[("kind", "full")])?;
    ensure!(storms == 2, "{storms} storms");
    Ok(())
}
