//! What cannot be seen is said, and never shown as a zero.

use anyhow::{Context as _, Result, ensure};
use mapstorm_abi::{Outcome, workload::Target};
use serde_json::Value;

use super::exact::{COMING_AND_GOING, REFUSED};
use crate::tools::{
    bench::{Bench, Source, Work},
    check::{Comparison, LOST, OPERATION_DURATION, OPERATIONS, POP_DURATION, POPS},
    child,
    daemon::{Daemon, QUICK},
    guest::Guest,
    identity,
    scrape::Scrape,
};

/// What every kernel here shows in full, if it has it.
const OPERATION_SIGNALS: [&str; 6] = [
    "update",
    "pop",
    "delete",
    "lookup_and_delete",
    "batch",
    "local_storage",
];
/// Where the kernel describes its types.
const BTF: &str = "/sys/kernel/btf";

/// Without the kernel's types no probe can tell maps apart: what programs do is counted for the whole
/// host, to the unit; what system calls do is not seen, and coverage says so; nothing that is unknown
/// is shown as a zero.
pub(crate) fn o01_o15_no_btf(guest: &Guest) -> Result<()> {
    let mut doctor = guest.mapstorm(["doctor", "--json"]);
    identity::hide(&mut doctor, BTF);
    let finished = child::finish(doctor)?;
    finished.ended_with(0).context("doctor")?;
    let report = finished.json()?;
    ensure!(report["observable"] == true, "doctor: {report}");
    let mut command = guest.mapstorm([""; 0]);
    identity::hide(&mut command, BTF);
    let daemon = Daemon::launch(command, QUICK, &[])?;
    let ready = daemon.get("/-/ready")?.body;
    ensure!(ready.starts_with("ready: degraded"), "{ready}");
    let lines = daemon.log.lines();
    let said = |line: &Value| line["level"] == "WARN" && line["reason"] == "no_btf";
    ensure!(lines.iter().any(said), "the log does not say it: {lines:?}");
    let mut bench = Bench::load(guest, &[(Target::Full, 500), (Target::Churn, 500)])?;
    bench.fill(Target::Full, 0..500)?;
    let online = guest.online()?;
    for source in [Source::Program, Source::Syscall] {
        bench.hammer(
            Work {
                source,
                cpus: online.as_slice(),
                rounds: 10,
                pieces: &[REFUSED, COMING_AND_GOING],
            },
            |_| Ok(()),
        )?;
    }
    without_maps(guest, &daemon.settled()?, &bench)
}

/// Only what programs did is there, without a map. Pops are absent where no probe of any kind goes on
/// them: kernels refuse return probes, too, on a function that is built without ftrace.
fn without_maps(guest: &Guest, scrape: &Scrape, bench: &Bench) -> Result<()> {
    let mut truth = bench.by_programs(Target::Full)?;
    truth.merge(&bench.by_programs(Target::Churn)?);
    let mut comparison = Comparison::default();
    for outcome in Outcome::ALL {
        let labels = [
            ("map_id", ""),
            ("op", "update"),
            ("outcome", outcome.label()),
        ];
        let seen = scrape.find(OPERATIONS, &labels)?;
        comparison.is(outcome.label(), seen, Some(truth.count(outcome)));
    }
    for (outcome, count) in [
        ("ok", truth.removed()),
        ("empty", truth.count(Outcome::E2big)),
    ] {
        let seen = scrape.find(POPS, &[("map_id", ""), ("outcome", outcome)])?;
        comparison.is(outcome, seen, guest.pops_are_timed().then_some(count));
    }
    for name in [OPERATIONS, POPS] {
        let all = scrape.samples(name, &[]).count();
        let without = scrape.samples(name, &[("map_id", "")]).count();
        comparison.is(name, all, without);
    }
    let pops = u64::from(guest.pops_are_timed());
    for (signal, source, covered) in [
        ("update", "program", 1),
        ("update", "probe_program", 0),
        ("update", "syscall", 0),
        ("pop", "program", pops),
        ("pop", "probe_program", 0),
        ("pop", "syscall", 0),
    ] {
        let labels = [("signal", signal), ("source", source)];
        let seen = scrape.find("mapstorm_coverage", &labels)?;
        comparison.is(&format!("coverage {labels:?}"), seen, Some(covered));
    }
    for name in [
        LOST,
        OPERATION_DURATION,
        POP_DURATION,
        "mapstorm_storms_total",
    ] {
        comparison.is(name, scrape.has(name), false);
    }
    comparison.finish()
}

/// Every kernel here shows operations and pops. Since 6.13 the pop itself is out of reach: `doctor`, the
/// log, readiness and the metrics all say so, and no duration of a pop is published. Before 5.19 nobody
/// is told who waits for locks, and the same is true of them.
pub(crate) fn o14_doctor_and_daemon_say_what_they_cannot_see(guest: &Guest) -> Result<()> {
    let finished = guest.finish(["doctor", "--json"])?;
    finished.ended_with(0).context("doctor")?;
    let report = finished.json()?;
    ensure!(report["observable"] == true, "doctor: {report}");
    let signals = report["signals"].as_array().context("no signals")?;
    for signal in signals {
        let seen = signal["signal"] != "lock_wait" || guest.reports_lock_waits();
        ensure!(signal["seen_on"].is_string() == seen, "doctor: {signal}");
    }
    let daemon = Daemon::start(guest, &[])?;
    let (scrape, ready) = (daemon.settled()?, daemon.get("/-/ready")?.body);
    let lines = daemon.log.lines();
    let warned = lines.iter().any(|line| {
        line["level"] == "WARN"
            && line["hook"] == "__pcpu_freelist_pop"
            && line["reason"] == "notrace"
    });
    for signal in OPERATION_SIGNALS {
        let covered: Vec<_> = scrape
            .samples("mapstorm_coverage", &[("signal", signal)])
            .map(|sample| sample.value)
            .collect();
        // 5.14, commit 3e87f192b405: before, no hash had the command, and nothing is missing.
        let absent = signal == "lookup_and_delete" && !guest.is_at_least(5, 14);
        ensure!(
            covered.is_empty() == absent && covered.iter().all(|&ratio| ratio == 1.0),
            "coverage of {signal}: {covered:?}"
        );
    }
    lock_waits_are_told_or_refused(guest, &scrape, &lines)?;
    let labels = [("probe", "pop_out"), ("reason", "notrace")];
    let refused = scrape.find("mapstorm_probe_unavailable", &labels)?;
    if guest.pops_are_timed() {
        ensure!(report["pops"] == "pop", "doctor: pops {}", report["pops"]);
        let phase = if guest.reports_lock_waits() {
            "armed"
        } else {
            "degraded"
        };
        ensure!(ready.starts_with(&format!("ready: {phase}")), "{ready}");
        ensure!(!warned && refused.is_none(), "a pop was refused");
    } else {
        ensure!(report["pops"] == "alloc", "doctor: pops {}", report["pops"]);
        ensure!(ready.starts_with("ready: degraded"), "{ready}");
        ensure!(warned, "the log does not say it: {lines:?}");
        ensure!(refused == Some(1), "{labels:?}: {refused:?}");
        ensure!(!scrape.has(POP_DURATION), "{POP_DURATION} is published");
        let hook = [("hook", "alloc_htab_elem"), ("mechanism", "fexit")];
        let attached = scrape.sum("mapstorm_probe_attached", &hook)?;
        ensure!(attached == 1, "{attached} probes on {hook:?}");
    }
    Ok(())
}

/// Coverage, the reason why not, and the log agree.
fn lock_waits_are_told_or_refused(guest: &Guest, scrape: &Scrape, lines: &[Value]) -> Result<()> {
    let told = guest.reports_lock_waits();
    let covered = scrape.samples("mapstorm_coverage", &[("signal", "lock_wait")]);
    let covered: Vec<_> = covered.map(|sample| sample.value).collect();
    let share = f64::from(u8::from(told));
    ensure!(
        !covered.is_empty() && covered.iter().all(|&ratio| ratio == share),
        "coverage of every source: {covered:?}"
    );
    let reason = "no_tracepoint";
    for probe in ["contention_begin", "contention_end"] {
        let labels = [("probe", probe), ("reason", reason)];
        let refused = scrape.find("mapstorm_probe_unavailable", &labels)?;
        ensure!(refused == (!told).then_some(1), "{labels:?}: {refused:?}");
    }
    let said = |line: &Value| line["level"] == "WARN" && line["reason"] == reason;
    ensure!(lines.iter().any(said) != told, "the log: {lines:?}");
    Ok(())
}
