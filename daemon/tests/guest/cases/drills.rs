//! Storms made by the drill of their kind; and what is no storm, or ends in another way than by calm.

use std::{
    fs, io,
    path::PathBuf,
    process::{Child, Stdio},
    thread,
};

use anyhow::{Context as _, Result, ensure};
use mapstorm_abi::workload::{Run, Target};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::tools::{
    bench::Bench,
    check::STORMS,
    daemon::{Daemon, QUICK},
    guest::Guest,
    wait,
};

/// A drill, and the storm that it makes.
#[derive(Clone, Copy)]
struct Drill {
    words: &'static [&'static str],
    kind: &'static str,
    target: Target,
}

const FULL: Drill = Drill {
    words: &["full", "--max-entries", "300"],
    kind: "full",
    target: Target::Full,
};
const LRU: Drill = Drill {
    words: &["lru", "--calm-seconds", "1"],
    kind: "lru",
    target: Target::Lru,
};
const HOT_BUCKET: Drill = Drill {
    words: &["hot-bucket", "--calm-seconds", "1"],
    kind: "hot_bucket",
    target: Target::Hot,
};
const FREELIST: Drill = Drill {
    words: &["freelist", "--calm-seconds", "1"],
    kind: "freelist",
    target: Target::Freelist,
};

const ALLOC: Drill = Drill {
    words: &["alloc"],
    kind: "alloc",
    target: Target::NoPrealloc,
};

/// Refusals, by a program: no other kind is opened.
pub(crate) fn drill_of_full(guest: &Guest) -> Result<()> {
    see(guest, FULL)
}

/// Fights, by a program: each is opened by its own drill, and no other is.
pub(crate) fn drill_of_lru(guest: &Guest) -> Result<()> {
    see(guest, LRU)
}

/// The same over a bucket.
pub(crate) fn drill_of_hot_bucket(guest: &Guest) -> Result<()> {
    see(guest, HOT_BUCKET)
}

/// The same over lists of free elements.
pub(crate) fn drill_of_freelist(guest: &Guest) -> Result<()> {
    see(guest, FREELIST)
}

fn see(guest: &Guest, drill: Drill) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    drill.is_seen(guest, &daemon, "program")?;
    let active = daemon.settled()?.sum("mapstorm_storm_active", &[])?;
    ensure!(active == 0, "{active} storms are still open");
    Ok(())
}

/// The same by bpf(2): who calls is a process.
pub(crate) fn drills_by_syscall_name_their_process(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    FULL.is_seen(guest, &daemon, "syscall")
}

/// The fifth kind, where a cgroup can leave a map without memory: since 5.11 elements are charged to one.
pub(crate) fn drill_of_alloc(guest: &Guest) -> Result<()> {
    let controllers = "/sys/fs/cgroup/cgroup.subtree_control";
    fs::write(controllers, "+memory").with_context(|| controllers.to_owned())?;
    if !guest.is_at_least(5, 11) {
        let finished = guest.finish(["drill", "alloc"])?;
        return finished.refused_with(1, &["before Linux 5.11", "newer kernel"]);
    }
    let daemon = Daemon::start(guest, &[])?;
    ALLOC.is_seen(guest, &daemon, "program")
}

impl Drill {
    /// Makes it, and looks at what the daemon says of its map: this kind only, its name, its caller, its end.
    fn is_seen(self, guest: &Guest, daemon: &Daemon, via: &str) -> Result<()> {
        let Self { kind, target, .. } = self;
        let name = target.map();
        let drill = self.start(guest, via)?;
        // Where processors take turns, two of them meet at a lock only now and then: it goes on until they have.
        let has_begun = |line: &Value| line["event"] == "storm_opened" && line["map_name"] == name;
        daemon.log.wait(&format!("a storm of {kind}"), has_begun)?;
        daemon.windows_later(10)?;
        let report = drill
            .end()
            .with_context(|| format!("the drill of {kind}"))?;
        let id = &report["map"]["id"];
        let is_closed = |line: &Value| line["event"] == "storm_closed" && line["map_id"] == *id;
        let scrape = daemon.settled()?;
        let of_map = |line: &Value, event: &str| line["event"] == event && line["map_id"] == *id;
        let lines = daemon.log.lines();
        let opened: Vec<_> = lines
            .iter()
            .filter(|line| of_map(line, "storm_opened"))
            .collect();
        ensure!(
            !opened.is_empty(),
            "{kind} via {via}: no storm on map {id}: {report}; operations: {:?}",
            scrape.sum("mapstorm_operations_total", &[("map_id", &id.to_string())])
        );
        for line in &opened {
            ensure!(
                line["kind"] == kind && line["map_name"] == name,
                "{kind} via {via}: {line}"
            );
        }
        let closed = daemon.log.wait(&format!("the end of {kind}"), is_closed)?;
        let end = closed["end"].as_str().unwrap_or_default();
        ensure!(["calm", "map_gone"].contains(&end), "{closed}");
        let callers = closed["callers"].as_str().unwrap_or_default();
        let who = if via == "program" {
            // The kernel keeps fifteen characters of a program's name.
            let program = target.program();
            format!(" \"{}\"", &program[..program.len().min(15)])
        } else {
            " \"drill-".to_owned()
        };
        let source = if via == "program" {
            "program"
        } else {
            "process"
        };
        let first = callers.split(',').next().unwrap_or_default();
        ensure!(
            first.starts_with(source) && first.contains(&who),
            "{kind} via {via}: the callers are {callers:?}: {closed}"
        );
        println!("{kind} via {via}: {}", closed["evidence"]);
        Ok(())
    }

    /// Starts it for as long as it is let.
    fn start(self, guest: &Guest, via: &str) -> Result<Running> {
        let words = ["drill"].into_iter().chain(self.words.iter().copied());
        let mut command = guest.mapstorm(words);
        command.args(["--seconds", "3600", "--via", via, "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        Ok(Running(command.spawn().context("cannot start the drill")?))
    }
}

/// A drill that goes on until it is ended, or this is dropped.
struct Running(Child);

impl Running {
    /// Ends it, and takes its report.
    fn end(mut self) -> Result<Value> {
        kill(Pid::from_raw(self.0.id().try_into()?), Signal::SIGINT)?;
        let stdout = self.0.stdout.take().context("no standard output")?;
        let report = io::read_to_string(stdout)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "{status}: {report}");
        serde_json::from_str(&report).with_context(|| format!("no JSON: {report}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended and was waited for.
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Bursts of fewer refusals than two windows of evidence take, again and again: nothing opens.
pub(crate) fn bursts_open_no_storm(guest: &Guest) -> Result<()> {
    /// Refusals of a window of [`QUICK`] that are evidence.
    const EVIDENCE: u64 = 100;
    let daemon = Daemon::start(guest, &[])?;
    let mut bench = Bench::load(guest, &[(Target::Full, 300)])?;
    bench.fill(Target::Full, 0..300)?;
    let burst = Run {
        loops: EVIDENCE * 9 / 10,
        first_key: 1000,
        ..Run::default()
    };
    for _ in 0..4 {
        // Enough for one window, and never for a second one.
        thread::scope(|scope| {
            let strike = || scope.spawn(|| bench.workload.run(Target::Full, burst));
            let strikes = [strike(), strike()];
            strikes
                .into_iter()
                .try_for_each(|strike| strike.join().unwrap_or(Ok(())))
        })?;
        daemon.windows_later(3)?;
    }
    let scrape = daemon.settled()?;
    let storms = scrape.sum(STORMS, &[])?;
    ensure!(
        storms == 0,
        "{storms} storms of bursts of less than {QUICK:?}"
    );
    let refused = scrape.sum("mapstorm_operations_total", &[("outcome", "e2big")])?;
    ensure!(refused == 8 * burst.loops, "{refused} were refused");
    Ok(())
}

/// A map that goes in the middle of its storm takes the storm with it.
pub(crate) fn storm_ends_with_its_map(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let drill = FULL.start(guest, "program")?;
    let opened = daemon
        .log
        .wait("a storm", |line| line["event"] == "storm_opened")?;
    drop(drill);
    let is_its_end =
        |line: &Value| line["event"] == "storm_closed" && line["map_id"] == opened["map_id"];
    let closed = daemon.log.wait("its end", is_its_end)?;
    let end = closed["end"].as_str().unwrap_or_default();
    ensure!(["calm", "map_gone"].contains(&end), "{closed}");
    let scrape = daemon.settled()?;
    let (active, storms) = (
        scrape.sum("mapstorm_storm_active", &[])?,
        scrape.sum(STORMS, &[])?,
    );
    ensure!(
        (active, storms) == (0, 1),
        "{active} of {storms} storms are open"
    );
    Ok(())
}

/// What a daemon that was killed had seen begin is told by the next one, with its end.
pub(crate) fn storms_outlive_a_kill(guest: &Guest) -> Result<()> {
    let state = Directory::make("/run/mapstorm-state")?;
    let flags = ["--state-dir", state.path()];
    let daemon = Daemon::start(guest, &flags)?;
    let drill = FULL.start(guest, "program")?;
    let is_open = |line: &Value| line["event"] == "storm_opened";
    let opened = daemon.log.wait("a storm", is_open)?;
    wait::until("the storm to be on the disk", || {
        let written = [("outcome", "written")];
        let written = daemon
            .scrape()?
            .get("mapstorm_history_records_total", &written)?;
        Ok((written > 0).then_some(()))
    })?;
    daemon.end(Signal::SIGKILL)?;
    drop(drill);
    let daemon = Daemon::start(guest, &flags)?;
    let answer: Value = serde_json::from_str(&daemon.get("/api/v1/storms")?.body)?;
    let storms = answer["closed"].as_array().context("no storms")?;
    let [storm] = storms.as_slice() else {
        anyhow::bail!("storms of the run before: {answer}");
    };
    let same = ["map_id", "map_name", "kind"]
        .iter()
        .all(|key| storm[key] == opened[key]);
    ensure!(same, "{storm}, not {opened}");
    ensure!(storm["closed"]["end"] == "daemon_stopped", "{storm}");
    Ok(())
}

/// A directory that is gone when this is dropped.
struct Directory(PathBuf);

impl Directory {
    fn make(path: &'static str) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self(path.into()))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What stays behind in a guest goes with it.
        let _removed = fs::remove_dir_all(&self.0);
    }
}
