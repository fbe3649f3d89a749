//! The drill's own account of what it did, and the daemon's.

use anyhow::{Context as _, Result, ensure};
use mapstorm_abi::Outcome;
use serde_json::Value;

use crate::tools::{
    check::{Comparison, OPERATIONS, POPS, nothing_lost},
    daemon::Daemon,
    guest::Guest,
};

/// Runs a short drill to its end; its report.
pub(crate) fn drill(guest: &Guest, via: &str) -> Result<Value> {
    let finished = guest.finish([
        "drill",
        "full",
        "--seconds",
        "1",
        "--max-entries",
        "300",
        "--via",
        via,
        "--json",
    ])?;
    finished.ended_with(0).context("the drill")?;
    finished.json()
}

pub(crate) fn drill_agrees(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    for via in ["program", "syscall"] {
        let report = drill(guest, via)?;
        // The map is gone; the daemon goes on telling of it for a while.
        let scrape = daemon.settled()?;
        let id = report["map"]["id"].to_string();
        let map = [("map_id", &*id), ("map_name", "drill_full")];
        let count = |part: &str, field: &str| report[part][field].as_u64().unwrap_or(0);
        ensure!(count("fill", "updates") == 300, "filled: {report}");
        ensure!(count("total", "refused") > 100, "hammered: {report}");
        let mut comparison = Comparison::default();
        for outcome in Outcome::ALL {
            let of = |part: &str| report[part]["outcomes"][outcome.label()].as_u64();
            let truth = of("fill").zip(of("total")).map(|(a, b)| a + b);
            let labels = [map[0], map[1], ("outcome", outcome.label())];
            let seen = scrape.find(OPERATIONS, &labels)?;
            comparison.is(&format!("via {via}: {labels:?}"), seen, truth);
        }
        for (outcome, truth) in [("ok", 300), ("empty", count("total", "refused"))] {
            let labels = [map[0], map[1], ("outcome", outcome)];
            let seen = scrape.find(POPS, &labels)?;
            comparison.is(&format!("via {via}: pops {labels:?}"), seen, Some(truth));
        }
        comparison.finish()?;
        nothing_lost(&scrape)?;
    }
    Ok(())
}
