//! Who uses a map, and who calls.

use anyhow::{Context as _, Result, ensure};
use mapstorm::{identity::MapId, who::ProgramId};
use mapstorm_abi::workload::Target;
use serde_json::Value;

use crate::tools::{bench::Bench, daemon::Daemon, guest::Guest, scrape::Scrape};

/// Does the daemon say that it sees all of a signal from this source?
pub(super) fn covered(scrape: &Scrape, signal: &str, source: &str) -> Result<bool> {
    let labels = [("signal", signal), ("source", source)];
    Ok(scrape.get("mapstorm_coverage", &labels)? == 1)
}

/// What `/api/v1/maps` says of one map; `None` as long as it does not know it.
pub(super) fn map(daemon: &Daemon, id: MapId) -> Result<Option<Value>> {
    let answer = daemon.get("/api/v1/maps")?;
    ensure!(
        answer.status == 200,
        "/api/v1/maps: status {}",
        answer.status
    );
    let maps: Value = serde_json::from_str(&answer.body)?;
    let maps = maps["maps"].as_array().context("no list of maps")?;
    Ok(maps.iter().find(|map| map["id"] == id).cloned())
}

/// As many bytes of a name as the kernel keeps.
pub(super) fn kept(name: &str) -> &str {
    &name[..name.len().min(15)]
}

/// The programs that use a map are those that were loaded with it, and no other.
pub(crate) fn users_of_a_map(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let targets = [Target::Full, Target::Churn, Target::LruPercpu];
    let bench = Bench::load(guest, &targets.map(|target| (target, 64)))?;
    let scrape = daemon.settled()?;
    ensure!(covered(&scrape, "users", "program")?, "users are not seen");
    for target in targets {
        let map_id = bench.workload.map_id(target)?;
        let program: ProgramId = bench.workload.program_id(target.program())?;
        let map = map(&daemon, map_id)?.context("the map is unknown")?;
        let [user] = &map["users"].as_array().context("no users")?[..] else {
            anyhow::bail!("{}: one program uses it: {map}", target.map());
        };
        ensure!(
            user["prog_id"] == program
                && user["prog_name"] == kept(target.program())
                && user["prog_type"] == "raw_tracepoint",
            "{}: {user} is not program {program}",
            target.map()
        );
        let labels = [
            ("map_id", &*map_id.to_string()),
            ("map_name", target.map()),
            ("prog_id", &program.to_string()),
            ("prog_name", kept(target.program())),
            ("prog_type", "raw_tracepoint"),
        ];
        scrape.get("mapstorm_map_user_info", &labels)?;
    }
    let id = bench.workload.map_id(Target::Full)?;
    drop(bench);
    let (id, scrape) = (id.to_string(), daemon.settled()?);
    let labels = [("map_id", &*id)];
    let users = scrape.samples("mapstorm_map_user_info", &labels).count();
    ensure!(users == 0, "the programs are gone");
    Ok(())
}
