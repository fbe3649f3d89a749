//! What one sample of the kernel's tables says, folded over CPUs: immutable, shared by every
//! reader. All counts are totals since the probes were armed; readers take differences.

mod durations;
mod locks;
mod octaves;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use mapstorm_abi::{LockClass, Lost, Op, Outcome};

use crate::{
    departed::Totals,
    identity::{MapId, MapType},
    memory::Quality,
    who::{Callers, Names, Programs},
};

pub use durations::Durations;
pub use locks::{LockOutcome, LockStats};
pub use octaves::Octaves;

/// One sample of everything the probes have counted.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Number of the sample window that ended with this snapshot; the first is 1.
    pub window: u64,
    /// When the sample was taken, wall clock.
    pub taken: Option<SystemTime>,
    /// Time since the previous sample, monotonic; zero for the first.
    pub elapsed: Duration,
    /// Every map of the host's inventory or seen by a probe, by id; see [`Fold`](crate::fold::Fold)
    /// for how long one that is gone stays.
    /// A map that has not changed is the one of the snapshot before.
    pub maps: BTreeMap<MapId, Arc<MapStats>>,
    /// Freelist pops by the CPU they ran on, where pops are timed.
    pub cpu_pops: BTreeMap<u32, Durations>,
    /// Counts of all maps together, where no probe can tell them apart.
    pub host: HostStats,
    /// How good the kernel's numbers of maps' memory are; `None` where there are none.
    pub memory: Option<Quality>,
    /// Events or timings lost, by [`Lost`].
    pub lost: [u64; Lost::COUNT],
    /// What maps had counted that have left `maps`, by name and type; empty unless it is asked for.
    pub departed: Arc<Totals>,
    /// The programs of the host, as last listed.
    pub programs: Arc<Programs>,
    /// Who called, by map, as far as it was sampled.
    pub callers: Arc<Callers>,
    /// Names of the kernel's functions on the callers' stacks.
    pub names: Arc<Names>,
    /// Samples of callers that were due: taken, or lost.
    pub samples_due: u64,
    /// Runs that the kernel skipped because the program was running on that CPU already.
    pub misses: BTreeMap<&'static str, u64>,
    /// How much of the probes' table is in use.
    pub room: Room,
    /// Maps that were counted on and have left the snapshot after they were gone from the host, by
    /// [`Forgotten`].
    pub forgotten: [u64; Forgotten::COUNT],
}

/// The probes' table: its parts, and what of them is in use on the CPU that uses most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Memory of the CPUs' states, all possible CPUs, bytes.
    pub state_bytes: usize,
    /// Memory of the counter slots, likewise.
    pub counter_bytes: usize,
    /// Memory of the timings, likewise.
    pub timing_bytes: usize,
    /// Counter slots of each CPU: one for each pair of map and operation, or place of its locks, that ran there.
    pub slots: usize,
    /// Those in use.
    pub slots_used: usize,
    /// Timings of each CPU: one for each of its busiest pairs.
    pub timings: usize,
    /// Those in use.
    pub timings_used: usize,
    /// Pairs that lack timings on at least one CPU they ran on.
    pub untimed_pairs: usize,
}

/// Why a map that is gone has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Forgotten {
    /// It had stayed for as long as the last scrape may take.
    Expired,
    /// Too many others were gone as well: its last counts may have been in no scrape.
    Crowded,
}

impl Forgotten {
    /// How many reasons there are.
    pub const COUNT: usize = 2;

    /// All reasons, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [Self::Expired, Self::Crowded];

    /// Value of the label `reason`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Crowded => "crowded",
        }
    }
}

/// Counts without a map, by programs only: they mean something where a return probe is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// Finished updates by [`Outcome`].
    pub updates: [u64; Outcome::COUNT],
    /// Pops that returned an element, and pops that found none.
    pub pops: [u64; 2],
}

/// What is known of one map.
#[derive(Clone, Debug)]
pub struct MapStats {
    /// The map's name, escaped so that distinct names stay distinct.
    pub name: String,
    /// Its type.
    pub kind: MapType,
    /// `max_entries` as the map was created.
    pub max_entries: u32,
    /// `map_flags` as the map was created.
    pub flags: u32,
    /// Elements in the map now, where the plan can tell; `None` is "unknown", never a guess.
    pub entries: Option<u64>,
    /// What only the inventory tells; `None` where it has never told of this map.
    pub listed: Option<Listed>,
    /// What was done to it. An operation is absent while no probe has seen one, be it that there was
    /// none or that none can be seen: nothing is published then, not even a zero.
    pub ops: BTreeMap<Op, OpStats>,
    /// Freelist pops, where the plan can see them (directly or through `alloc_htab_elem`).
    pub pops: Option<PopStats>,
    /// Waits for locks, by class; nothing for a class nobody was seen to wait for. An undercount: see
    /// [`LockStats`].
    pub locks: BTreeMap<LockClass, LockStats>,
}

/// What the host's inventory tells of a map besides its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Size of a key, bytes.
    pub key_size: u32,
    /// Size of a value, bytes; of a per-CPU map, on each CPU.
    pub value_size: u32,
    /// What the kernel says the map takes, bytes; `None` where that is not known, and of a map that
    /// is gone.
    pub memory: Option<u64>,
}

impl MapStats {
    /// Do `entries` say little about the room left? An LRU map evicts long before it is full when
    /// its elements wait on other CPUs' lists.
    pub fn fill_is_approximate(&self) -> bool {
        self.kind.is_lru()
    }

    /// Share of `max_entries` in use, 0 to 1; `None` where the entries are unknown. Entries are
    /// summed over CPUs that go on counting, so the sum may pass `max_entries` by a few.
    pub fn fill(&self) -> Option<f64> {
        let entries = self.entries.filter(|_| self.max_entries > 0)?;
        Some((entries as f64 / f64::from(self.max_entries)).min(1.0))
    }

    /// Adds what `other` has counted.
    pub fn absorb(&mut self, other: &Self) {
        for (op, stats) in &other.ops {
            self.ops.entry(*op).or_default().absorb(stats);
        }
        if let Some(pops) = &other.pops {
            self.pops.get_or_insert_default().absorb(pops);
        }
        for (class, stats) in &other.locks {
            self.locks.entry(*class).or_default().absorb(stats);
        }
    }

    /// Updates, where one was seen.
    fn update(&self) -> Option<&OpStats> {
        self.ops.get(&Op::Update)
    }

    /// Finished updates by [`Outcome`]; empty where none was seen.
    pub fn update_outcomes(&self) -> &[u64] {
        self.update().map_or(&[], |update| &update.outcomes)
    }

    /// Updates refused because the map was exhausted, by CPU; empty where none was.
    pub fn exhausted_by_cpu(&self) -> &[u64] {
        self.update().map_or(&[], |update| &update.exhausted_by_cpu)
    }

    /// Updates refused for want of memory, by CPU; empty where none was.
    pub fn starved_by_cpu(&self) -> &[u64] {
        self.update().map_or(&[], |update| &update.starved_by_cpu)
    }

    /// Finished updates with this outcome; 0 where none was seen.
    pub fn updates(&self, outcome: Outcome) -> u64 {
        self.update().map_or(0, |update| update.count(outcome))
    }

    /// Operations and pops that were counted on the map: it moves while the map is in use.
    pub fn events(&self) -> u64 {
        let pops = self.pops.as_ref();
        let pops = pops.map_or(0, |pops| pops.ok.unwrap_or(0) + pops.empty);
        self.ops.values().map(OpStats::total).sum::<u64>() + pops
    }
}

/// One operation on one map.
#[derive(Clone, Debug, Default)]
pub struct OpStats {
    /// Finished operations by [`Outcome`].
    pub outcomes: [u64; Outcome::COUNT],
    /// Durations of those that were timed.
    pub durations: Option<Durations>,
    /// Finished operations by CPU.
    pub by_cpu: Vec<u64>,
    /// How long those of each CPU took that were timed.
    pub octaves_by_cpu: Vec<Octaves>,
    /// Updates refused because the map was exhausted (`e2big`), by CPU; empty when none was.
    pub exhausted_by_cpu: Vec<u64>,
    /// Updates refused for want of memory (`enomem`), by CPU; empty when none was.
    pub starved_by_cpu: Vec<u64>,
    /// Elements that batches handed out; 0 for other operations.
    pub elements: u64,
}

impl OpStats {
    /// Finished operations with this outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    fn absorb(&mut self, other: &Self) {
        for (sum, n) in self.outcomes.iter_mut().zip(other.outcomes) {
            *sum += n;
        }
        absorb(&mut self.durations, other.durations.as_ref());
        absorb_by_cpu(&mut self.by_cpu, &other.by_cpu);
        for (cpu, octaves) in other.octaves_by_cpu.iter().enumerate() {
            self.octaves_on(cpu).merge(octaves);
        }
        absorb_by_cpu(&mut self.exhausted_by_cpu, &other.exhausted_by_cpu);
        absorb_by_cpu(&mut self.starved_by_cpu, &other.starved_by_cpu);
        self.elements += other.elements;
    }

    /// How long the operations of one CPU took, to be added to.
    pub fn octaves_on(&mut self, cpu: usize) -> &mut Octaves {
        let cpus = self.octaves_by_cpu.len().max(cpu + 1);
        self.octaves_by_cpu.resize(cpus, Octaves::default());
        &mut self.octaves_by_cpu[cpu]
    }

    /// Finished operations, however they ended.
    pub fn total(&self) -> u64 {
        self.outcomes.iter().sum()
    }
}

/// Freelist pops of one map.
#[derive(Clone, Debug, Default)]
pub struct PopStats {
    /// Pops that returned an element; `None` where only the empty ones can be told, from refused
    /// updates.
    pub ok: Option<u64>,
    /// Pops that found every list empty.
    pub empty: u64,
    /// How long they took, where pops themselves are timed (6.12 and older).
    pub durations: Option<Durations>,
    /// How long `alloc_htab_elem` took, where only that can be hooked (6.13 and newer); not a pop.
    pub alloc: Option<Durations>,
}

impl PopStats {
    fn absorb(&mut self, other: &Self) {
        self.ok = match (self.ok, other.ok) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.empty += other.empty;
        absorb(&mut self.durations, other.durations.as_ref());
        absorb(&mut self.alloc, other.alloc.as_ref());
    }
}

fn absorb(sum: &mut Option<Durations>, more: Option<&Durations>) {
    if let Some(more) = more {
        sum.get_or_insert_default().merge(more);
    }
}

/// Adds counts by CPU.
fn absorb_by_cpu(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    for (sum, n) in sums.iter_mut().zip(more) {
        *sum += n;
    }
}
