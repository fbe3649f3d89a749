//! Ten thousand maps, five hundred of them busy; and a hundred thousand that come and go.

use std::{collections::HashMap, io, thread, time::Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use mapstorm::{
    fold::GHOSTS,
    identity::{MapType, NO_PREALLOC},
    kernel::workload::pin_thread,
};
use mapstorm_abi::{Lost, Op, Outcome};
use nix::{
    libc,
    sys::resource::{Resource, setrlimit},
};

use crate::tools::{
    daemon::{Daemon, QUICK},
    guest::Guest,
    identity,
    scrape::Scrape,
    tiny::Tiny,
    wait,
};

/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: MapType = MapType(2);
/// Maps on the host.
const MAPS: usize = 10_000;
/// Those of them that are busy.
const BUSY: usize = 500;
/// How often each CPU goes through the busy ones.
const ROUNDS: u64 = 3;
/// Scrapers that come at once.
const SCRAPERS: usize = 10;
/// Windows to watch what sampling costs.
const WINDOWS: u64 = 20;

/// Maps that come and go.
const CHURNED: u64 = 100_000;
/// Its size is looked at whenever so many are made. After the first of these stages it is as large as it should
/// ever get.
const STAGE: u64 = 20_000;
/// Of them, so many are made before anyone looks.
const BATCH: u64 = 250;
/// The daemon may grow by this for each map of a later stage, bytes: the least that is left behind for a map, its id
/// in a tree, is more.
const GROWTH: u64 = 24;

/// Ten thousand maps are all known, nothing that the busy ones do is lost, and scrapes stay within
/// bounds and come at once, with no more than 256 files.
pub(crate) fn o06_ten_thousand_maps(guest: &Guest) -> Result<()> {
    setrlimit(Resource::RLIMIT_NOFILE, 16_384, 16_384).context("more files")?;
    let busy = (0..BUSY).map(|_| Tiny::create("busy", MapType::HASH, 64, 0));
    let busy = busy.collect::<Result<Vec<_>>>()?;
    let idle = (BUSY..MAPS).map(|_| Tiny::create("idle", ARRAY, 1, 0));
    let idle = idle.collect::<Result<Vec<_>>>()?;
    let mut command = guest.mapstorm([""; 0]);
    identity::limit_files(&mut command, 256);
    let daemon = Daemon::launch(command, QUICK, &[])?;
    let before = daemon.settled()?;
    hammer(guest, &busy)?;
    let after = daemon.settled()?;
    let ids = busy.iter().map(Tiny::id).collect::<Result<Vec<_>>>()?;
    all_counted(&after, &ids, guest.online()?.len() as u64)?;
    let untimed = after.get("mapstorm_untimed_pairs", &[])?;
    ensure!(untimed > 0, "1,500 pairs are said to be timed");
    listed(&daemon)?;
    let later = daemon.windows_later(WINDOWS)?;
    costs(&after, &later)?;
    scrapes_at_once(&daemon)?;
    let files = |scrape: &Scrape| scrape.get("process_open_fds", &[]);
    let end = daemon.windows_later(1)?;
    let (files, at_first) = (files(&end)?, files(&before)?);
    ensure!(files <= at_first + 1, "{at_first} files, then {files}");
    drop(idle);
    daemon.end(nix::sys::signal::Signal::SIGTERM)?.in_order()
}

/// Each CPU updates, batch-reads and deletes in every map, keys of its own.
fn hammer(guest: &Guest, maps: &[Tiny]) -> Result<()> {
    let online = guest.online()?;
    thread::scope(|scope| {
        let work = |&cpu: &u32| {
            scope.spawn(move || {
                pin_thread(cpu)?;
                for map in maps {
                    for _ in 0..ROUNDS {
                        done(map.update(cpu))?;
                        end_of_map(map.lookup_batch())?;
                        done(map.delete(cpu))?;
                    }
                }
                Ok(())
            })
        };
        let workers: Vec<_> = online.as_slice().iter().map(work).collect();
        workers.into_iter().try_for_each(|worker| {
            let panicked = |_| Err(anyhow!("a worker panicked"));
            worker.join().unwrap_or_else(panicked)
        })
    })
}

fn done(result: io::Result<()>) -> Result<()> {
    result.context("an operation on a busy map")
}

/// One batch holds all of a small map, and says that there is no more.
fn end_of_map(result: io::Result<()>) -> Result<()> {
    let errno = result.err().and_then(|error| error.raw_os_error());
    ensure!(errno == Some(libc::ENOENT), "a batch ended with {errno:?}");
    Ok(())
}

/// Three operations on each of the maps, to the unit, and nothing was lost but timings.
fn all_counted(scrape: &Scrape, ids: &[String], cpus: u64) -> Result<()> {
    let mut counts = HashMap::new();
    for sample in scrape.samples("mapstorm_operations_total", &[("map_name", "busy")]) {
        let label = |name: &str| sample.labels[name].as_str();
        let key = (label("map_id"), label("op"), label("outcome"));
        counts.insert(key, sample.value);
    }
    for id in ids {
        for (op, ended) in [
            (Op::Update, Outcome::Ok),
            (Op::LookupBatch, Outcome::Enoent),
            (Op::Delete, Outcome::Ok),
        ] {
            for outcome in Outcome::ALL {
                let truth = if outcome == ended { ROUNDS * cpus } else { 0 };
                let found = counts.get(&(id.as_str(), op.label(), outcome.label()));
                ensure!(
                    found == Some(&(truth as f64)),
                    "{} {} of map {id}: {found:?}, not {truth}",
                    op.label(),
                    outcome.label()
                );
            }
        }
    }
    nothing_lost_but_timings(scrape)
}

fn nothing_lost_but_timings(scrape: &Scrape) -> Result<()> {
    for reason in Lost::ALL.map(Lost::label) {
        let lost = scrape.get("mapstorm_events_lost_total", &[("reason", reason)])?;
        let may = reason == Lost::NoTimings.label();
        ensure!(lost == 0 || may, "{lost} events lost: {reason}");
    }
    Ok(())
}

/// The daemon knows every map, whether or not a scrape has room for it.
fn listed(daemon: &Daemon) -> Result<()> {
    let knows_all = |line: &serde_json::Value| {
        let maps = line["maps"].as_u64();
        line["message"] == "sampled" && maps.is_some_and(|maps| maps >= MAPS as u64)
    };
    daemon.log.wait("all maps to be known", knows_all)?;
    Ok(())
}

/// All scrapers are answered, within the limit on series, which says what it left out. An emulated
/// host may be so slow that the server gives up on a rendering (503): then they come again.
fn scrapes_at_once(daemon: &Daemon) -> Result<()> {
    let answers = wait::until("scrapes at once", || {
        let answers = thread::scope(|scope| {
            let scrapers = (0..SCRAPERS).map(|_| scope.spawn(|| daemon.get("/metrics")));
            let scrapers: Vec<_> = scrapers.collect();
            let answers = scrapers.into_iter().map(|scraper| {
                let panicked = |_| Err(anyhow!("a scraper panicked"));
                scraper.join().unwrap_or_else(panicked)
            });
            answers.collect::<Result<Vec<_>>>()
        })?;
        let in_time = answers.iter().all(|answer| answer.status != 503);
        Ok(in_time.then_some(answers))
    })?;
    for answer in &answers {
        ensure!(answer.status == 200, "status {}", answer.status);
        let series = answer.body.lines().filter(|line| !line.starts_with('#'));
        let series = series.count();
        ensure!(series <= mapstorm::metrics::MAX_SERIES, "{series} series");
    }
    let scrape = Scrape::parse(&answers[0].body)?;
    let dropped = scrape.get("mapstorm_series_dropped_total", &[])?;
    ensure!(dropped > 0, "10,000 maps have room");
    Ok(())
}

/// Says what the daemon takes.
fn costs(before: &Scrape, after: &Scrape) -> Result<()> {
    let number = |scrape: &Scrape, name| {
        let mut samples = scrape.samples(name, &[]);
        samples.next().map_or(0.0, |sample| sample.value)
    };
    let grown = |name| number(after, name) - number(before, name);
    let windows = (after.windows()? - before.windows()?) as f64;
    println!(
        "scale: {:.1} MiB resident, {:.2} ms per sample, {:.2} ms CPU per window in all",
        number(after, "process_resident_memory_bytes") / 1_048_576.0,
        grown("mapstorm_sample_seconds_total") / windows * 1e3,
        grown("process_cpu_seconds_total") / windows * 1e3,
    );
    Ok(())
}

/// Maps without end come, are used, and go: nothing of them piles up, in the daemon or its tables.
pub(crate) fn o10_hundred_thousand_maps(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &["--metrics.max-series", "500"])?;
    let start = daemon.settled()?;
    let (slots, at_first) = (slots(&start, "mapstorm_probe_slots")?, used(&start)?);
    let (mut sizes, mut made, began) = (Vec::new(), 0, Instant::now());
    while made < CHURNED {
        for nth in made..made + BATCH {
            let flags = if nth % 4 == 0 { 0 } else { NO_PREALLOC };
            let map = Tiny::create("churn", MapType::HASH, 1, flags)?;
            map.update(1).context("a new map takes a key")?;
            map.delete(1).context("a key that is there goes")?;
        }
        made += BATCH;
        // Slots come back after the next inventory: who makes maps faster than that loses counts.
        // What a scrape right now says may be older than these maps.
        let scrape = wait::until("free slots", || {
            let scrape = daemon.windows_later(2)?;
            Ok((used(&scrape)? * 2 <= slots).then_some(scrape))
        })?;
        if made % STAGE == 0 {
            sizes.push(scrape.get("process_resident_memory_bytes", &[])?);
        }
    }
    println!(
        "o10_hundred_thousand_maps: {:.0} s, {at_first} slots at first",
        began.elapsed().as_secs_f64()
    );
    let end = wait::until("every slot to be free again", || {
        let scrape = daemon.scrape()?;
        Ok((used(&scrape)? <= at_first).then_some(scrape))
    })?;
    nothing_lost_but_timings(&end)?;
    costs(&start, &end)?;
    let answer = daemon.get("/metrics")?;
    let series = answer.body.lines().filter(|line| !line.starts_with('#'));
    let series = series.count();
    ensure!(series <= 500, "{series} series");
    let forgotten = end.sum("mapstorm_maps_forgotten_total", &[])?;
    let least = CHURNED - GHOSTS as u64;
    ensure!(
        forgotten >= least,
        "{forgotten} maps forgotten, not {least}"
    );
    nothing_piles_up(&sizes)?;
    daemon.end(nix::sys::signal::Signal::SIGTERM)?.in_order()
}

/// A daemon that leaves something behind for each map grows in every stage. One that once has more maps at a time than
/// before, on a host that is slow to free them, keeps the memory for them, and grows in one or two.
fn nothing_piles_up(sizes: &[u64]) -> Result<()> {
    println!("o10_hundred_thousand_maps: {sizes:?} bytes resident");
    let stages = sizes.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let mut grown: Vec<_> = stages.collect();
    grown.sort_unstable();
    let (stages, may) = ((CHURNED / STAGE - 1) as usize, STAGE * GROWTH);
    ensure!(grown.len() == stages, "{} stages", grown.len());
    let median = (grown[(stages - 1) / 2] + grown[stages / 2]) / 2;
    ensure!(
        median <= may,
        "resident memory grew from stage to stage: {sizes:?} bytes"
    );
    Ok(())
}

/// Counter slots in use on the CPU that uses most.
fn used(scrape: &Scrape) -> Result<u64> {
    slots(scrape, "mapstorm_probe_slots_used")
}

fn slots(scrape: &Scrape, name: &str) -> Result<u64> {
    scrape.get(name, &[("table", "counters")])
}

/// Our own memory grows with the possible CPUs, by no more than the budget of each.
pub(crate) fn o29_few_cpus(guest: &Guest) -> Result<()> {
    memory_within_the_budget(guest)
}

/// The same on a host of another size.
pub(crate) fn o29_many_cpus(guest: &Guest) -> Result<()> {
    memory_within_the_budget(guest)
}

fn memory_within_the_budget(guest: &Guest) -> Result<()> {
    let possible = guest.cpus()?.possible.table_len() as u64;
    let free = || -> Result<u64> {
        let text = std::fs::read_to_string("/proc/meminfo").context("/proc/meminfo")?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemFree:"));
        let kib = line.and_then(|line| line.split_ascii_whitespace().next());
        Ok(kib.context("no MemFree")?.parse::<u64>()? << 10)
    };
    let before = free()?;
    let daemon = Daemon::start(guest, &[])?;
    let scrape = daemon.settled()?;
    let taken = before.saturating_sub(free()?);
    let published = scrape.sum("mapstorm_probe_memory_bytes", &[])?;
    let resident = scrape.get("process_resident_memory_bytes", &[])?;
    let budget = possible * (512 << 10);
    println!(
        "o29: {possible} CPUs, {published} bytes published, {taken} taken, {resident} resident"
    );
    ensure!(published <= budget, "{published} bytes for {possible} CPUs");
    ensure!(published > budget / 10 * 9, "only {published} bytes");
    // Besides the tables: the process, the programs, and what the kernel keeps for both.
    let besides = resident + (48 << 20);
    ensure!(
        taken <= budget + besides,
        "{taken} bytes taken from the host"
    );
    ensure!(
        taken >= published,
        "{published} bytes published, {taken} taken"
    );
    Ok(())
}
