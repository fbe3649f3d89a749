//! An update inside an update: an interrupt's program works on a map of its own while whatever it
//! interrupted may be inside an update of another.

use anyhow::{Result, ensure};
use mapstorm_abi::{
    Lost, Outcome,
    workload::{Tally, Target},
};

use super::exact;
use crate::tools::{
    bench::{Bench, Piece, Source, Truth, Work},
    check::{Comparison, LOST, MISSES, OPERATION_COUNT, OPERATIONS, POPS},
    daemon::Daemon,
    guest::Guest,
    scrape::Scrape,
    wait,
};

/// The timer interrupt of each CPU, as old as the tracepoints: always a hard interrupt, so that it
/// never runs inside itself, on the real-time kernel either.
const TRACEPOINT: &str = "local_timer_entry";
/// Updates in interrupts, on each CPU, before it is enough.
const ENOUGH: u64 = 1500;
/// Entries of the full map.
const ENTRIES: u32 = 500;

const PIECES: [Piece; 2] = [
    Piece {
        target: Target::Full,
        first_key: 1_000_000,
        keys: 64,
        delete: false,
    },
    Piece {
        target: Target::Churn,
        first_key: 0,
        keys: 64,
        delete: true,
    },
];

pub(crate) fn nested(guest: &Guest) -> Result<()> {
    let daemon = Daemon::start(guest, &[])?;
    let online = guest.online()?;
    let cpus = online.as_slice();
    let targets = [Target::Full, Target::Churn, Target::Nested];
    let mut bench = Bench::load(guest, &targets.map(|target| (target, ENTRIES)))?;
    bench.fill(Target::Full, 0..ENTRIES)?;
    bench.workload.interrupt_on(TRACEPOINT)?;
    let work = Work {
        source: Source::Program,
        cpus,
        rounds: 1,
        pieces: &PIECES,
    };
    bench.hammer(work, |workload| {
        wait::until("interrupts on every CPU", || {
            let tallies = workload.tallies(Target::Nested)?;
            let enough = |&cpu: &u32| tallies.get(cpu as usize).map(Tally::total) >= Some(ENOUGH);
            Ok(cpus.iter().all(enough).then_some(()))
        })
    })?;
    bench.workload.interrupt_off()?;
    // Whoever was inside the program when it was detached has left it long before this returns.
    daemon.settled()?;
    bench.drain(Target::Full, 0..ENTRIES)?;
    bench.drain(Target::Churn, PIECES[1].all_keys(cpus))?;
    bench.drain(Target::Nested, 0..64)?;
    let scrape = daemon.settled()?;
    let truths = targets.map(|target| bench.truth(target));
    compare(
        guest,
        &scrape,
        &truths.into_iter().collect::<Result<Vec<_>>>()?,
    )?;
    // What the missed runs left behind costs the maps that come later nothing.
    drop(bench);
    exact::counted(guest, &daemon, Source::Program, cpus)?;
    Ok(())
}

/// Counts of all maps together.
#[derive(Default)]
struct Sums {
    done: u64,
    timed: u64,
    pops: u64,
    true_done: u64,
    true_pops: u64,
}

impl Sums {
    /// Adds one map, of which no more may be seen than is true.
    fn add(&mut self, scrape: &Scrape, truth: &Truth) -> Result<()> {
        let id = truth.id.to_string();
        let map = [("map_id", &*id), ("map_name", truth.name)];
        let name = truth.name;
        for (op, outcomes) in [("update", truth.outcomes), ("delete", truth.deletes)] {
            let of_op = [map[0], map[1], ("op", op)];
            for outcome in Outcome::ALL {
                let labels = [map[0], map[1], of_op[2], ("outcome", outcome.label())];
                let seen = scrape.sum(OPERATIONS, &labels)?;
                let most = outcomes[outcome as usize];
                ensure!(seen <= most, "{labels:?}: {seen} seen of {most}");
            }
            let done = scrape.sum(OPERATIONS, &of_op)?;
            let timed = scrape.sum(OPERATION_COUNT, &of_op)?;
            ensure!(timed <= done, "{name}: {timed} timed of {done}, {op}");
            self.done += done;
            self.timed += timed;
            self.true_done += outcomes.iter().sum::<u64>();
        }
        let pops = scrape.sum(POPS, &map)?;
        let true_pops = truth.pops.iter().flatten().sum::<u64>();
        ensure!(pops <= true_pops, "{name}: {pops} pops of {true_pops}");
        self.pops += pops;
        self.true_pops += true_pops;
        Ok(())
    }
}

/// Seen and missed make up the truth. The kernel skips a program that is running on the CPU already
/// and counts that, for all maps together: so do we.
fn compare(guest: &Guest, scrape: &Scrape, truths: &[Truth]) -> Result<()> {
    let mut sums = Sums::default();
    truths
        .iter()
        .try_for_each(|truth| sums.add(scrape, truth))?;
    let lost = |reason: Lost| scrape.get(LOST, &[("reason", reason.label())]);
    let missed_updates = missed_exits(guest, scrape, "htab_map_update_elem")?;
    let missed = missed_updates + missed_exits(guest, scrape, "htab_map_delete_elem")?;
    let uncounted = lost(Lost::NoSlot)? + lost(Lost::SlotBusy)?;
    let untimed = lost(Lost::NoStart)? + lost(Lost::NoTimings)?;
    let pop_hook = if guest.pops_are_timed() {
        "__pcpu_freelist_pop"
    } else {
        "alloc_htab_elem"
    };
    let missed_pops = missed_exits(guest, scrape, pop_hook)?;
    let lost_pops = lost(Lost::PopOverflow)? + lost(Lost::PopOrphan)?;
    let Sums {
        done,
        timed,
        pops,
        true_done,
        true_pops,
    } = sums;
    println!(
        "nested: {true_done} operations, {done} seen, {missed} missed, {uncounted} uncounted; \
         {untimed} untimed, {} orphans; {true_pops} pops, {pops} seen, {missed_pops} missed, \
         {lost_pops} lost",
        lost(Lost::Orphan)?,
    );
    let mut comparison = Comparison::default();
    comparison.is("operations", done + missed + uncounted, true_done);
    comparison.is("timings", timed + untimed, done);
    comparison.is("frames of another map", lost(Lost::Mismatch)?, 0);
    comparison.finish()?;
    // A pop is counted by the exit of the update around it: one that was missed leaves it waiting.
    let waiting = true_pops.checked_sub(pops + missed_pops + lost_pops);
    ensure!(
        waiting.is_some_and(|pops| pops <= missed_updates + uncounted),
        "{waiting:?} pops still wait for {missed_updates} missed updates, {uncounted} uncounted"
    );
    Ok(())
}

/// Runs that the kernel skipped of the exit program on a function. Before 5.12 it skips none.
fn missed_exits(guest: &Guest, scrape: &Scrape, hook: &str) -> Result<u64> {
    let exits = [("hook", hook), ("mechanism", "fexit")];
    let attached = scrape.samples("mapstorm_probe_attached", &exits);
    let mut missed = 0;
    for probe in attached.filter(|sample| sample.value == 1.0) {
        let labels = [("probe", &*probe.labels["probe"])];
        match scrape.find(MISSES, &labels)? {
            Some(n) => missed += n,
            None => ensure!(
                guest.kernel.self_nesting,
                "{MISSES}{labels:?} is absent on a kernel that counts them"
            ),
        }
    }
    Ok(missed)
}
