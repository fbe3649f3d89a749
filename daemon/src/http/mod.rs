//! What the daemon answers over HTTP. The only user of axum and of hyper beneath it.
//!
//! Every answer is made from the newest view; nothing that a client sends changes anything.

mod api;
mod bind;
mod health;
mod page;
mod server;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::sync::Semaphore;
use tower_http::{compression::CompressionLayer, timeout::TimeoutLayer};

use crate::{
    metrics::{self, Exposition},
    view::{View, Views},
};

pub use bind::{BindError, bind};
pub use server::{GRACE, serve};

/// A request that takes longer than this is answered 503.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// What the handlers share.
#[derive(Clone, Debug)]
pub struct Site {
    views: Views,
    exposition: Exposition,
    /// One scrape is rendered at a time: many scrapers cost no more than one after the other.
    rendering: Arc<Semaphore>,
}

impl Site {
    /// A site that shows what `views` shows.
    pub fn new(views: Views, exposition: Exposition) -> Self {
        Self {
            views,
            exposition,
            rendering: Arc::new(Semaphore::new(1)),
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
        .route("/metrics", get(scrape))
        .route("/-/healthy", get(health::healthy))
        .route("/-/ready", get(health::ready))
        .route("/api/v1/probes", get(api::probes))
        .route("/api/v1/storms", get(api::storms))
        .fallback(not_found)
        .layer(CompressionLayer::new())
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            REQUEST_TIMEOUT,
        ))
        .with_state(site)
}

async fn scrape(State(site): State<Site>) -> Response {
    let Site {
        exposition,
        rendering,
        ..
    } = site;
    // Never closed, so never refused.
    let _permit = rendering.acquire().await;
    match tokio::task::spawn_blocking(move || exposition.render()).await {
        Ok(Ok(text)) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn std::error::Error) -> Response {
    tracing::error!(%error, "a scrape failed");
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
}

async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "no such page; see /\n")
}
