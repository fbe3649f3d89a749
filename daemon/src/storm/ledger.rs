//! Storms that are over: the last of them, how many there were, and on which maps.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use super::{Kind, Storm, StormEvent};
use crate::identity::MapId;

/// Closed storms that are remembered.
pub const CLOSED_KEPT: usize = 256;

/// What readers are told about storms: immutable, one per snapshot.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// Open storms, by map id and kind.
    pub active: Vec<Storm>,
    /// The last [`CLOSED_KEPT`] closed storms, the newest first.
    pub closed: Arc<VecDeque<Storm>>,
    /// Maps still there that have had a storm of a kind and have none now.
    pub calmed: Vec<(MapId, Kind)>,
    /// Storms opened since start, by [`Kind`].
    pub totals: [u64; Kind::COUNT],
}

/// The past of a detector.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    closed: Arc<VecDeque<Storm>>,
    stormed: BTreeSet<(MapId, Kind)>,
    totals: [u64; Kind::COUNT],
}

impl Ledger {
    pub(super) fn record(&mut self, event: &StormEvent) {
        match event {
            StormEvent::Opened(storm) => {
                self.totals[storm.kind as usize] += 1;
                self.stormed.insert((storm.map_id, storm.kind));
            }
            StormEvent::Closed(storm) => {
                let closed = Arc::make_mut(&mut self.closed);
                closed.truncate(CLOSED_KEPT - 1);
                closed.push_front(storm.clone());
            }
        }
    }

    /// Takes over what earlier runs saw, the newest first.
    pub(super) fn remember(&mut self, past: Vec<Storm>) {
        let closed = Arc::make_mut(&mut self.closed);
        closed.extend(past);
        closed.truncate(CLOSED_KEPT);
    }

    pub(super) fn forget(&mut self, gone: impl Fn(MapId) -> bool) {
        self.stormed.retain(|&(map, _)| !gone(map));
    }

    pub(super) fn totals(&self) -> [u64; Kind::COUNT] {
        self.totals
    }

    pub(super) fn board<'a>(&self, active: impl Iterator<Item = &'a Storm>) -> Board {
        let active: Vec<Storm> = active.cloned().collect();
        let open = |map, kind| active.iter().any(|s| s.map_id == map && s.kind == kind);
        let calmed = self.stormed.iter().copied();
        Board {
            calmed: calmed.filter(|&(map, kind)| !open(map, kind)).collect(),
            closed: Arc::clone(&self.closed),
            totals: self.totals,
            active,
        }
    }
}
