//! Who makes the calls that are refused: the program, or the process, and never whom it came upon.

use std::{fs, process, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use mapstorm::identity::MapId;
use mapstorm_abi::{Lost, workload::Target};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{
    drill::drill,
    exact::{COMING_AND_GOING, REFUSED},
    who::{covered, kept, map},
};
use crate::tools::{
    bench::{Bench, Source, Work},
    check::LOST,
    daemon::Daemon,
    guest::Guest,
    wait,
};

/// Entries of every map here.
const ENTRIES: u32 = 500;
/// Samples of one caller before it is enough.
const ENOUGH: u64 = 8;
/// Hides kernel addresses when it is 2.
const KPTR_RESTRICT: &str = "/proc/sys/kernel/kptr_restrict";

/// The callers that the daemon lists of a map, the heaviest first.
fn callers(daemon: &Daemon, id: MapId) -> Result<Vec<Value>> {
    let Some(map) = map(daemon, id)? else {
        return Ok(Vec::new());
    };
    Ok(map["callers"].as_array().context("no callers")?.clone())
}

/// Waits until the heaviest caller of a map was sampled often enough, and its stack has names where
/// it should have. All callers then.
fn sampled(daemon: &Daemon, id: MapId, named: bool) -> Result<Vec<Value>> {
    wait::until("samples of callers", || {
        let callers = callers(daemon, id)?;
        let Some(first) = callers.first() else {
            return Ok(None);
        };
        let frames = first["stack"].as_array().context("no stack")?;
        let function = |frame: &Value| frame == "do_syscall_64";
        let enough = first["samples"].as_u64() >= Some(ENOUGH);
        let enough = enough && (!named || frames.iter().any(function));
        Ok(enough.then_some(callers))
    })
}

/// All CPUs in one full map.
fn refused<'a>(source: Source, cpus: &'a [u32]) -> Work<'a> {
    Work {
        source,
        cpus,
        rounds: 1,
        pieces: &[REFUSED],
    }
}

pub(crate) fn callers_by_program_and_by_syscall(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let scrape = daemon.settled()?;
    for source in ["program", "syscall"] {
        ensure!(covered(&scrape, "callers", source)?, "{source}: not seen");
    }
    for source in [Source::Program, Source::Syscall] {
        let mut bench = Bench::load(guest, &[(Target::Full, ENTRIES)])?;
        bench.fill(Target::Full, 0..ENTRIES)?;
        let id = bench.workload.map_id(Target::Full)?;
        let program = bench.workload.program_id(Target::Full.program())?;
        let mut seen = Vec::new();
        bench.hammer(refused(source, online.as_slice()), |_| {
            seen = sampled(&daemon, id, true)?;
            Ok(())
        })?;
        println!("{source:?}: {}", Value::from(seen.clone()));
        for caller in &seen {
            let right = match source {
                Source::Program => {
                    caller["source"] == "program"
                        && caller["prog_id"] == program
                        && caller["prog_name"] == kept(Target::Full.program())
                        && caller["prog_type"] == "raw_tracepoint"
                }
                Source::Syscall => {
                    caller["source"] == "process"
                        && caller["pid"] == process::id()
                        && caller["comm"] == "guest-suite"
                }
            };
            ensure!(right, "{source:?}, program {program}: {caller}");
            ensure!(caller["outcome"] == "e2big", "{caller}");
        }
    }
    Ok(())
}

/// Calls that are never refused are sampled when they take unusually long, as some do on any host: an
/// interrupt or another CPU's turn comes between.
pub(crate) fn callers_of_slow_calls(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    for source in [Source::Program, Source::Syscall] {
        let mut bench = Bench::load(guest, &[(Target::Churn, ENTRIES)])?;
        let id = bench.workload.map_id(Target::Churn)?;
        let program = bench.workload.program_id(Target::Churn.program())?;
        let work = Work {
            source,
            cpus: online.as_slice(),
            rounds: 1,
            pieces: &[COMING_AND_GOING],
        };
        let mut seen = Vec::new();
        bench.hammer(work, |_| {
            seen = wait::until("samples of slow calls", || {
                let callers = callers(&daemon, id)?;
                Ok((!callers.is_empty()).then_some(callers))
            })?;
            Ok(())
        })?;
        println!("slow, {source:?}: {}", Value::from(seen.clone()));
        for caller in &seen {
            let right = match source {
                Source::Program => caller["prog_id"] == program,
                Source::Syscall => caller["pid"] == process::id(),
            };
            ensure!(right, "{source:?}, program {program}: {caller}");
            ensure!(caller["outcome"] == "ok", "{caller}");
            ensure!(caller["duration_ns"].as_u64() > Some(0), "{caller}");
        }
    }
    Ok(())
}

/// A program that softirqs run, while a process of ours is current and works on other maps: the
/// program is named, and the process is not.
pub(crate) fn callers_in_softirq(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let targets = [Target::Churn, Target::Nested];
    let mut bench = Bench::load(guest, &targets.map(|target| (target, ENTRIES)))?;
    // What the interrupt's program puts in does not fit any more.
    bench.fill(Target::Nested, 1_000_000..1_000_000 + ENTRIES)?;
    let id = bench.workload.map_id(Target::Nested)?;
    bench.workload.interrupt_on("softirq_entry")?;
    let program = bench.workload.program_id("interrupt")?;
    let work = Work {
        source: Source::Syscall,
        cpus: online.as_slice(),
        rounds: 1,
        pieces: &[COMING_AND_GOING],
    };
    let mut seen = Vec::new();
    bench.hammer(work, |_| {
        seen = sampled(&daemon, id, false)?;
        Ok(())
    })?;
    bench.workload.interrupt_off()?;
    println!("softirq: {}", Value::from(seen.clone()));
    for caller in seen {
        let right = caller["source"] == "program"
            && caller["prog_id"] == program
            && caller["prog_name"] == "interrupt";
        ensure!(right, "program {program}: {caller}");
    }
    Ok(())
}

/// A daemon that is stopped leaves samples where they are until there is no room: those that were due
/// are those that it got and those that were lost.
pub(crate) fn o12_callers_lost_are_counted(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let mut bench = Bench::load(guest, &[(Target::Full, ENTRIES)])?;
    bench.fill(Target::Full, 0..ENTRIES)?;
    // Room for some 650 samples, ten a second from each CPU; fewer where the host is busy, so that
    // one stop may not be long enough.
    let mut long = Duration::from_secs(100) / u32::try_from(online.len())?;
    let reason = [("reason", Lost::SampleDropped.label())];
    bench.hammer(refused(Source::Program, online.as_slice()), |_| {
        wait::until("the ring to overflow", || {
            daemon.signal(Signal::SIGSTOP)?;
            thread::sleep(long);
            daemon.signal(Signal::SIGCONT)?;
            long *= 2;
            let lost = daemon.settled()?.get(LOST, &reason)?;
            Ok((lost > 0).then_some(()))
        })
    })?;
    let scrape = daemon.settled()?;
    let due = scrape.get("mapstorm_caller_samples_due_total", &[])?;
    let got = scrape.sum("mapstorm_caller_samples_total", &[])?;
    let lost = scrape.get(LOST, &reason)?;
    println!("o12: {due} due, {got} got, {lost} lost");
    ensure!(lost > 0, "nothing was lost: this test sees nothing");
    ensure!(due == got + lost, "{due} due, {got} got, {lost} lost");
    Ok(())
}

/// With hidden addresses a storm is flagged all the same and its caller is told, without names on
/// its stack; the log says which setting takes them.
pub(crate) fn o13_callers_without_addresses(guest: &Guest) -> Result<()> {
    let was = fs::read_to_string(KPTR_RESTRICT).context(KPTR_RESTRICT)?;
    fs::write(KPTR_RESTRICT, "2").context(KPTR_RESTRICT)?;
    let held = with_addresses_hidden(guest);
    fs::write(KPTR_RESTRICT, was).context(KPTR_RESTRICT)?;
    held
}

fn with_addresses_hidden(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    drill(guest, "program")?;
    let opened = daemon
        .log
        .wait("a storm", |line| line["event"] == "storm_opened")?;
    let closed = daemon
        .log
        .wait("its end", |line| line["event"] == "storm_closed")?;
    for line in [&opened, &closed] {
        let callers = line["callers"].as_str().unwrap_or_default();
        ensure!(callers.contains("\"update_full\""), "{line}");
    }
    let said = daemon
        .log
        .wait("the setting", |line| line["kptr_restrict"] == "2")?;
    let remedy = said["remedy"].as_str().unwrap_or_default();
    ensure!(remedy.contains("kernel.kptr_restrict"), "{said}");
    let storms: Value = serde_json::from_str(&daemon.get("/api/v1/storms")?.body)?;
    let caller = &storms["closed"][0]["callers"][0];
    ensure!(caller["prog_name"] == "update_full", "{storms}");
    daemon.end(Signal::SIGTERM)?.in_order()
}
