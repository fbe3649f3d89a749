//! From a fresh snapshot to the next view: storms judged and logged, idle maps found, readers told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use mapstorm_abi::Op;
use tokio::sync::watch;

use crate::{
    history::Recorder,
    identity::MapId,
    motion::{Motion, Recent},
    snapshot::Snapshot,
    storm::{self, Detector, Moment, StormEvent},
    view::{Phase, View, Views},
};

/// A map none of whose counters has moved for this long is idle.
const IDLE_AFTER: Duration = Duration::from_secs(300);

/// Publishes one view per sample.
#[derive(Debug)]
pub struct Publisher {
    sender: watch::Sender<Arc<View>>,
    detector: Detector,
    activity: Activity,
    recent: Recent,
    recorder: Option<Recorder>,
}

impl Publisher {
    /// A publisher whose readers see `first`, with the storms that the detector remembers, until the first sample.
    pub fn new(first: View, detector: Detector) -> (Self, Views) {
        let storms = detector.board();
        let first = View { storms, ..first };
        let (sender, views) = watch::channel(Arc::new(first));
        let publisher = Self {
            sender,
            detector,
            activity: Activity::default(),
            recent: Recent::default(),
            recorder: None,
        };
        (publisher, views)
    }

    /// The same publisher, which also hands storms on to be kept.
    #[must_use]
    pub fn recording(mut self, recorder: Option<Recorder>) -> Self {
        self.recorder = recorder;
        self
    }

    /// Tells readers that no sample will follow, and hands on what is open.
    pub fn end(&mut self) {
        let last = Moment::of(&self.sender.borrow().snapshot);
        if let Some(recorder) = &mut self.recorder {
            recorder.update(self.detector.active(), last);
        }
        self.set_phase(Phase::Stopping);
    }

    /// Tells readers how far the daemon is.
    pub fn set_phase(&mut self, phase: Phase) {
        self.sender.send_modify(|view| {
            let view = Arc::make_mut(view);
            view.phase = phase;
            view.published = Instant::now();
        });
    }

    /// The fights that go on, and from which duration on a call of them is worth a look, nanoseconds.
    pub fn fought(&self) -> BTreeMap<(MapId, Op), u64> {
        self.detector
            .fought(&self.sender.borrow().snapshot)
            .collect()
    }

    /// Publishes `snapshot`, which took `cost` to take. Logs and returns what storms did.
    pub fn publish(&mut self, snapshot: Snapshot, cost: Duration) -> Vec<StormEvent> {
        let start = Instant::now();
        let before = Arc::clone(&self.sender.borrow());
        let events = self.detector.observe(&before.snapshot, &snapshot);
        events.iter().for_each(storm::log_event);
        if let Some(recorder) = &mut self.recorder {
            recorder.note(&events, self.detector.active(), Moment::of(&snapshot));
        }
        let snapshot = Arc::new(snapshot);
        let storms = self.detector.board();
        let stormy = |id| storms.active.iter().any(|storm| storm.map_id == id);
        let motion = Motion::between(&before.snapshot, &snapshot, stormy);
        let view = View {
            published: start,
            idle: self.activity.idle(&snapshot, before.host.sample_interval),
            pace: Arc::new(self.recent.advance(Arc::clone(&snapshot))),
            history: before.history.with(motion),
            storms,
            snapshot,
            sampling: before.sampling + cost + start.elapsed(),
            host: Arc::clone(&before.host),
            phase: before.phase,
            probes: Arc::clone(&before.probes),
        };
        self.sender.send_replace(Arc::new(view));
        events
    }
}

/// When each map's counters last moved, by id.
#[derive(Debug, Default)]
struct Activity {
    maps: Vec<(MapId, Pulse)>,
}

#[derive(Clone, Copy, Debug)]
struct Pulse {
    events: u64,
    window: u64,
}

impl Activity {
    /// The maps of `snapshot` that have been idle for [`IDLE_AFTER`], or always.
    fn idle(&mut self, snapshot: &Snapshot, interval: Duration) -> BTreeSet<MapId> {
        let windows = IDLE_AFTER.div_duration_f64(interval) as u64;
        let now = snapshot.window;
        let mut idle = Vec::new();
        // Both are by id: one pass, however many there are.
        let mut before = std::mem::take(&mut self.maps).into_iter().peekable();
        self.maps.reserve(snapshot.maps.len());
        for (&id, map) in &snapshot.maps {
            while before.next_if(|&(other, _)| other < id).is_some() {}
            let events = map.events();
            let known = before.next_if(|&(other, _)| other == id);
            let known = known.filter(|(_, pulse)| pulse.events == events);
            let fresh = Pulse {
                events,
                window: now,
            };
            let pulse = known.map_or(fresh, |(_, pulse)| pulse);
            if events == 0 || now.saturating_sub(pulse.window) >= windows {
                idle.push(id);
            }
            self.maps.push((id, pulse));
        }
        idle.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use mapstorm_abi::Outcome;

    use super::*;
    use crate::{
        build_info::BuildInfo,
        facts::FreelistGeneration,
        identity::MapType,
        snapshot::{MapStats, OpStats},
        storm::Thresholds,
        view::Host,
    };

    fn snapshot(window: u64, refused: u64) -> Snapshot {
        let mut update = OpStats {
            exhausted_by_cpu: vec![refused],
            ..OpStats::default()
        };
        update.outcomes[Outcome::E2big as usize] = refused;
        let map = MapStats {
            name: "flows".to_owned(),
            kind: MapType::HASH,
            max_entries: 10,
            flags: 0,
            entries: None,
            listed: None,
            ops: [(mapstorm_abi::Op::Update, update)].into(),
            pops: None,
            locks: Default::default(),
        };
        Snapshot {
            window,
            elapsed: Duration::from_millis(250),
            maps: [(7, Arc::new(map))].into(),
            ..Snapshot::default()
        }
    }

    fn publisher() -> (Publisher, Views) {
        let host = Host {
            build: BuildInfo::THIS,
            kernel_release: "6.12.0".to_owned(),
            freelist: FreelistGeneration::LooksFirst,
            started: SystemTime::UNIX_EPOCH,
            sample_interval: Duration::from_millis(250),
        };
        let detector = Detector::new(Thresholds::default(), host.freelist);
        Publisher::new(View::starting(host, Arc::default()), detector)
    }

    #[test]
    fn readers_see_the_storm_with_the_snapshot_that_opened_it() {
        let (mut publisher, views) = publisher();
        publisher.set_phase(Phase::Armed);
        for window in 1..=3 {
            let events =
                publisher.publish(snapshot(window, window * 1000), Duration::from_millis(1));
            assert_eq!(events.len(), usize::from(window == 2));
        }
        let view = Arc::clone(&views.borrow());
        assert_eq!((view.snapshot.window, view.phase), (3, Phase::Armed));
        assert_eq!(view.storms.active.len(), 1);
        assert!(view.sampling >= Duration::from_millis(3));
    }

    #[test]
    fn a_map_is_idle_after_five_minutes_and_busy_at_its_next_event() {
        let mut activity = Activity::default();
        let interval = Duration::from_millis(250);
        assert!(activity.idle(&snapshot(1, 5), interval).is_empty());
        assert!(activity.idle(&snapshot(1200, 5), interval).is_empty());
        assert!(activity.idle(&snapshot(1201, 5), interval).contains(&7));
        assert!(activity.idle(&snapshot(1202, 6), interval).is_empty());
    }

    #[test]
    fn a_map_that_nobody_touched_is_idle_from_the_start() {
        let idle = Activity::default().idle(&snapshot(1, 0), Duration::from_millis(250));
        assert!(idle.contains(&7));
    }
}
