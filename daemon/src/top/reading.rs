//! What a daemon was asked at one time, and what it answered.

use serde::Serialize;

use crate::{
    api::{MapDetail, MapList, ProbeList, StormList},
    client::{ClientError, Daemon, Question},
    identity::MapId,
};

/// What is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which maps.
    pub question: Question,
    /// The map that is looked at closely.
    pub map: Option<MapId>,
}

/// One state of a daemon, as far as it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Its maps.
    pub maps: MapList,
    /// Its storms.
    pub storms: StormList,
    /// Its probes, its kernel and its build.
    pub probes: ProbeList,
    /// The map that is looked at closely; `None` where none is, or where it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<MapDetail>,
}

impl Reading {
    /// Asks for all of it.
    ///
    /// # Errors
    /// When the daemon cannot be reached, or is none.
    pub fn take(daemon: &Daemon, request: &Request) -> Result<Self, ClientError> {
        Ok(Self {
            maps: daemon.maps(&request.question)?,
            storms: daemon.storms()?,
            probes: daemon.probes()?,
            map: match request.map {
                Some(id) => daemon.map(id)?,
                None => None,
            },
        })
    }
}
