//! `/api/v1/…`: the same view as JSON.

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::Site;
use crate::storm::Kind;

/// Every probe of the plan: attached, or why not and what to do.
pub(super) async fn probes(State(site): State<Site>) -> Json<Value> {
    let view = site.view();
    Json(json!({
        "build": view.host.build,
        "kernel": { "release": view.host.kernel_release, "freelist": view.host.freelist },
        "phase": view.phase.label(),
        "probes": *view.probes,
    }))
}

/// Open storms, the last closed ones with the newest first, and how many there were by kind.
pub(super) async fn storms(State(site): State<Site>) -> Json<Value> {
    let view = site.view();
    let totals = Kind::ALL.map(|kind| {
        let total = view.storms.totals[kind as usize];
        (kind.label().to_owned(), Value::from(total))
    });
    Json(json!({
        "window": view.snapshot.window,
        "active": view.storms.active,
        "closed": *view.storms.closed,
        "totals": Value::Object(totals.into_iter().collect()),
    }))
}
