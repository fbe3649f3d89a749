//! More processors possible than online, and processors that come and go.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::exact;
use crate::tools::{bench::Source, daemon::Daemon, guest::Guest};

pub(crate) fn o04_program(guest: &Guest) -> Result<()> {
    roomy(guest)?;
    exact::exact_program(guest)
}

/// Three hundred possible processors, two of them online: nothing is sized for fewer.
pub(crate) fn o28_program(guest: &Guest) -> Result<()> {
    let possible = guest.cpus()?.possible.len();
    ensure!(possible >= 300, "{possible} CPUs are possible: too few");
    o04_program(guest)
}

pub(crate) fn o04_syscall(guest: &Guest) -> Result<()> {
    roomy(guest)?;
    exact::exact_syscall(guest)
}

pub(crate) fn o04_kinds(guest: &Guest) -> Result<()> {
    roomy(guest)?;
    exact::exact_kinds(guest)
}

/// A processor that comes while the daemon runs is counted on, and what it counted stays when it
/// goes.
pub(crate) fn o04_cpu_comes_and_goes(guest: &Guest) -> Result<()> {
    roomy(guest)?;
    let cpus = guest.cpus()?;
    let offline = cpus.possible.as_slice().iter().copied();
    let cpu = offline.into_iter().find(|&cpu| !cpus.online.contains(cpu));
    let cpu = cpu.context("every possible CPU is online")?;
    let daemon = Daemon::start(guest, &[])?;
    switch(cpu, true)?;
    let online = guest.online()?;
    ensure!(online.contains(cpu), "CPU {cpu} does not come: {online}");
    let held = exact::three_maps(guest, &daemon, Source::Program, online.as_slice());
    let before = daemon.settled()?;
    switch(cpu, false)?;
    held?;
    let after = daemon.settled()?;
    for name in ["mapstorm_operations_total", "mapstorm_freelist_pops_total"] {
        let (before, after) = (before.sum(name, &[])?, after.sum(name, &[])?);
        ensure!(after == before, "{name}: {before}, then {after}");
    }
    exact::three_maps(guest, &daemon, Source::Syscall, guest.online()?.as_slice())
}

/// Fails unless this is the machine that the suite wants.
fn roomy(guest: &Guest) -> Result<()> {
    let cpus = guest.cpus()?;
    let (possible, online) = (cpus.possible.len(), cpus.online.len());
    ensure!(
        possible > online,
        "{online} of {possible} CPUs are online: this suite wants fewer"
    );
    Ok(())
}

/// Brings a processor up or takes it down.
fn switch(cpu: u32, online: bool) -> Result<()> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    fs::write(&path, if online { "1" } else { "0" }).with_context(|| path)
}
