//! Problems (RFC 9457): what every path under `/api` answers when it has no other answer.

use axum::{
    Json,
    extract::Request,
    http::{HeaderValue, Method, StatusCode, Uri, header::CONTENT_TYPE},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::api::{PROBLEM_CONTENT_TYPE, Problem};

/// Characters of a value that a problem repeats.
const ECHOED: usize = 64;

/// A problem on its way out.
#[derive(Debug)]
pub(super) struct Refused(Box<Problem>);

impl Refused {
    pub(super) fn new(status: StatusCode, uri: &Uri, detail: String) -> Self {
        Self(Box::new(Problem {
            kind: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail,
            instance: uri.path().to_owned(),
            parameter: None,
        }))
    }

    /// A parameter that is wrong: `allowed` says in words what would be right.
    pub(super) fn parameter(uri: &Uri, name: &str, value: &str, allowed: &str) -> Self {
        let (name, value) = (shortened(name), shortened(value));
        let detail = format!("parameter {name}: \"{value}\" is not allowed; {allowed}");
        let mut refused = Self::new(StatusCode::BAD_REQUEST, uri, detail);
        refused.0.parameter = Some(name);
        refused
    }

    /// What was wrong, in words.
    pub(super) fn into_detail(self) -> String {
        self.0.detail
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self.0)).into_response();
        let kind = HeaderValue::from_static(PROBLEM_CONTENT_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(ECHOED).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Makes problems of what the layers below answer under `/api`: paths that do not exist, methods that are
/// not allowed, answers that took too long.
pub(super) async fn under_api(request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let response = next.run(request).await;
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_problem = kind.is_some_and(|kind| kind == PROBLEM_CONTENT_TYPE);
    if !is_error || is_problem || !(uri.path() == "/api" || uri.path().starts_with("/api/")) {
        return response;
    }
    let refused = Refused::new(status, &uri, words(status, &method, uri.path()));
    let mut problem = refused.into_response();
    let kept = response.headers().iter();
    let kept = kept.filter(|(name, _)| *name == axum::http::header::ALLOW);
    problem
        .headers_mut()
        .extend(kept.map(|(name, value)| (name.clone(), value.clone())));
    problem
}

fn words(status: StatusCode, method: &Method, path: &str) -> String {
    match status {
        StatusCode::NOT_FOUND => format!(
            "there is no {}; /api/v1/openapi.json tells what there is",
            shortened(path)
        ),
        StatusCode::METHOD_NOT_ALLOWED => format!(
            "{method} is not allowed on {}: everything here is only read, by GET or HEAD",
            shortened(path)
        ),
        StatusCode::SERVICE_UNAVAILABLE => {
            "the answer took too long; ask for less with limit, or again later".to_owned()
        }
        _ => format!("the request cannot be answered: {status}"),
    }
}
