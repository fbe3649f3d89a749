//! The maps of this host without a daemon: the kernel's own lists, read once.

use std::{
    collections::BTreeSet,
    fs,
    sync::Arc,
    time::{Instant, SystemTime},
};

use crate::{
    api::MapList,
    build_info::BuildInfo,
    client::Question,
    config::ServeConfig,
    facts::{Facts, Roots},
    fold::{Fold, Listing},
    http,
    identity::MapId,
    kernel::Armed,
    plan::{MAPS, SIGNALS, USERS},
    preflight::{Attempt, Preflight},
    probes::{ProbeStatus, Refusal},
    snapshot::Snapshot,
    view::{Host, View},
};

use super::MapsError;

/// The maps that are asked for. Nothing is attached to anything: what only a daemon can count is not known.
pub(super) fn list(question: &Question) -> Result<MapList, MapsError> {
    let facts = Facts::gather(&Roots::default(), &[])?;
    let [memory, _] = ServeConfig::PROBE_MEMORY;
    let mut preflight = Preflight::new(facts, memory, false)?;
    let others: Vec<_> = SIGNALS.iter().map(|(name, _)| *name).collect();
    let others: Vec<_> = { others.into_iter() }
        .filter(|name| ![MAPS, USERS].contains(name))
        .collect();
    preflight.plan.refuse(&others, &unwanted());
    let Attempt { statuses, attached } = preflight.attach()?;
    let blind = |statuses: &[ProbeStatus]| {
        let of_maps = statuses.iter().filter(|status| status.signal == MAPS);
        MapsError::Blind(of_maps.cloned().collect())
    };
    let Some(attached) = attached else {
        return Err(blind(&statuses));
    };
    let mut armed = attached.arm();
    let snapshot = read(&mut armed, &preflight)?.ok_or_else(|| blind(&statuses))?;
    let kernel = &preflight.facts.kernel;
    let host = Host {
        build: BuildInfo::THIS,
        kernel_release: kernel.release.clone(),
        freelist: kernel.generation,
        started: SystemTime::now(),
        sample_interval: ServeConfig::default().sample_interval,
    };
    let view = View {
        snapshot: Arc::new(snapshot),
        ..View::starting(host, statuses.into())
    };
    http::list_maps(&view, &question.query()).map_err(MapsError::Question)
}

/// The kernel's lists as a snapshot; `None` where it does not tell them.
fn read(armed: &mut Armed, preflight: &Preflight) -> Result<Option<Snapshot>, MapsError> {
    let now = Instant::now();
    let Some(inventory) = armed.inventory() else {
        return Ok(None);
    };
    let mut maps = inventory.read().map_err(MapsError::List)?;
    let own = own_maps();
    maps.retain(|id, _| !own.contains(id));
    // Maps come without programs where the kernel does not tell those.
    let programs = armed.programs().and_then(|list| list.read().ok());
    let listing = Listing { read: now, maps };
    let mut fold = Fold::new(None).telling(preflight.memory());
    let harvest = armed.harvest(fold.gone(), now);
    let snapshot = fold.fold(harvest, Some(&listing), now);
    Ok(Some(Snapshot {
        taken: Some(SystemTime::now()),
        programs: programs.unwrap_or_default(),
        ..snapshot
    }))
}

/// The maps that this very process holds, which are gone when it ends.
fn own_maps() -> BTreeSet<MapId> {
    let entries = fs::read_dir("/proc/self/fdinfo").into_iter().flatten();
    let texts = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
    texts.filter_map(|text| map_id(&text)).collect()
}

/// The id of the map that a descriptor stands for, if it does.
fn map_id(fdinfo: &str) -> Option<MapId> {
    let id = { fdinfo.lines() }.find_map(|line| line.strip_prefix("map_id:"));
    id?.trim().parse().ok()
}

/// Why nothing else is attached.
fn unwanted() -> Refusal {
    Refusal {
        reason: "unwanted",
        detail: "a list takes no probe".to_owned(),
        remedy: "none needed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_of_a_map_tells_its_id() {
        let of_map = "pos:\t0\nflags:\t02000002\nmap_type:\t2\nmap_id:\t39\nfrozen:\t0\n";
        assert_eq!(map_id(of_map), Some(39));
        assert_eq!(map_id("pos:\t0\nlink_type:\titer\nprog_id:\t7\n"), None);
    }
}
