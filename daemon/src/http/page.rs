//! `/`: a small static page that says where everything is. It fetches nothing.

use axum::{
    http::header::{CONTENT_SECURITY_POLICY, HeaderName, X_CONTENT_TYPE_OPTIONS},
    response::Html,
};

use crate::build_info::BuildInfo;

/// Nothing is loaded from anywhere.
const HEADERS: [(HeaderName, &str); 2] = [
    (CONTENT_SECURITY_POLICY, "default-src 'none'"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

pub(super) async fn index() -> ([(HeaderName, &'static str); 2], Html<String>) {
    let BuildInfo {
        version, revision, ..
    } = BuildInfo::THIS;
    let page = format!(
        include_str!("page.html"),
        version = version,
        revision = revision
    );
    (HEADERS, Html(page))
}
