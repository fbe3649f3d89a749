//! Storms open and close when they should, by the daemon's own windows.

use std::{collections::BTreeMap, time::SystemTime};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::drill::drill;
use crate::tools::{check::STORMS, daemon::Daemon, guest::Guest, log::Log};

/// Drills, each a storm.
const CYCLES: u64 = 20;
/// Windows from a drill's start to its storm's opening, and from its end to the close, at most.
const OPENS_WITHIN: usize = 4;
const CLOSES_WITHIN: usize = 8;
/// The daemon's default.
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(250);

pub(crate) fn o20_storm_cycles(guest: &Guest) -> Result<()> {
    cycles(guest, &[], CYCLES).map(drop)
}

/// As many drills, each seen as a storm by a daemon with these flags; the daemon.
pub(crate) fn cycles(guest: &Guest, flags: &[&str], cycles: u64) -> Result<Daemon> {
    let daemon = Daemon::launch(guest.mapstorm([""; 0]), INTERVAL, flags)?;
    let (mut slowest_to_open, mut slowest_to_close) = (0, 0);
    for cycle in 1..=cycles {
        let report = drill(guest, "program")?;
        let (to_open, to_close) =
            follow(&daemon.log, &report).with_context(|| format!("cycle {cycle} of {cycles}"))?;
        slowest_to_open = slowest_to_open.max(to_open);
        slowest_to_close = slowest_to_close.max(to_close);
    }
    println!(
        "o20_storm_cycles: opened within {slowest_to_open} windows, closed within {slowest_to_close}"
    );
    let scrape = daemon.settled()?;
    let storms = scrape.get(STORMS, &[("kind", "full")])?;
    ensure!(storms == cycles, "{storms} storms in {cycles} drills");
    let active = scrape.sum("mapstorm_storm_active", &[])?;
    ensure!(active == 0, "{active} storms are still open");
    Ok(daemon)
}

/// Windows that one drill's storm took to open and to close.
fn follow(log: &Log, report: &Value) -> Result<(usize, usize)> {
    let id = &report["map"]["id"];
    let event = |event: &str| {
        let of_map = |line: &Value| line["event"] == event && line["map_id"] == *id;
        log.wait(&format!("{event} of map {id}"), of_map)
    };
    let (opened, closed) = (event("storm_opened")?, event("storm_closed")?);
    for line in [&opened, &closed] {
        let named = line["kind"] == "full" && line["map_name"] == "drill_full";
        ensure!(named && line["map_type"] == "hash", "{line}");
    }
    ensure!(closed["end"] == "calm", "{closed}");
    let number = |line: &Value| line["window"].as_u64().context("a storm without a window");
    let windows = windows(log)?;
    let passed = |since: &Value, window: u64| -> Result<usize> {
        let since = time(since)?;
        let until = windows.range(..=window);
        Ok(until.filter(|(_, ended)| **ended > since).count())
    };
    let to_open = passed(&report["started"], number(&opened)?)?;
    let to_close = passed(&report["ended"], number(&closed)?)?;
    ensure!(
        (1..=OPENS_WITHIN).contains(&to_open),
        "opened {to_open} windows after the drill's start at {}: {opened}",
        report["started"]
    );
    ensure!(
        (1..=CLOSES_WITHIN).contains(&to_close),
        "closed {to_close} windows after the drill's end at {}: {closed}",
        report["ended"]
    );
    Ok((to_open, to_close))
}

/// When each window ended, as the daemon logged it.
fn windows(log: &Log) -> Result<BTreeMap<u64, SystemTime>> {
    let lines = log.lines();
    let sampled = lines.iter().filter(|line| line["message"] == "sampled");
    let window = |line: &Value| {
        let number = line["window"].as_u64();
        let number = number.with_context(|| format!("no window in {line}"))?;
        Ok((number, time(&line["time"])?))
    };
    sampled.map(window).collect()
}

/// A moment as both programs write it.
fn time(value: &Value) -> Result<SystemTime> {
    let text = value.as_str().unwrap_or_default();
    humantime::parse_rfc3339(text).with_context(|| format!("no time: {value}"))
}
