//! What the daemon may and may not do with fewer privileges than root's.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::exact;
use crate::tools::{
    bench::Source,
    child,
    daemon::{Daemon, QUICK},
    guest::Guest,
    identity::{self, BPF, PERFMON},
};

/// The limit on locked memory that processes had by default before 5.16, bytes.
const MEMLOCK: u64 = 64 << 10;
/// `serve` on any port.
const SERVE: [&str; 3] = ["serve", "--web.listen-address", "127.0.0.1:0"];

/// Nothing can be observed, and both commands say what is missing.
pub(crate) fn o02_no_capability(guest: &Guest) -> Result<()> {
    let mut serve = guest.mapstorm(SERVE);
    identity::as_nobody(&mut serve, &[]);
    let words = ["CAP_BPF", "CAP_PERFMON"];
    child::finish(serve)?
        .refused_with(2, &words)
        .context("serve")?;
    let mut doctor = guest.mapstorm(["doctor"]);
    identity::as_nobody(&mut doctor, &[]);
    let finished = child::finish(doctor)?;
    finished.ended_with(2).context("doctor")?;
    for word in words {
        let (said, stderr) = (&finished.stdout, &finished.stderr);
        anyhow::ensure!(said.contains(word), "doctor: no {word} in {said} {stderr}");
    }
    Ok(())
}

/// Two capabilities are enough to see everything, to the unit. Before 5.11 the limit on locked memory
/// must be high enough as well, and is named where it is not.
pub(crate) fn o02_bpf_and_perfmon_only(guest: &Guest) -> Result<()> {
    if guest.kernel.charges_memlock {
        let mut serve = guest.mapstorm(SERVE);
        identity::limit_memlock(&mut serve, MEMLOCK);
        identity::as_nobody(&mut serve, &[PERFMON, BPF]);
        let finished = child::finish(serve)?;
        finished
            .refused_with(2, &["RLIMIT_MEMLOCK"])
            .context("with little memory to lock")?;
    }
    let mut command = guest.mapstorm([""; 0]);
    identity::as_nobody(&mut command, &[PERFMON, BPF]);
    let daemon = Daemon::launch(command, QUICK, &[])?;
    exact::three_maps(guest, &daemon, Source::Program, guest.online()?.as_slice())
}

/// An unlimited limit on locked memory, as the suite has it, is what the daemon still has once it runs.
pub(crate) fn o36_unlimited_memory_stays_unlimited(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let path = format!("/proc/{}/limits", daemon.id());
    let limits = fs::read_to_string(&path).with_context(|| path)?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max locked memory"));
    let line = line.with_context(|| format!("no limit on locked memory in {limits}"))?;
    ensure!(line.matches("unlimited").count() == 2, "{line}");
    Ok(())
}
