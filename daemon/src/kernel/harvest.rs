//! One sample of the probes' table: what moved, what left, what is taken; and the upkeep between two
//! samples, which gives slots and timings to whom they are worth most.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::{offset_of, size_of},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use mapstorm_abi::{CpuState, Op, Slot, Timings};

use super::{
    grace::Grace,
    places::{FRESH, Place, Places, map_of},
    reclaim::Dying,
    sweep::Sweep,
    tables::{CpuRow, Row, Tables, slot_at},
};
use crate::{
    busiest::Busiest,
    identity::{MapId, MapType},
    snapshot::{Durations, Room},
};

/// How often timings change hands at most.
const BALANCE_EVERY: Duration = Duration::from_secs(1);

/// What one sample took from the table.
#[derive(Clone, Debug, Default)]
pub struct Harvest {
    /// All rows of every map whose counters have moved lately; those of the others stand.
    pub rows: Vec<Row>,
    /// Counts that are not in the table any more: they go on in the sums.
    pub left: Vec<Row>,
    /// Maps that have no row any more: all they ever counted was in `left`.
    pub buried: BTreeSet<MapId>,
    /// Durations of free-list pops, by CPU.
    pub cpu_pops: BTreeMap<u32, Durations>,
    /// State of every possible CPU, in order.
    pub cpus: Vec<CpuRow>,
    /// How much of the table is in use.
    pub room: Room,
}

/// The mapped table and all that is known of it.
pub(super) struct Harvester {
    pub(super) tables: Tables,
    places: Places,
    grace: Grace,
    dying: Dying,
    sweep: Sweep,
    busiest: Busiest,
    balanced: Option<Instant>,
    stuck: bool,
    untimed_pairs: usize,
    cpu_pops: BTreeMap<u32, Durations>,
}

impl Harvester {
    pub(super) fn new(tables: Tables) -> Self {
        Self {
            places: Places::new(tables.geometry().cpus),
            tables,
            grace: Grace::default(),
            dying: Dying::default(),
            sweep: Sweep::default(),
            busiest: Busiest::default(),
            balanced: None,
            stuck: false,
            untimed_pairs: 0,
            cpu_pops: BTreeMap::new(),
        }
    }

    /// One sample as of `now`. Of the maps that are `gone` from the host it frees what it may.
    pub(super) fn harvest(&mut self, gone: &BTreeSet<MapId>, now: Instant) -> Harvest {
        self.go_on();
        self.places
            .look(&self.tables.values, self.tables.geometry.slots, now);
        self.sweep
            .go_on(&self.tables, &self.places, &mut self.grace, now);
        let mut left = Vec::new();
        self.tables.settle(&self.grace, &mut left);
        let buried = self.dying.dead(gone, &mut self.grace);
        self.tables.bury(&buried, &mut self.places, &mut left);
        for row in &left {
            self.places.touch(row.map_id, now);
        }
        let harvest = Harvest {
            rows: self.rows(),
            cpu_pops: self.cpu_pops(now, &left),
            cpus: self.tables.cpu_rows().collect(),
            left,
            buried,
            room: self.room(),
        };
        self.keep_up(now);
        harvest
    }

    /// Says from which duration on a call is worth a sample, nanoseconds, by map and operation.
    pub(super) fn set_slow(&self, slow: &BTreeMap<(MapId, Op), u64>) {
        self.tables.set_slow(&self.places, slow);
    }

    /// Begins the next grace period if anyone waits for it.
    fn go_on(&mut self) {
        let was_stuck = self.stuck;
        let result = self.grace.go_on();
        self.stuck = result.is_err();
        if let (Err(error), false) = (result, was_stuck) {
            tracing::warn!(%error, "slots and timings of maps that are gone stay taken: no thread can be had");
        }
    }

    /// All rows of the maps that have moved.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (cpu, taken) in self.places.cpus.iter().enumerate() {
            let moved = taken.places.iter();
            let moved = moved.filter(|place| self.places.has_moved(map_of(place.key)));
            rows.extend(moved.filter_map(|place| self.tables.row(cpu, place)));
        }
        rows
    }

    /// Pops by CPU; those of a CPU that rests, and of whose timings none has left, stand.
    fn cpu_pops(&mut self, now: Instant, left: &[Row]) -> BTreeMap<u32, Durations> {
        for (cpu, taken) in self.places.cpus.iter().enumerate() {
            let moved = taken.moved;
            let rests = moved.is_none_or(|moved| now.saturating_duration_since(moved) > FRESH);
            if rests && !left.iter().any(|row| row.cpu as usize == cpu) {
                continue;
            }
            let popping = taken
                .places
                .iter()
                .filter(|place| self.tables.pops_freelist(cpu, place));
            let pops = popping.filter_map(|place| self.tables.row(cpu, place)?.pop_durations);
            let mut sum = None::<Durations>;
            for pops in pops {
                sum.get_or_insert_default().merge(&pops);
            }
            match sum {
                Some(sum) => self.cpu_pops.insert(cpu as u32, sum),
                None => self.cpu_pops.remove(&(cpu as u32)),
            };
        }
        self.cpu_pops.clone()
    }

    /// What a table's user is told about its size.
    fn room(&self) -> Room {
        let geometry = self.tables.geometry();
        let cpus = geometry.cpus;
        let timings_used = (0..cpus).map(|cpu| self.tables.timings_used(cpu));
        Room {
            state_bytes: cpus * size_of::<CpuState>(),
            counter_bytes: cpus * geometry.slots * size_of::<Slot>(),
            timing_bytes: cpus * geometry.timings * size_of::<Timings>(),
            slots: geometry.slots,
            slots_used: self.places.most(),
            timings: geometry.timings,
            timings_used: timings_used.max().unwrap_or(0),
            untimed_pairs: self.untimed_pairs,
        }
    }

    /// Gives timings to the busiest, and offers what is left to new slots.
    fn keep_up(&mut self, now: Instant) {
        let due = |before: Instant| now.saturating_duration_since(before) >= BALANCE_EVERY;
        if self.balanced.is_none_or(due) {
            self.balanced = Some(now);
            self.untimed_pairs = 0;
            if self.tables.lack_timings(&self.places) {
                let standings = self.tables.standings(&self.places);
                let lacking = standings.values().filter(|standing| standing.lacking);
                self.untimed_pairs = lacking.count();
                let room = self.tables.timings_to_give();
                let chosen = self.busiest.choose(&standings, room).clone();
                self.tables
                    .balance(&self.places, &chosen, &self.busiest, &mut self.grace);
            }
        }
        for cpu in 0..self.tables.geometry().cpus {
            self.tables.offer(cpu);
        }
    }
}

impl Tables {
    /// Are there free-list pops inside of the operations that a slot counts?
    fn pops_freelist(&self, cpu: usize, place: &Place) -> bool {
        let half = |field| {
            let at = slot_at(place.slot) + field;
            self.values.half(cpu, at).load(Ordering::Relaxed)
        };
        let map_type = MapType(half(offset_of!(Slot, map_type)));
        let flags = half(offset_of!(Slot, flags));
        Op::from_byte(place.key as u8) == Some(Op::Update) && map_type.pops_freelist(flags)
    }
}

#[cfg(test)]
mod tests;
