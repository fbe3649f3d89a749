//! From a fresh snapshot to the next view: storms judged and logged, idle maps found, readers told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::{
    identity::MapId,
    snapshot::Snapshot,
    storm::{self, Detector, StormEvent},
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
}

impl Publisher {
    /// A publisher whose readers see `first` until the first sample.
    pub fn new(first: View, detector: Detector) -> (Self, Views) {
        let (sender, views) = watch::channel(Arc::new(first));
        let publisher = Self {
            sender,
            detector,
            activity: Activity::default(),
        };
        (publisher, views)
    }

    /// Tells readers how far the daemon is.
    pub fn set_phase(&mut self, phase: Phase) {
        self.sender.send_modify(|view| {
            let view = Arc::make_mut(view);
            view.phase = phase;
            view.published = Instant::now();
        });
    }

    /// Publishes `snapshot`, which took `cost` to take. Logs and returns what storms did.
    pub fn publish(&mut self, snapshot: Snapshot, cost: Duration) -> Vec<StormEvent> {
        let start = Instant::now();
        let before = Arc::clone(&self.sender.borrow());
        let events = self.detector.observe(&before.snapshot, &snapshot);
        events.iter().for_each(storm::log_event);
        let view = View {
            published: start,
            storms: self.detector.board(),
            idle: self.activity.idle(&snapshot, before.host.sample_interval),
            snapshot: Arc::new(snapshot),
            sampling: before.sampling + cost + start.elapsed(),
            ..View::clone(&before)
        };
        self.sender.send_replace(Arc::new(view));
        events
    }
}

/// When each map's counters last moved.
#[derive(Debug, Default)]
struct Activity {
    maps: BTreeMap<MapId, Pulse>,
}

#[derive(Clone, Copy, Debug)]
struct Pulse {
    events: u64,
    window: u64,
}

impl Activity {
    /// The maps of `snapshot` that have been idle for [`IDLE_AFTER`].
    fn idle(&mut self, snapshot: &Snapshot, interval: Duration) -> BTreeSet<MapId> {
        let windows = IDLE_AFTER.div_duration_f64(interval) as u64;
        let now = snapshot.window;
        self.maps.retain(|id, _| snapshot.maps.contains_key(id));
        let mut idle = BTreeSet::new();
        for (&id, map) in &snapshot.maps {
            let events = map.events();
            let window = now;
            let pulse = self.maps.entry(id).or_insert(Pulse { events, window });
            if pulse.events != events {
                *pulse = Pulse { events, window };
            } else if now.saturating_sub(pulse.window) >= windows {
                idle.insert(id);
            }
        }
        idle
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
            update: Some(update),
            pops: None,
        };
        Snapshot {
            window,
            elapsed: Duration::from_millis(250),
            maps: [(7, map)].into(),
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
}
