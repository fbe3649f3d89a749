//! How fast things went at each of the last readings.

use std::collections::{BTreeMap, VecDeque};

use super::reading::Reading;
use crate::{api::Rates, identity::MapId};

/// Readings that are remembered.
pub(super) const LENGTH: usize = 240;

/// The last readings; the newest is the last of each track.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// The run of the daemon that it is about.
    started: String,
    window: Option<u64>,
    maps: BTreeMap<MapId, Track>,
    /// All maps that were told, together.
    all: Track,
}

/// How fast one map was worked on; `None` while nobody knew.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// Updates per second.
    pub(super) updates: VecDeque<Option<u64>>,
    /// Refused operations per second.
    pub(super) rejects: VecDeque<Option<u64>>,
}

impl Track {
    fn push(&mut self, rates: Option<Rates>) {
        let whole = |rate: f64| rate.round() as u64;
        let both = [
            (
                &mut self.updates,
                rates.map(|rates| whole(rates.updates_per_second)),
            ),
            (
                &mut self.rejects,
                rates.map(|rates| whole(rates.rejects_per_second)),
            ),
        ];
        for (track, rate) in both {
            track.push_back(rate);
            if track.len() > LENGTH {
                track.pop_front();
            }
        }
    }
}

impl History {
    /// Takes in a reading, unless it is of the same sample as the one before.
    pub(super) fn note(&mut self, reading: &Reading) {
        if self.started != reading.probes.started {
            *self = Self {
                started: reading.probes.started.clone(),
                ..Self::default()
            };
        }
        if self.window.replace(reading.maps.window) == Some(reading.maps.window) {
            return;
        }
        let maps = &reading.maps.maps;
        self.maps
            .retain(|id, _| maps.iter().any(|map| map.id == *id));
        for map in maps {
            self.maps.entry(map.id).or_default().push(map.rates);
        }
        self.all.push(sum(maps.iter().filter_map(|map| map.rates)));
    }

    /// Nobody knows how fast things went since the last reading.
    pub(super) fn note_gap(&mut self) {
        self.all.push(None);
        for track in self.maps.values_mut() {
            track.push(None);
        }
    }

    /// One map.
    pub(super) fn of(&self, id: MapId) -> Option<&Track> {
        self.maps.get(&id)
    }

    /// All maps that were told, together.
    pub(super) fn all(&self) -> &Track {
        &self.all
    }
}

/// All together; `None` where nothing is known of any.
pub(super) fn sum(rates: impl Iterator<Item = Rates>) -> Option<Rates> {
    rates.reduce(|a, b| Rates {
        operations_per_second: a.operations_per_second + b.operations_per_second,
        updates_per_second: a.updates_per_second + b.updates_per_second,
        rejects_per_second: a.rejects_per_second + b.rejects_per_second,
        busy: match (a.busy, b.busy) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::examples;

    #[test]
    fn each_sample_counts_once_and_a_gap_is_no_zero() {
        let mut history = History::default();
        let mut reading = examples::reading();
        history.note(&reading);
        history.note(&reading);
        history.note_gap();
        reading.maps.window += 1;
        history.note(&reading);
        let expected = [Some(4000), None, Some(4000)];
        assert_eq!(history.all().updates, expected);
        assert_eq!(history.of(7).unwrap().updates, expected);
        assert_eq!(history.of(12).unwrap().updates, [None, None, None]);
    }

    #[test]
    fn another_daemon_is_another_history_and_it_is_bounded() {
        let mut history = History::default();
        let mut reading = examples::reading();
        for window in 0..1000 {
            reading.maps.window = window;
            history.note(&reading);
        }
        assert_eq!(history.all().rejects.len(), LENGTH);
        reading.probes.started = "later".to_owned();
        reading.maps.window = 1;
        history.note(&reading);
        assert_eq!(history.all().rejects, [Some(3000)]);
    }
}
