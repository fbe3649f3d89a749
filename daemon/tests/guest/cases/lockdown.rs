//! A kernel that keeps its memory to itself: `lockdown=confidentiality`.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::exact;
use crate::tools::{bench::Source, daemon::Daemon, guest::Guest};

const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// What loads is exact; if nothing loads, the error names lockdown. Lockdown takes the helpers that
/// read kernel memory: only who waits for locks is told by one of them.
pub(crate) fn o27_lockdown(guest: &Guest) -> Result<()> {
    locked_down("[confidentiality]")?;
    let finished = guest.finish(["doctor", "--json"])?;
    let report = finished.json()?;
    if report["observable"] == true {
        finished.ended_with(0)?;
        let daemon = Daemon::start(guest, &[])?;
        let online = guest.online()?;
        exact::three_maps(guest, &daemon, Source::Program, online.as_slice())?;
        exact::three_maps(guest, &daemon, Source::Syscall, online.as_slice())?;
        let scrape = daemon.scrape()?;
        let covered = scrape.sum("mapstorm_coverage", &[("signal", "lock_wait")])?;
        ensure!(covered == 0, "lock waits are covered");
        let refused = [("probe", "contention_begin"), ("reason", "lockdown")];
        let refused = scrape.find("mapstorm_probe_unavailable", &refused)?;
        ensure!(refused == Some(1), "the metrics do not say why");
        return Ok(());
    }
    finished.ended_with(2)?;
    let finished = guest.finish(["serve", "--web.listen-address", "127.0.0.1:0"])?;
    finished.refused_with(2, &["lockdown"])?;
    Ok(())
}

/// Integrity alone takes nothing away.
pub(crate) fn o27_integrity(guest: &Guest) -> Result<()> {
    locked_down("[integrity]")?;
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    exact::three_maps(guest, &daemon, Source::Program, online.as_slice())?;
    exact::three_maps(guest, &daemon, Source::Syscall, online.as_slice())
}

/// Fails unless this is the machine that the suite wants.
fn locked_down(how: &str) -> Result<()> {
    let state = fs::read_to_string(LOCKDOWN).with_context(|| LOCKDOWN.to_owned())?;
    ensure!(
        state.contains(how),
        "the kernel is not locked down so: {state}"
    );
    Ok(())
}
