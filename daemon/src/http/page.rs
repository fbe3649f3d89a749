//! `/` and `/assets/…`: the page, its modules, its style and the chart library, all within the binary.
//! What it shows it asks the API for; nothing else may be loaded, and nothing inline may run.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::{
    extract::Path,
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY,
            X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};

use super::fresh;

/// Scripts, styles, pictures and answers of this daemon only; the page is nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

const PAGE: Asset = asset("index.html", HTML, include_bytes!("assets/page/index.html"));

/// What the page is made of, by name.
const ASSETS: &[Asset] = &[
    asset("api.js", JS, include_bytes!("assets/page/api.js")),
    asset("app.js", JS, include_bytes!("assets/page/app.js")),
    asset("buckets.js", JS, include_bytes!("assets/page/buckets.js")),
    asset("detail.js", JS, include_bytes!("assets/page/detail.js")),
    asset("dom.js", JS, include_bytes!("assets/page/dom.js")),
    asset("format.js", JS, include_bytes!("assets/page/format.js")),
    asset("heat.js", JS, include_bytes!("assets/page/heat.js")),
    asset("icon.svg", SVG, include_bytes!("assets/page/icon.svg")),
    asset("maps.js", JS, include_bytes!("assets/page/maps.js")),
    asset("past.js", JS, include_bytes!("assets/page/past.js")),
    asset("probes.js", JS, include_bytes!("assets/page/probes.js")),
    asset("rates.js", JS, include_bytes!("assets/page/rates.js")),
    asset("stream.js", JS, include_bytes!("assets/page/stream.js")),
    asset("style.css", CSS, include_bytes!("assets/page/style.css")),
    asset("timeline.js", JS, include_bytes!("assets/page/timeline.js")),
    asset("verdict.js", JS, include_bytes!("assets/page/verdict.js")),
    asset(
        "uplot/LICENSE",
        TEXT,
        include_bytes!("assets/vendor/uplot/LICENSE"),
    ),
    asset(
        "uplot/uPlot.iife.min.js",
        JS,
        include_bytes!("assets/vendor/uplot/uPlot.iife.min.js"),
    ),
    asset(
        "uplot/uPlot.min.css",
        CSS,
        include_bytes!("assets/vendor/uplot/uPlot.min.css"),
    ),
];

/// A file within the binary.
#[derive(Clone, Copy, Debug)]
struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const fn asset(name: &'static str, kind: &'static str, bytes: &'static [u8]) -> Asset {
    Asset { name, kind, bytes }
}

impl Asset {
    fn answer(&self, headers: &HeaderMap) -> Response {
        // Asked again each time, and sent again only by another build.
        let fixed: [(HeaderName, String); 5] = [
            (ETAG, self.tag()),
            (CACHE_CONTROL, "no-cache".to_owned()),
            (CONTENT_SECURITY_POLICY, POLICY.to_owned()),
            (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
            (REFERRER_POLICY, "no-referrer".to_owned()),
        ];
        if fresh::has(headers, &self.tag()) {
            return (StatusCode::NOT_MODIFIED, fixed).into_response();
        }
        (fixed, [(CONTENT_TYPE, self.kind)], self.bytes).into_response()
    }

    /// Weak, because the file may be sent packed or not.
    fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.bytes.hash(&mut hasher);
        format!("W/\"{:x}\"", hasher.finish())
    }
}

pub(super) async fn index(headers: HeaderMap) -> Response {
    PAGE.answer(&headers)
}

pub(super) async fn assets(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => asset.answer(&headers),
        None => super::not_found().await.into_response(),
    }
}
