//! The history at the daemon's start: read where there is a directory of state, and kept from then on.

use std::{path::Path, time::SystemTime};

use super::{ServeError, system};
use crate::{
    history::{Batch, Keeper, Limits, Past, Recorder, Store},
    storm::Storm,
};

/// Storms past, and who keeps those to come.
#[derive(Default)]
pub(super) struct Kept {
    /// The newest first.
    pub(super) past: Vec<Storm>,
    pub(super) keeper: Option<(Keeper, Recorder)>,
}

impl Kept {
    /// Opens the history in `directory`, and says what is in it; without one nothing is kept.
    pub(super) fn open(directory: Option<&Path>, now: SystemTime) -> Result<Self, ServeError> {
        let Some(directory) = directory else {
            return Ok(Self::default());
        };
        let (mut store, past) = Store::open(directory, Limits::default(), now)?;
        say(directory, &past);
        let write = move |batch: &Batch| store.write(batch, SystemTime::now());
        let keeper = Keeper::start(write).map_err(system("starting to keep storms"))?;
        Ok(Self {
            past: past.storms,
            keeper: Some(keeper),
        })
    }
}

/// One line about the past, and a warning for whatever is not as it should be.
fn say(directory: &Path, past: &Past) {
    if let Some((aside, why)) = &past.aside {
        tracing::warn!(
            moved_to = %aside.display(),
            why,
            "what lay in place of the history of storms is none that this mapstorm can read: it is moved aside, \
             and a new history begins"
        );
    }
    if past.unread > 0 {
        tracing::warn!(
            records = past.unread,
            "some records of the history cannot be read by this mapstorm: they stay in the file"
        );
    }
    tracing::info!(
        directory = %directory.display(),
        storms = past.storms.len(),
        left_open = past.left_open,
        "history read"
    );
}
