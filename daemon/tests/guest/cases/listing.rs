//! The inventory: every map, its name and its memory, whoever made it.

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context as _, Result, ensure};
use mapstorm::identity::{MapType, NO_PREALLOC, printable_name};
use mapstorm_abi::{Outcome, workload::Target};

use super::exact::COMING_AND_GOING;
use crate::tools::{
    bench::{Bench, Source, Work},
    check::Comparison,
    daemon::Daemon,
    guest::Guest,
    maps::{RawMap, Spec},
    objects::{Kind, Objects},
    scrape::Scrape,
};

const INFO: &str = "mapstorm_map_info";
const MEMORY: &str = "mapstorm_map_memory_bytes";

/// Fifty maps of one name are fifty maps.
pub(crate) fn o07_fifty_maps_of_one_name(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let spec = Spec {
        name: b"same_name",
        ..Spec::default()
    };
    let maps: Vec<_> = (0..50)
        .map(|_| RawMap::create(spec, None, 1))
        .collect::<Result<_>>()?;
    let scrape = daemon.settled()?;
    let named = scrape.samples(INFO, &[("map_name", "same_name")]);
    let listed: BTreeSet<_> = named
        .map(|sample| sample.labels["map_id"].clone())
        .collect();
    let made: BTreeSet<_> = maps.iter().map(RawMap::id).collect::<Result<_>>()?;
    ensure!(made.len() == 50 && listed == made, "listed: {listed:?}");
    Ok(())
}

/// Names that are no text stay apart, and the scrape can be read; a name of fifteen bytes is whole.
pub(crate) fn o09_names_that_are_no_text(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    // The kernel takes letters, digits, `_` and `.` only, and sees no letter in 0xe9 or 0xe8 but on
    // kernels whose ctype table is Latin-1, which all of these are.
    let names: [&[u8]; 3] = [b"m\xe9", b"m\xe8", b"fifteen_bytes_x"];
    let maps = names.map(|name| {
        let spec = Spec {
            name,
            ..Spec::default()
        };
        RawMap::create(spec, None, 1)
    });
    let scrape = daemon.settled()?;
    for (map, name) in maps.into_iter().zip(names) {
        let (id, kernel_name) = map?.identity()?;
        ensure!(kernel_name.starts_with(name), "{kernel_name:?}");
        let (id, name) = (id.to_string(), printable_name(name));
        scrape.get(INFO, &[("map_id", &id), ("map_name", &name)])?;
    }
    Ok(())
}

/// Types whose memory is told by the kernel's own number on every kernel.
const SPECS: [Spec<'static>; 14] = {
    const fn spec(kind: MapType, key_size: u32, value_size: u32, flags: u32) -> Spec<'static> {
        Spec {
            kind,
            key_size,
            value_size,
            max_entries: 1000,
            flags,
            name: b"measured",
        }
    }
    /// `BPF_F_NO_COMMON_LRU` and `BPF_F_MMAPABLE`.
    const PER_CPU_LRU: u32 = 2;
    const MMAPABLE: u32 = 1 << 10;
    [
        spec(MapType::HASH, 4, 8, 0),
        spec(MapType::HASH, 13, 27, 0),
        spec(MapType::HASH, 4, 8, NO_PREALLOC),
        spec(MapType::PERCPU_HASH, 4, 12, 0),
        spec(MapType::PERCPU_HASH, 4, 12, NO_PREALLOC),
        spec(MapType::LRU_HASH, 4, 8, 0),
        spec(MapType::LRU_HASH, 4, 8, PER_CPU_LRU),
        spec(MapType::LRU_PERCPU_HASH, 4, 20, 0),
        spec(MapType::ARRAY, 4, 12, 0),
        spec(MapType::ARRAY, 4, 12, MMAPABLE),
        spec(MapType::PERCPU_ARRAY, 4, 12, 0),
        spec(MapType::PROG_ARRAY, 4, 4, 0),
        spec(MapType::QUEUE, 0, 12, 0),
        spec(MapType::STACK_TRACE, 4, 80, 0),
    ]
};

/// `mapstorm maps --local` tells the same without a daemon: every map, its size and its memory.
pub(crate) fn maps_without_a_daemon(guest: &Guest) -> Result<()> {
    let cpus = guest.cpus()?.possible.len();
    let maps = SPECS.map(|spec| RawMap::create(spec, None, cpus));
    let maps = maps.into_iter().collect::<Result<Vec<_>>>()?;
    let question = ["--name", "measured", "--limit", "50", "--json"];
    let finished = guest.finish(["maps", "--local"].into_iter().chain(question))?;
    finished.ended_with(0)?;
    let told = finished.json()?;
    let listed = told["maps"].as_array().context("no maps")?;
    ensure!(listed.len() == maps.len(), "{told}");
    for (map, spec) in maps.iter().zip(&SPECS) {
        let id: u32 = map.id()?.parse()?;
        let entry = listed.iter().find(|entry| entry["id"] == id);
        let entry = entry.with_context(|| format!("map {id} of {spec:?} is not in {told}"))?;
        let sizes =
            ["max_entries", "key_size", "value_size", "flags"].map(|key| entry[key].as_u64());
        let truth = [spec.max_entries, spec.key_size, spec.value_size, spec.flags];
        ensure!(
            sizes == truth.map(|size| Some(size.into())),
            "{spec:?}: {entry}"
        );
        ensure!(entry["memory_bytes"] == map.memlock()?, "{spec:?}: {entry}");
    }
    Ok(())
}

/// Memory is what the kernel says, for maps with something in them; and where it only estimates,
/// that is said.
pub(crate) fn o23_memory_is_what_the_kernel_says(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let cpus = guest.cpus()?.possible.len();
    let inner = RawMap::create(Spec::default(), None, cpus)?;
    let ring = Spec {
        kind: MapType::RINGBUF,
        key_size: 0,
        value_size: 0,
        max_entries: 16384,
        ..Spec::default()
    };
    let of_maps = Spec {
        kind: MapType::HASH_OF_MAPS,
        value_size: 4,
        ..SPECS[0]
    };
    let mut maps = vec![
        ("ring", RawMap::create(ring, None, cpus)?),
        ("of maps", RawMap::create(of_maps, Some(&inner), cpus)?),
    ];
    for spec in &SPECS {
        let map = RawMap::create(*spec, None, cpus)?;
        let holds = spec.kind != MapType::QUEUE && spec.kind != MapType::STACK_TRACE;
        if holds && !spec.kind.holds_fds() {
            (0..300).try_for_each(|key| map.update(key))?;
        }
        maps.push((Box::leak(format!("{spec:?}").into_boxed_str()), map));
    }
    let scrape = daemon.settled()?;
    let mut comparison = Comparison::default();
    for (what, map) in &maps {
        let told = scrape.find(MEMORY, &[("map_id", &map.id()?)])?;
        comparison.is(what, told, Some(map.memlock()?));
    }
    comparison.finish()?;
    let estimated = scrape.get("mapstorm_map_memory_estimated", &[])?;
    let rough = guest.is_at_least(5, 11) && !guest.is_at_least(6, 4);
    ensure!(estimated == u64::from(rough), "estimated: {estimated}");
    Ok(())
}

/// Ids are those that the kernel enumerates, and names those that it gives.
pub(crate) fn o24_ids_and_names_are_the_kernels(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let spec = Spec {
        name: b"known_by_info",
        ..Spec::default()
    };
    let map = RawMap::create(spec, None, 1)?;
    let scrape = daemon.settled()?;
    let objects = Objects::now()?;
    let listed = scrape.samples(INFO, &[]);
    let listed: BTreeSet<_> = listed
        .map(|sample| sample.labels["map_id"].clone())
        .collect();
    let enumerated = objects.ids(Kind::Map).map(|id| id.to_string()).collect();
    // One that is gone stays for a while, one that is there is never missing.
    let missing = BTreeSet::difference(&enumerated, &listed);
    ensure!(missing.count() == 0, "{enumerated:?} but {listed:?}");
    let (id, name) = map.identity()?;
    let labels = [
        ("map_id", &*id.to_string()),
        ("map_name", &*printable_name(&name)),
        ("map_type", "hash"),
        ("key_size", "4"),
        ("value_size", "8"),
    ];
    scrape.get(INFO, &labels)?;
    Ok(())
}

/// A map that stays is always listed while others come and go.
pub(crate) fn o19_a_map_that_stays_is_always_listed(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let spec = Spec {
        name: b"stays",
        ..Spec::default()
    };
    let stays = RawMap::create(spec, None, 1)?;
    let id = stays.id()?;
    daemon.settled()?;
    let stop = AtomicBool::new(false);
    let churned = thread::scope(|scope| {
        let churn = scope.spawn(|| {
            let mut made = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let maps: Result<Vec<_>> = (0..8)
                    .map(|_| RawMap::create(Spec::default(), None, 1))
                    .collect();
                made += maps?.len() as u64;
            }
            anyhow::Ok(made)
        });
        let looked = (0..30).try_for_each(|_| {
            let scrape = daemon.windows_later(1)?;
            let fill = scrape.find("mapstorm_map_memory_bytes", &[("map_id", &id)])?;
            fill.context("the map that stays is not listed").map(drop)
        });
        stop.store(true, Ordering::Relaxed);
        let made = churn
            .join()
            .map_err(|_| anyhow::anyhow!("churn panicked"))?;
        looked.and(made)
    })?;
    ensure!(churned > 100, "only {churned} maps came and went");
    let lines = daemon.log.lines();
    let failed = lines.iter().find(|line| line["level"] == "WARN");
    let failed = failed.filter(|line| line["message"].as_str().is_some_and(|m| m.contains("list")));
    ensure!(failed.is_none(), "{failed:?}");
    Ok(())
}

/// The daemon holds nobody's map: it goes when its owner lets go of it, and no descriptor stays.
pub(crate) fn no_map_of_others_is_held(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let before = daemon.settled()?.get("process_open_fds", &[])?;
    let objects = Objects::now()?;
    let maps: Vec<_> = (0..20)
        .map(|_| RawMap::create(Spec::default(), None, 1))
        .collect::<Result<_>>()?;
    let scrape = daemon.settled()?;
    for map in &maps {
        scrape.get(INFO, &[("map_id", &map.id()?)])?;
    }
    // Who holds no map cannot walk one.
    let held = held_by(&daemon)?;
    ensure!(!held.is_empty(), "not even the daemon's own maps are seen");
    for map in &maps {
        let id = map.id()?;
        ensure!(!held.contains(&id), "the daemon holds map {id}");
    }
    drop(maps);
    Objects::back_to(&objects)?;
    let after = daemon.settled()?.get("process_open_fds", &[])?;
    ensure!(after <= before, "{before} descriptors, then {after}");
    Ok(())
}

/// Ids of the maps that a daemon has descriptors of.
fn held_by(daemon: &Daemon) -> Result<BTreeSet<String>> {
    let path = format!("/proc/{}/fdinfo", daemon.pid()?);
    let mut held = BTreeSet::new();
    for entry in fs::read_dir(&path).with_context(|| path.clone())? {
        // A descriptor may be closed by now.
        let text = fs::read_to_string(entry?.path()).unwrap_or_default();
        let id = text.lines().find_map(|line| line.strip_prefix("map_id:"));
        held.extend(id.map(|id| id.trim().to_owned()));
    }
    Ok(held)
}

/// A program that counts what its updates and deletes return never meets a lock that somebody holds
/// for a walk.
pub(crate) fn o16_no_update_is_busy(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let mut bench = Bench::load(guest, &[(Target::Churn, 1000)])?;
    let work = Work {
        source: Source::Program,
        cpus: online.as_slice(),
        rounds: 1,
        pieces: &[COMING_AND_GOING],
    };
    bench.hammer(work, |_| daemon.settled().map(drop))?;
    let tally = bench.by_programs(Target::Churn)?;
    let (done, busy) = (tally.count(Outcome::Ok), tally.count(Outcome::Ebusy));
    ensure!(busy == 0, "{busy} updates were busy");
    ensure!(
        done > 1000 && done == tally.removed(),
        "{done} updates, {} deletes",
        tally.removed()
    );
    let held = held_by(&daemon)?;
    let id = bench.workload.map_id(Target::Churn)?.to_string();
    ensure!(!held.contains(&id), "the daemon holds map {id}");
    Ok(())
}

/// Maps that are left out have no series, and maps of one name are one where ids churn.
pub(crate) fn chosen_maps_and_names(guest: &Guest) -> Result<()> {
    let flags = ["--maps.exclude", "secret.*", "--metrics.by", "name"];
    let daemon = Daemon::start(guest, &flags)?;
    let make = |name: &'static [u8]| {
        let spec = Spec {
            name,
            ..Spec::default()
        };
        RawMap::create(spec, None, 1)
    };
    let [secret, a, b] = [make(b"secret_map")?, make(b"shared")?, make(b"shared")?];
    for map in [&secret, &a, &b] {
        map.update(1)?;
    }
    let updates = |scrape: &Scrape| {
        let labels = [("map_name", "shared"), ("op", "update"), ("outcome", "ok")];
        scrape.get("mapstorm_operations_total", &labels)
    };
    let scrape = daemon.settled()?;
    ensure!(updates(&scrape)? == 2, "of both: {}", updates(&scrape)?);
    drop(b);
    a.update(2)?;
    let later = daemon.settled()?;
    ensure!(updates(&later)? == 3, "with one gone: {}", updates(&later)?);
    let hidden = later.get("mapstorm_maps_hidden", &[])?;
    ensure!(hidden == 1, "{hidden} hidden");
    let named = later.samples(INFO, &[("map_name", "secret_map")]).count();
    ensure!(named == 0, "the secret is out");
    Ok(())
}
