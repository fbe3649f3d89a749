//! What the daemon answers over HTTP. The only user of axum and of hyper beneath it.
//!
//! Every answer is made from the newest view; nothing that a client sends changes anything.

mod api;
mod bind;
mod events;
mod fresh;
mod health;
mod maps;
mod page;
mod params;
mod problem;
mod scrape;
mod select;
mod server;

use std::{sync::Arc, time::Duration};

use axum::{Router, http::StatusCode, middleware, routing::get};
use tokio::sync::{Semaphore, watch};
use tower_http::{CompressionLevel, compression::CompressionLayer, timeout::TimeoutLayer};

use crate::{
    metrics::Exposition,
    view::{View, Views},
};
use events::Frames;
use scrape::Scrapes;

pub use api::openapi_json;
pub use bind::{BindError, bind};
pub use events::MAX_STREAMS;
pub use maps::list as list_maps;
pub use server::{GRACE, serve};

/// A request that takes longer than this is answered 503.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// What the handlers share.
#[derive(Clone, Debug)]
pub struct Site {
    views: Views,
    scrapes: Scrapes,
    frames: Arc<Frames>,
    /// Places for event streams.
    streams: Arc<Semaphore>,
    /// True once the server is about to end: event streams have no other end.
    ended: watch::Sender<bool>,
    /// How long a reader may read nothing.
    patience: Duration,
}

impl Site {
    /// A site that shows what `views` shows.
    pub fn new(views: Views, exposition: Exposition) -> Self {
        Self {
            views,
            scrapes: Scrapes::new(exposition),
            frames: Arc::default(),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            ended: watch::Sender::new(false),
            patience: server::PATIENCE,
        }
    }

    /// The same site, for readers that may read nothing for so long before they are dropped.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.views.borrow())
    }
}

/// The routes. HEAD works wherever GET does; other methods are answered 405, other paths 404.
pub fn router(site: Site) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/assets/{*name}", get(page::assets))
        .route("/metrics", get(scrape::metrics))
        .route("/-/healthy", get(health::healthy))
        .route("/-/ready", get(health::ready))
        .route("/api/v1/events", get(events::events))
        .route("/api/v1/maps", get(maps::maps))
        .route("/api/v1/maps/{id}", get(maps::map))
        .route("/api/v1/openapi.json", get(api::openapi))
        .route("/api/v1/probes", get(api::probes))
        .route("/api/v1/storms", get(api::storms))
        .fallback(not_found)
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            REQUEST_TIMEOUT,
        ))
        .layer(middleware::from_fn(problem::under_api))
        .with_state(site)
}

async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "no such page; see /\n")
}
