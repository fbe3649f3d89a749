//! What the daemon answers over HTTP. The only user of axum and of hyper beneath it.
//!
//! Every answer is made from the newest view; nothing that a client sends changes anything.

mod api;
mod bind;
mod health;
mod page;
mod scrape;
mod server;

use std::{sync::Arc, time::Duration};

use axum::{Router, http::StatusCode, routing::get};
use tower_http::{CompressionLevel, compression::CompressionLayer, timeout::TimeoutLayer};

use crate::{
    metrics::Exposition,
    view::{View, Views},
};
use scrape::Scrapes;

pub use bind::{BindError, bind};
pub use server::{GRACE, serve};

/// A request that takes longer than this is answered 503.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// What the handlers share.
#[derive(Clone, Debug)]
pub struct Site {
    views: Views,
    scrapes: Scrapes,
}

impl Site {
    /// A site that shows what `views` shows.
    pub fn new(views: Views, exposition: Exposition) -> Self {
        Self {
            views,
            scrapes: Scrapes::new(exposition),
        }
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.views.borrow())
    }
}

/// The routes. HEAD works wherever GET does; other methods are answered 405, other paths 404.
pub fn router(site: Site) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/metrics", get(scrape::metrics))
        .route("/-/healthy", get(health::healthy))
        .route("/-/ready", get(health::ready))
        .route("/api/v1/probes", get(api::probes))
        .route("/api/v1/storms", get(api::storms))
        .fallback(not_found)
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            REQUEST_TIMEOUT,
        ))
        .with_state(site)
}

async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "no such page; see /\n")
}
