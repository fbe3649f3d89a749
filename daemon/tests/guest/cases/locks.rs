//! Who waits for which lock of which map, against a witness of the same events.
//!
//! The witness sees every wait for a spinlock on a CPU that is inside of the work, so its number is
//! what can be seen at all, and a few of an interrupt's besides.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use mapstorm::kernel::workload::pin_thread;
use mapstorm_abi::{
    LockClass, Lost,
    workload::{Fight, Run, Target},
};

use crate::tools::{bench::Bench, check::LOST, daemon::Daemon, guest::Guest, scrape::Scrape, wait};

/// Waits by lock and outcome, and how long they took.
const WAITS: &str = "mapstorm_lock_waits_total";
const WAIT: &str = "mapstorm_lock_wait_seconds";
const WAIT_COUNT: &str = "mapstorm_lock_wait_seconds_count";
/// Waits that the witness must have seen before it is enough.
const ENOUGH: u64 = 1000;

/// Every CPU updates one key: all wait for one bucket.
pub(crate) fn locks_hot_bucket(guest: &Guest) -> Result<()> {
    let fought = Ready::new(guest, Target::Churn, 64)?.until(one_key, enough)?;
    let [bucket, ..] = fought.by_class()?;
    let (all, seen) = (fought.of(&[])?, fought.witnessed.waits);
    ensure!(bucket <= seen, "{bucket} waits, {seen} there were");
    ensure!(
        bucket * 100 >= seen * 95,
        "{bucket} of {seen} waits are the bucket's"
    );
    ensure!(
        bucket * 100 >= fought.everywhere()? * 95,
        "{all} waits on the map, others elsewhere"
    );
    fought.nothing_else()
}

/// Two free elements and four CPUs that insert and delete one key each: whoever finds none on its own
/// list takes it from another's. No two keys share a bucket, or hardly ever. How soon three meet at
/// one list is a matter of luck, so few meetings are enough.
pub(crate) fn locks_freelist_fight(guest: &Guest) -> Result<()> {
    const ENTRIES: u32 = 4096;
    let mut ready = Ready::new(guest, Target::Churn, ENTRIES)?;
    ready.bench.fill(Target::Churn, 0..ENTRIES - 2)?;
    let few = |seen: &Fight| seen.waits >= ENOUGH / 50;
    let fought = ready.until(|cpu| own_keys(cpu, 0, true), few)?;
    let [_, freelist, lru, _] = fought.by_class()?;
    let (all, seen) = (fought.of(&[])?, fought.witnessed.waits);
    ensure!(all <= seen, "{all} waits, {seen} there were");
    ensure!(
        freelist * 100 >= all * 90,
        "{freelist} of {all} waits are the free lists'"
    );
    ensure!(lru == 0, "a hash has no LRU");
    fought.nothing_else()
}

/// Every CPU inserts keys of its own into a full LRU map: all take from one list, or from each
/// other's.
pub(crate) fn locks_lru_fight(guest: &Guest) -> Result<()> {
    let fought =
        Ready::new(guest, Target::Lru, 128)?.until(|cpu| own_keys(cpu, 63, false), enough)?;
    let [_, freelist, lru, _] = fought.by_class()?;
    let (all, seen) = (fought.of(&[])?, fought.witnessed.waits);
    ensure!(all <= seen, "{all} waits, {seen} there were");
    ensure!(
        all * 100 >= seen * 95,
        "{all} of {seen} waits are the map's"
    );
    ensure!(lru * 100 >= all * 50, "{lru} of {all} waits are the lists'");
    ensure!(freelist == 0, "an LRU map has no free list");
    fought.nothing_else()
}

/// Updates of one key.
fn one_key(_: u32) -> Run {
    Run {
        loops: 100,
        ..Run::default()
    }
}

/// Updates of keys that no other CPU uses.
fn own_keys(cpu: u32, key_mask: u64, delete: bool) -> Run {
    Run {
        loops: 100,
        first_key: u64::from(100_000 + 64 * cpu),
        key_mask,
        flags: 0,
        delete: delete.into(),
    }
}

fn enough(seen: &Fight) -> bool {
    seen.waits >= ENOUGH
}

/// A guest whose kernel uses test-and-set locks: nothing can be seen, and everybody says so.
pub(crate) fn silent_locks(guest: &Guest) -> Result<()> {
    let report = guest.finish(["doctor", "--json"])?.json()?;
    let spinlocks = &report["facts"]["spinlocks"];
    ensure!(spinlocks == "test_and_set", "doctor: {spinlocks}");
    let mut looks = 0;
    let fought = Ready::new(guest, Target::Churn, 64)?.until(one_key, |_| {
        looks += 1;
        looks > 50
    })?;
    let seen = fought.witnessed.waits;
    ensure!(seen == 0, "{seen} waits reported");
    for name in [WAITS, WAIT] {
        ensure!(!fought.scrape.has(name), "{name} is published");
    }
    let unseen = [("probe", "contention_begin"), ("reason", "silent_locks")];
    let unseen = fought.scrape.find("mapstorm_probe_unavailable", &unseen)?;
    ensure!(unseen == Some(1), "the metrics do not say why");
    fought.covered(0)
}

/// A fight that is to come: the daemon watches, the maps are there, and so is the witness.
struct Ready {
    daemon: Daemon,
    bench: Bench,
    cpus: Vec<u32>,
    target: Target,
}

impl Ready {
    fn new(guest: &Guest, target: Target, entries: u32) -> Result<Self> {
        let daemon = Daemon::start(guest, &[])?;
        let targets = [(target, entries), (Target::Idle, entries)];
        let mut bench = Bench::load(guest, &targets)?;
        bench.workload.witness(target)?;
        Ok(Self {
            daemon,
            bench,
            cpus: guest.online()?.as_slice().to_vec(),
            target,
        })
    }

    /// All CPUs work on the map until the witness has seen enough.
    fn until(
        self,
        work: impl Fn(u32) -> Run + Sync,
        mut is_enough: impl FnMut(&Fight) -> bool,
    ) -> Result<Fought> {
        let (workload, stop) = (&self.bench.workload, AtomicBool::new(false));
        let on_cpu = |cpu: u32| -> Result<()> {
            pin_thread(cpu)?;
            while !stop.load(Ordering::Relaxed) {
                workload.fight(self.target, work(cpu))?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let start = |&cpu: &u32| {
                let on_cpu = &on_cpu;
                scope.spawn(move || on_cpu(cpu))
            };
            let workers: Vec<_> = self.cpus.iter().map(start).collect();
            let result = wait::until("waits for locks", || {
                Ok(is_enough(&workload.witnessed()?).then_some(()))
            });
            stop.store(true, Ordering::Relaxed);
            for worker in workers {
                worker.join().map_err(|_| anyhow!("a worker panicked"))??;
            }
            result
        })
        .context("the fight")?;
        let id = |target| -> Result<String> { Ok(workload.map_id(target)?.to_string()) };
        Ok(Fought {
            scrape: self.daemon.settled()?,
            witnessed: workload.witnessed()?,
            map: [id(self.target)?, self.target.map().to_owned()],
            idle: id(Target::Idle)?,
        })
    }
}

/// A fight that is over.
struct Fought {
    witnessed: Fight,
    scrape: Scrape,
    /// Id and name of the map that was fought over.
    map: [String; 2],
    /// Id of one that nobody touched.
    idle: String,
}

impl Fought {
    /// Waits on the map by class.
    fn by_class(&self) -> Result<[u64; LockClass::COUNT]> {
        let of = |class: LockClass| self.of(&[("lock", class.label())]);
        let [bucket, freelist, lru, other] = LockClass::ALL.map(of);
        let waits = [bucket?, freelist?, lru?, other?];
        let [bucket, freelist, lru, other] = waits;
        println!(
            "{}: {} waits; seen {bucket} bucket, {freelist} freelist, {lru} lru, {other} other",
            self.map[1], self.witnessed.waits
        );
        Ok(waits)
    }

    /// Waits on the map with these labels.
    fn of(&self, labels: &[(&str, &str)]) -> Result<u64> {
        let [id, name] = &self.map;
        let map = [("map_id", &**id), ("map_name", &**name)];
        self.scrape.sum(WAITS, &[&map, labels].concat())
    }

    /// Waits on all maps.
    fn everywhere(&self) -> Result<u64> {
        self.scrape.sum(WAITS, &[])
    }

    /// Every wait was timed, none was lost, the signal is covered, and none is on the idle map.
    fn nothing_else(&self) -> Result<()> {
        let (counted, timed) = (self.everywhere()?, self.scrape.sum(WAIT_COUNT, &[])?);
        ensure!(counted == timed, "{timed} of {counted} waits were timed");
        let failed = counted - self.scrape.sum(WAITS, &[("outcome", "ok")])?;
        let there_were = self.witnessed.failures;
        ensure!(failed <= there_were, "{failed} failed, {there_were} did");
        for reason in [Lost::WaitOverflow, Lost::WaitOrphan] {
            let lost = self.scrape.get(LOST, &[("reason", reason.label())])?;
            ensure!(lost == 0, "{lost} lost: {}", reason.label());
        }
        let idle = [("map_id", &*self.idle)];
        let idle = self.scrape.samples(WAITS, &idle).count();
        ensure!(idle == 0, "waits on the idle map");
        self.covered(1)
    }

    fn covered(&self, truth: u64) -> Result<()> {
        for source in ["program", "syscall"] {
            let labels = [("signal", "lock_wait"), ("source", source)];
            let covered = self.scrape.get("mapstorm_coverage", &labels)?;
            ensure!(covered == truth, "coverage {labels:?} is {covered}");
        }
        Ok(())
    }
}
