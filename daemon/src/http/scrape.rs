//! `/metrics`: one rendering at a time, shared by all scrapers that came before it ended.

use std::{sync::Arc, time::Instant};

use axum::{
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use tokio::{
    sync::Mutex,
    task::{self, JoinError},
};

use super::Site;
use crate::metrics::{self, Exposition, ExpositionError};

/// Renders scrapes. However many come at once, they cost one rendering.
#[derive(Clone, Debug)]
pub(super) struct Scrapes {
    exposition: Exposition,
    last: Arc<Mutex<Option<Rendering>>>,
}

#[derive(Debug)]
struct Rendering {
    ended: Instant,
    text: Bytes,
}

#[derive(Debug, thiserror::Error)]
enum ScrapeError {
    #[error(transparent)]
    Exposition(#[from] ExpositionError),
    #[error("metrics: rendering was cut short: {0}")]
    Task(#[from] JoinError),
}

impl Scrapes {
    pub(super) fn new(exposition: Exposition) -> Self {
        let last = Arc::default();
        Self { exposition, last }
    }

    /// A rendering that was under way at `came` or began after it: no older than a rendering takes.
    async fn text(self, came: Instant) -> Result<Bytes, ScrapeError> {
        let mut last = self.last.lock().await;
        if let Some(rendering) = last.as_ref().filter(|rendering| rendering.ended >= came) {
            return Ok(rendering.text.clone());
        }
        // Thousands of maps take long enough to hold up other requests.
        let text = task::spawn_blocking(move || self.exposition.render()).await??;
        let text = Bytes::from(text);
        *last = Some(Rendering {
            ended: Instant::now(),
            text: text.clone(),
        });
        Ok(text)
    }
}

pub(super) async fn metrics(State(site): State<Site>) -> Response {
    match site.scrapes.text(Instant::now()).await {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "a scrape failed");
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
        }
    }
}
