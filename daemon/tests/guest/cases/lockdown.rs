//! A kernel that keeps its memory to itself: `lockdown=confidentiality`.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::exact;
use crate::tools::{bench::Source, daemon::Daemon, guest::Guest};

const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// What loads is exact; if nothing loads, the error names lockdown. Lockdown takes the helpers that
/// read kernel memory, and no probe uses them.
pub(crate) fn o27_lockdown(guest: &Guest) -> Result<()> {
    let state = fs::read_to_string(LOCKDOWN).with_context(|| LOCKDOWN.to_owned())?;
    ensure!(
        state.contains("[confidentiality]"),
        "the kernel is not locked down: {state}"
    );
    let finished = guest.finish(["doctor", "--json"])?;
    let report = finished.json()?;
    if report["observable"] == true {
        finished.ended_with(0)?;
        let daemon = Daemon::start(guest, &[])?;
        let online = guest.online()?;
        exact::three_maps(guest, &daemon, Source::Program, online.as_slice())?;
        return exact::three_maps(guest, &daemon, Source::Syscall, online.as_slice());
    }
    finished.ended_with(2)?;
    let finished = guest.finish(["serve", "--web.listen-address", "127.0.0.1:0"])?;
    finished.refused_with(2, &["lockdown"])?;
    Ok(())
}
