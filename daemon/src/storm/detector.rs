//! The state machine behind every kind: evidence rises, a storm opens, calm closes it.

use std::{collections::BTreeMap, sync::Arc};

use mapstorm_abi::Op;

use super::{
    Board, CALLERS_TOLD, Change, Closed, End, Evidence, FreelistUse, Kind, Level, Moment, Severity,
    Storm, StormEvent, Thresholds,
    calm::Customs,
    change::is_same,
    contention::{Contention, Places},
    kinds::{Reading, Window},
    ledger::Ledger,
};
use crate::{facts::FreelistGeneration, identity::MapId, snapshot::Snapshot, who::Callers};

/// Finds storms in a sequence of snapshots. A pure function of two snapshots and this state.
#[derive(Clone, Debug)]
pub struct Detector {
    thresholds: Thresholds,
    generation: FreelistGeneration,
    /// Does this kernel report waits for locks, and are those of a hash map known?
    waits_are_seen: bool,
    tracks: BTreeMap<(MapId, Kind), Track>,
    ledger: Ledger,
    customs: Customs,
    /// Where the fights are that go on: time lost at free lists and at buckets, the newest window
    /// weighing most.
    places: BTreeMap<MapId, [f64; 2]>,
    /// As of the window just observed.
    callers: Arc<Callers>,
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
            waits_are_seen: false,
            tracks: BTreeMap::new(),
            ledger: Ledger::default(),
            customs: Customs::default(),
            places: BTreeMap::new(),
            callers: Arc::default(),
        }
    }

    /// The same detector, which remembers these storms of earlier runs, the newest first.
    #[must_use]
    pub fn remembering(mut self, past: Vec<Storm>) -> Self {
        self.ledger.remember(past);
        self
    }

    /// The same detector on a kernel that does, or does not, report waits for locks; it takes it that none is reported.
    #[must_use]
    pub fn seeing_waits(mut self, waits_are_seen: bool) -> Self {
        self.waits_are_seen = waits_are_seen;
        self
    }

    /// Takes new thresholds; open storms go on by them.
    pub fn set_thresholds(&mut self, thresholds: Thresholds) {
        self.thresholds = thresholds;
    }

    /// Weighs the window between two snapshots: what closed, then what opened. A window of no time
    /// says nothing, save that a map is gone.
    pub fn observe(&mut self, previous: &Snapshot, current: &Snapshot) -> Vec<StormEvent> {
        let now = Moment::of(current);
        self.callers = Arc::clone(&current.callers);
        let mut events = self.close_gone(previous, current, now);
        for (&id, map) in &current.maps {
            let before = previous.maps.get(&id);
            let stands = before.is_some_and(|before| Arc::ptr_eq(before, map));
            if stands && !self.is_tracked(id) {
                continue;
            }
            let before = before.map(Arc::as_ref);
            let Some(change) = Change::new(id, before, map, current.elapsed) else {
                break;
            };
            events.extend(self.weigh(&change, now));
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

    /// Fights that are open or rising, and from which duration on a call of them is worth a look,
    /// nanoseconds: what the slowest tenth of the calls so far took. Who calls is sampled by that.
    pub fn fought<'a>(
        &self,
        snapshot: &'a Snapshot,
    ) -> impl Iterator<Item = ((MapId, Op), u64)> + use<'_, 'a> {
        let fights = self
            .tracks
            .keys()
            .filter(|(_, kind)| kind.sibling().is_some() || *kind == Kind::Lru);
        fights
            .filter_map(|&(id, _)| snapshot.maps.get(&id).map(|map| (id, map)))
            .flat_map(|(id, map)| {
                map.ops.iter().filter_map(move |(&op, stats)| {
                    let slow_ns = stats.durations.as_ref()?.quantile_ns(0.9)?;
                    Some(((id, op), slow_ns))
                })
            })
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
        self.customs.forget(gone);
        self.places.retain(|&map, _| !gone(map));
        let departed = self.tracks.extract_if(.., |&(map, _), _| gone(map));
        departed
            .filter_map(|(_, track)| track.close(now, End::MapGone))
            .collect()
    }

    /// Is there evidence of any kind on the map?
    fn is_tracked(&self, map: MapId) -> bool {
        Kind::ALL
            .into_iter()
            .any(|kind| self.tracks.contains_key(&(map, kind)))
    }

    /// Weighs one map's window for every kind, and learns from it when it is calm.
    fn weigh(&mut self, change: &Change<'_>, now: Moment) -> Vec<StormEvent> {
        let (id, thresholds) = (change.id, self.thresholds.clone());
        let calm = self.customs.of(id);
        let contention = Contention::of(change, calm, &thresholds.contention, self.waits_are_seen);
        let window = Window {
            change,
            contention: &contention,
            place: self.place(id, &contention),
            freelist: FreelistUse::of(change.map, self.generation),
        };
        let readings = Kind::ALL.map(|kind| (kind, kind.read(&thresholds, &window)));
        let is_calm = readings
            .iter()
            .all(|(_, reading)| reading.level == Level::Calm);
        if is_calm && !self.is_tracked(id) {
            self.customs.learn(change);
            return Vec::new();
        }
        let steps = readings.into_iter();
        steps
            .filter_map(|(kind, reading)| self.step(kind, &window, &reading, now))
            .collect()
    }

    /// Where the fight over a map is. Windows differ in what they happen to see, so the past ones weigh
    /// in, and an open storm stays what it was called.
    fn place(&mut self, map: MapId, contention: &Contention) -> Kind {
        if contention.level(&self.thresholds.contention) == Level::Calm {
            self.places.remove(&map);
        } else {
            let Places {
                freelist, bucket, ..
            } = contention.places;
            let [freelists, buckets] = self.places.entry(map).or_default();
            *freelists = *freelists / 2.0 + freelist;
            *buckets = *buckets / 2.0 + bucket;
        }
        let lost = self.places.get(&map);
        let place = match lost {
            Some([freelists, buckets]) if freelists > buckets => Kind::Freelist,
            _ => Kind::HotBucket,
        };
        let other = place.sibling().unwrap_or(place);
        let Some(mut track) = self.tracks.remove(&(map, other)) else {
            return place;
        };
        if let Phase::Open(_) = track.phase {
            self.tracks.insert((map, other), track);
            return other;
        }
        // The same fight, under its better name.
        track.storm.kind = place;
        self.tracks.insert((map, place), track);
        place
    }

    /// Weighs one window for one kind on one map.
    fn step(
        &mut self,
        kind: Kind,
        window: &Window<'_>,
        reading: &Reading,
        now: Moment,
    ) -> Option<StormEvent> {
        let change = window.change;
        let key = (change.id, kind);
        if reading.level != Level::Storm && !self.tracks.contains_key(&key) {
            return None;
        }
        let fresh = || Track::new(kind, window, now);
        let track = self.tracks.entry(key).or_insert_with(fresh);
        track.storm.fill = change.map.fill();
        let mut callers = self.callers.of(change.id);
        callers.truncate(CALLERS_TOLD);
        track.storm.callers = callers;
        if reading.level != Level::Calm {
            track.storm.evidence = kind.evidence(window, reading);
            track.storm.advice = kind.advice(change.map, window.freelist);
        }
        let severity = Severity::of(&self.thresholds.severity, reading.cpus, reading.cpu_seconds);
        match (track.phase, reading.level) {
            (Phase::Rising(windows), Level::Storm) => {
                track.note(reading, severity);
                track.rise(windows + 1, &self.thresholds, now)
            }
            (Phase::Rising(_), _) => {
                self.tracks.remove(&key);
                None
            }
            (Phase::Open(calm), Level::Calm) => {
                track.note(reading, severity);
                track.phase = Phase::Open(calm + 1);
                if calm + 1 < self.thresholds.close_windows {
                    return None;
                }
                self.tracks.remove(&key)?.close(now, End::Calm)
            }
            (Phase::Open(_), _) => {
                track.note(reading, severity);
                track.phase = Phase::Open(0);
                None
            }
        }
    }
}

impl Track {
    fn new(kind: Kind, window: &Window<'_>, now: Moment) -> Self {
        let (change, freelist) = (window.change, window.freelist);
        let storm = Storm {
            kind,
            severity: Severity::default(),
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
            cpu_seconds_per_second: None,
            peak_cpu_seconds_per_second: None,
            fill: change.map.fill(),
            freelist,
            evidence: Evidence::default(),
            callers: Vec::new(),
            advice: kind.advice(change.map, freelist),
        };
        Self {
            phase: Phase::Rising(0),
            storm,
        }
    }

    /// Takes a window of evidence, the `windows`-th in a row.
    fn rise(&mut self, windows: u32, thresholds: &Thresholds, now: Moment) -> Option<StormEvent> {
        self.phase = Phase::Rising(windows);
        if windows < thresholds.open_windows {
            return None;
        }
        self.phase = Phase::Open(0);
        self.storm.opened = now;
        Some(StormEvent::Opened(self.storm.clone()))
    }

    fn note(&mut self, reading: &Reading, severity: Severity) {
        let storm = &mut self.storm;
        let most = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b);
        storm.severity = storm.severity.max(severity);
        // Where time is measured, a window without any has burnt none.
        let known = storm.peak_cpu_seconds_per_second.map(|_| 0.0);
        storm.cpu_seconds_per_second = reading.cpu_seconds.or(known);
        storm.peak_cpu_seconds_per_second =
            most(storm.peak_cpu_seconds_per_second, reading.cpu_seconds);
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
