//! What is kept of one storm.

use serde::{Deserialize, Serialize};

use crate::{
    identity::MapId,
    storm::{Closed, End, Kind, Moment, Storm},
};

/// What names a storm among those of one run of the daemon: the window in which it opened, its map, its kind.
pub type Key = (u64, MapId, Kind);

/// A storm as it was when it was last looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The storm.
    pub storm: Storm,
    /// The end of the window in which it was so.
    pub seen: Moment,
}

impl Entry {
    /// What names it.
    pub fn key(&self) -> Key {
        let Storm {
            opened,
            map_id,
            kind,
            ..
        } = self.storm;
        (opened.window, map_id, kind)
    }

    /// What it is now that the daemon which saw it is gone: closed, if it was not, when it was last seen.
    pub(super) fn ended(self) -> Storm {
        let Self { mut storm, seen } = self;
        storm.closed.get_or_insert(Closed {
            at: seen,
            end: End::DaemonStopped,
        });
        storm
    }
}
