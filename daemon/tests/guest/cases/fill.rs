//! How full maps are: exact when nobody touches them, or not told at all.

use std::thread;

use anyhow::{Result, anyhow, ensure};
use mapstorm::{
    identity::{MapType, NO_PREALLOC},
    kernel::workload::pin_thread,
};
use nix::libc;

use crate::tools::{
    daemon::Daemon,
    guest::Guest,
    maps::{RawMap, Spec},
    scrape::Scrape,
};

const ENTRIES: &str = "mapstorm_map_entries";
const RATIO: &str = "mapstorm_map_fill_ratio";
/// Entries of every map here: few enough that kernels before 6.6 count in one word.
const MAX_ENTRIES: u32 = 100;
/// Elements that are put into each: none, half, all.
const FILLS: [u32; 3] = [0, MAX_ENTRIES / 2, MAX_ENTRIES];

/// A map and how it is called in words.
struct Filled {
    what: String,
    kind: MapType,
    flags: u32,
    fill: u32,
    map: RawMap,
}

/// Maps of every kind that counts, empty, half full and full.
fn filled(guest: &Guest) -> Result<Vec<Filled>> {
    const KINDS: [(MapType, u32); 7] = [
        (MapType::HASH, 0),
        (MapType::HASH, NO_PREALLOC),
        (MapType::PERCPU_HASH, 0),
        (MapType::PERCPU_HASH, NO_PREALLOC),
        (MapType::HASH_OF_MAPS, 0),
        (MapType::LRU_HASH, 0),
        (MapType::LRU_PERCPU_HASH, 0),
    ];
    let cpus = guest.cpus()?.possible.len();
    let inner = RawMap::create(Spec::default(), None, cpus)?;
    let mut maps = Vec::new();
    for (kind, flags) in KINDS {
        for fill in FILLS {
            let of_maps = kind == MapType::HASH_OF_MAPS;
            let spec = Spec {
                kind,
                flags,
                value_size: if of_maps { 4 } else { 8 },
                max_entries: MAX_ENTRIES,
                name: b"known_fill",
                ..Spec::default()
            };
            let map = RawMap::create(spec, of_maps.then_some(&inner), cpus)?;
            (0..fill).try_for_each(|key| map.update(key))?;
            maps.push(Filled {
                what: format!("{} with flags {flags}, {fill} put in", kind.label()),
                kind,
                flags,
                fill,
                map,
            });
        }
    }
    Ok(maps)
}

/// What the daemon says of one map, and that the two numbers agree.
fn told(scrape: &Scrape, map: &RawMap) -> Result<Option<u64>> {
    let id = map.id()?;
    let labels = [("map_id", &*id)];
    let entries = scrape.find(ENTRIES, &labels)?;
    let ratio = scrape
        .samples(RATIO, &labels)
        .map(|sample| sample.value)
        .next();
    let expected = entries.map(|entries| entries as f64 / f64::from(MAX_ENTRIES));
    ensure!(ratio == expected, "{entries:?} entries, ratio {ratio:?}");
    Ok(entries)
}

/// Known fills, of maps that were there before the daemon and of those that came after it.
pub(crate) fn o08_fill_is_exact_or_absent(guest: &Guest) -> Result<()> {
    let before = filled(guest)?;
    let daemon = Daemon::start(guest, &[])?;
    daemon.settled()?;
    let after = filled(guest)?;
    let scrape = daemon.settled()?;
    let counts = guest.is_at_least(6, 6);
    for (age, maps) in [("old", &before), ("new", &after)] {
        for Filled {
            what,
            kind,
            flags,
            fill,
            map,
        } in maps
        {
            let (told, truth) = (told(&scrape, map)?, map.count()?);
            ensure!(
                kind.is_lru() || truth == u64::from(*fill),
                "{age} {what}: {truth} are in it: this test is wrong"
            );
            ensure!(
                told.is_none_or(|told| told == truth),
                "{age} {what}: {told:?} told"
            );
            // Maps that came after the probes are known from the start, where pops and removals are
            // all seen; those before only once they only refuse.
            let kept = age == "new" && kind.pops_freelist(*flags);
            ensure!(told.is_some() || !kept, "{age} {what}: nothing told");
            // Without preallocation small maps count in one word on every kernel.
            let must = counts || flags & NO_PREALLOC != 0;
            ensure!(told.is_some() || !must, "{age} {what}: nothing told");
            let cannot = !counts && kind.is_lru();
            ensure!(told.is_none() || !cannot, "{age} {what}: {told:?} told");
        }
    }
    // Half of each is taken out again.
    for filled in &after {
        for key in 0..filled.fill / 2 {
            match filled.map.delete(key) {
                Err(error) if error.raw_os_error() != Some(libc::ENOENT) => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
    }
    let scrape = daemon.settled()?;
    for Filled { what, map, .. } in &after {
        let (told, truth) = (told(&scrape, map)?, map.count()?);
        ensure!(
            told.is_none_or(|told| told == truth),
            "{what}, half taken out: {told:?}, not {truth}"
        );
    }
    Ok(())
}

/// A small LRU map that was filled from several processors evicts early: how full it is says little
/// of the room left, and the help says so.
pub(crate) fn o33_fill_of_an_lru_map_is_approximate(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let spec = Spec {
        kind: MapType::LRU_HASH,
        max_entries: 256,
        name: b"small_lru",
        ..Spec::default()
    };
    let map = RawMap::create(spec, None, 1)?;
    let online = guest.online()?;
    let spread = || -> Result<()> {
        for key in 0..16 {
            let cpus = online.as_slice();
            pin_thread(cpus[key as usize % cpus.len()])?;
            map.update(key)?;
        }
        Ok(())
    };
    let spread = thread::scope(|scope| scope.spawn(spread).join());
    spread.map_err(|_| anyhow!("the thread panicked"))??;
    let text = daemon.get("/metrics")?.body;
    for family in [ENTRIES, RATIO] {
        let help = format!("# HELP {family} ");
        let help = text.lines().find(|line| line.starts_with(&help));
        let said = help.is_none_or(|help| help.contains("Approximate for LRU maps"));
        ensure!(said, "{help:?}");
    }
    let scrape = daemon.settled()?;
    let entries = scrape.find(ENTRIES, &[("map_id", &map.id()?)])?;
    let truth = guest.is_at_least(6, 6).then_some(map.count()?);
    ensure!(entries == truth, "{entries:?} told, {truth:?} are in it");
    Ok(())
}
