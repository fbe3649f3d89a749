//! Hosts that are unlike the others, and all that must not matter there.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::{exact, exactness};
use crate::tools::{
    bench::Source,
    daemon::{Daemon, QUICK},
    guest::Guest,
    identity,
};

/// Where tracefs is mounted, one place inside the other.
const TRACING: [&str; 2] = ["/sys/kernel/debug", "/sys/kernel/tracing"];
/// Bytes of the tables that every possible CPU may take, unless a flag says otherwise.
const BUDGET: u64 = 512 << 10;

/// No probe here needs tracefs: nothing changes without it.
pub(crate) fn o05_no_tracefs(guest: &Guest) -> Result<()> {
    let mut command = guest.mapstorm([""; 0]);
    for place in TRACING {
        identity::hide(&mut command, place);
    }
    let daemon = Daemon::launch(command, QUICK, &[])?;
    let online = guest.online()?;
    exact::three_maps(guest, &daemon, Source::Program, online.as_slice())?;
    exact::three_maps(guest, &daemon, Source::Syscall, online.as_slice())
}

/// Sixty-four possible processors, four of them online: every kind of map is exact, and the tables keep
/// within their budget for each.
pub(crate) fn o04_sixty_four_possible(guest: &Guest) -> Result<()> {
    let cpus = guest.cpus()?;
    let (possible, online) = (cpus.possible.len(), cpus.online.len());
    ensure!(
        (possible, online) == (64, 4),
        "{online} of {possible} CPUs are online: this suite wants 4 of 64"
    );
    let scrape = exactness::all_exact(guest)?;
    let tables = scrape.sum("mapstorm_probe_memory_bytes", &[])?;
    let most = BUDGET * possible as u64;
    ensure!(
        tables > 0 && tables <= most,
        "the tables take {tables} bytes, the budget is {most}"
    );
    Ok(())
}

/// The kernel's run-time statistics cost every program on the host: they are off before, during and
/// after, even when nobody could put them back.
pub(crate) fn o30_run_time_statistics_stay_off(guest: &Guest) -> Result<()> {
    const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
    let state = || fs::read_to_string(STATISTICS).with_context(|| STATISTICS.to_owned());
    ensure!(
        state()?.trim() == "0",
        "they are on before the daemon starts"
    );
    let daemon = Daemon::start(guest, &[])?;
    exact::three_maps(guest, &daemon, Source::Program, guest.online()?.as_slice())?;
    ensure!(state()?.trim() == "0", "the daemon has switched them on");
    daemon.end(nix::sys::signal::Signal::SIGKILL)?;
    ensure!(state()?.trim() == "0", "they are on after the daemon's end");
    Ok(())
}
