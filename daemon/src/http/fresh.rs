//! Answers that change with the sample: who has the newest need not be sent it again.

use std::{convert::Infallible, sync::Arc, time::UNIX_EPOCH};

use axum::{
    Json,
    extract::FromRequestParts,
    http::{
        HeaderMap, StatusCode, Uri,
        header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::Site;
use crate::view::View;

/// A question about the newest view, by a client who may have the answer.
pub(super) struct Question {
    pub(super) uri: Uri,
    pub(super) view: Arc<View>,
    headers: HeaderMap,
}

impl FromRequestParts<Site> for Question {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Infallible> {
        Ok(Self {
            uri: parts.uri.clone(),
            view: site.view(),
            headers: parts.headers.clone(),
        })
    }
}

impl Question {
    /// What `body` makes of the view as JSON, or 304 when the client has it: `body` is not even called then.
    pub(super) fn answer<T: Serialize>(&self, body: impl FnOnce(&View) -> T) -> Response {
        let tag = tag(&self.view);
        let fixed = [(ETAG, tag.clone()), (CACHE_CONTROL, "no-cache".to_owned())];
        if has(&self.headers, &tag) {
            return (StatusCode::NOT_MODIFIED, fixed).into_response();
        }
        (fixed, Json(body(&self.view))).into_response()
    }
}

/// Tag of what `view` tells: the daemon's run, its window and phase. Weak, because the same answer may
/// come packed or not.
fn tag(view: &View) -> String {
    let run =
        { view.host.started.duration_since(UNIX_EPOCH) }.map_or(0, |since| since.as_nanos() as u64);
    let (window, phase) = (view.snapshot.window, view.phase.label());
    format!("W/\"{run:x}-{window}-{phase}\"")
}

/// Does the client have what `tag` names? By weak comparison, as RFC 9110 wants it of `If-None-Match`.
pub(super) fn has(headers: &HeaderMap, tag: &str) -> bool {
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let given = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut given = given.filter_map(|value| value.to_str().ok());
    given.any(|tags| {
        let mut tags = tags.split(',').map(strong);
        tags.any(|given| given == "*" || given == strong(tag))
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn tags_are_compared_weakly_and_any_of_a_list_will_do() {
        let sent = |value| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static(value));
            has(&headers, "W/\"1-2-armed\"")
        };
        assert!(sent("W/\"1-2-armed\"") && sent("\"1-2-armed\"") && sent("*"));
        assert!(sent("\"a\", W/\"1-2-armed\""));
        assert!(!sent("W/\"1-3-armed\"") && !sent(""));
    }
}
