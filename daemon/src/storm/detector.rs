//! The state machine behind every kind: evidence rises, a storm opens, calm closes it.

use std::collections::BTreeMap;

use super::{
    Board, Change, Closed, End, FreelistUse, Kind, Level, Moment, Reading, Storm, StormEvent,
    Thresholds, change::is_same, ledger::Ledger,
};
use crate::{facts::FreelistGeneration, identity::MapId, snapshot::Snapshot};

/// Finds storms in a sequence of snapshots. A pure function of two snapshots and this state.
#[derive(Clone, Debug)]
pub struct Detector {
    thresholds: Thresholds,
    generation: FreelistGeneration,
    tracks: BTreeMap<(MapId, Kind), Track>,
    ledger: Ledger,
}

/// Evidence of one kind on one map. There is a track only while there is evidence.
#[derive(Clone, Debug)]
struct Track {
    phase: Phase,
    /// The record as it will be, or is, told.
    storm: Storm,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Windows of evidence so far, all consecutive.
    Rising(u32),
    /// The storm is open; calm windows so far, all consecutive.
    Open(u32),
}

impl Detector {
    /// A detector that has seen nothing. `generation` is what this kernel's pops do on a full map.
    pub fn new(thresholds: Thresholds, generation: FreelistGeneration) -> Self {
        Self {
            thresholds,
            generation,
            tracks: BTreeMap::new(),
            ledger: Ledger::default(),
        }
    }

    /// Takes new thresholds; open storms go on by them.
    pub fn set_thresholds(&mut self, thresholds: Thresholds) {
        self.thresholds = thresholds;
    }

    /// Weighs the window between two snapshots: what closed, then what opened. A window of no time
    /// says nothing, save that a map is gone.
    pub fn observe(&mut self, previous: &Snapshot, current: &Snapshot) -> Vec<StormEvent> {
        let now = Moment::of(current);
        let mut events = self.close_gone(previous, current, now);
        for (&id, map) in &current.maps {
            let before = previous.maps.get(&id);
            let Some(change) = Change::new(id, before, map, current.elapsed) else {
                break;
            };
            events.extend(
                Kind::ALL
                    .into_iter()
                    .filter_map(|kind| self.step(kind, &change, now)),
            );
        }
        for event in &events {
            self.ledger.record(event);
        }
        events
    }

    /// Open storms, by map id and kind.
    pub fn active(&self) -> impl Iterator<Item = &Storm> {
        let open = |track: &&Track| matches!(track.phase, Phase::Open(_));
        self.tracks.values().filter(open).map(|track| &track.storm)
    }

    /// Storms opened since start, by [`Kind`].
    pub fn totals(&self) -> [u64; Kind::COUNT] {
        self.ledger.totals()
    }

    /// All that readers are told.
    pub fn board(&self) -> Board {
        self.ledger.board(self.active())
    }

    /// Drops the tracks of maps that are not there any more, or are other maps now.
    fn close_gone(
        &mut self,
        previous: &Snapshot,
        current: &Snapshot,
        now: Moment,
    ) -> Vec<StormEvent> {
        let gone = |map: MapId| match (previous.maps.get(&map), current.maps.get(&map)) {
            (Some(before), Some(now)) => !is_same(before, now),
            (_, now) => now.is_none(),
        };
        self.ledger.forget(gone);
        let departed = self.tracks.extract_if(.., |&(map, _), _| gone(map));
        departed
            .filter_map(|(_, track)| track.close(now, End::MapGone))
            .collect()
    }

    /// Weighs one window for one kind on one map.
    fn step(&mut self, kind: Kind, change: &Change<'_>, now: Moment) -> Option<StormEvent> {
        let reading = kind.read(&self.thresholds, change);
        let key = (change.id, kind);
        if reading.level != Level::Storm && !self.tracks.contains_key(&key) {
            return None;
        }
        let freelist = FreelistUse::of(change.map, self.generation);
        let fresh = || Track::new(kind, change, now, freelist);
        let track = self.tracks.entry(key).or_insert_with(fresh);
        track.storm.fill = change.map.fill();
        match (track.phase, reading.level) {
            (Phase::Rising(windows), Level::Storm) => {
                track.rise(windows + 1, &self.thresholds, &reading, now)
            }
            (Phase::Rising(_), _) => {
                self.tracks.remove(&key);
                None
            }
            (Phase::Open(calm), Level::Calm) => {
                track.note(&reading);
                track.phase = Phase::Open(calm + 1);
                if calm + 1 < self.thresholds.close_windows {
                    return None;
                }
                self.tracks.remove(&key)?.close(now, End::Calm)
            }
            (Phase::Open(_), _) => {
                track.note(&reading);
                track.phase = Phase::Open(0);
                None
            }
        }
    }
}

impl Track {
    fn new(kind: Kind, change: &Change<'_>, now: Moment, freelist: FreelistUse) -> Self {
        let storm = Storm {
            kind,
            map_id: change.id,
            map_name: change.map.name.clone(),
            map_type: change.map.kind,
            since_window: now.window,
            opened: now,
            closed: None,
            rejects_per_second: 0.0,
            peak_rejects_per_second: 0.0,
            cpus: 0,
            peak_cpus: 0,
            rejects: 0,
            fill: change.map.fill(),
            freelist,
            advice: kind.advice(freelist),
        };
        Self {
            phase: Phase::Rising(0),
            storm,
        }
    }

    /// Takes a window of evidence, the `windows`-th in a row.
    fn rise(
        &mut self,
        windows: u32,
        thresholds: &Thresholds,
        reading: &Reading,
        now: Moment,
    ) -> Option<StormEvent> {
        self.note(reading);
        self.phase = Phase::Rising(windows);
        if windows < thresholds.open_windows {
            return None;
        }
        self.phase = Phase::Open(0);
        self.storm.opened = now;
        Some(StormEvent::Opened(self.storm.clone()))
    }

    fn note(&mut self, reading: &Reading) {
        let storm = &mut self.storm;
        storm.rejects += reading.rejects;
        storm.rejects_per_second = reading.rejects_per_second;
        storm.cpus = reading.cpus;
        storm.peak_rejects_per_second = storm
            .peak_rejects_per_second
            .max(reading.rejects_per_second);
        storm.peak_cpus = storm.peak_cpus.max(reading.cpus);
    }

    /// The end of an open storm; `None` when it had not opened yet.
    fn close(mut self, now: Moment, end: End) -> Option<StormEvent> {
        let Phase::Open(_) = self.phase else {
            return None;
        };
        self.storm.closed = Some(Closed { at: now, end });
        Some(StormEvent::Closed(self.storm))
    }
}
