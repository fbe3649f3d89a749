//! `/api/v1/storms`, `/api/v1/probes` and `/api/v1/openapi.json`.

use std::sync::LazyLock;

use axum::{
    http::{Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use utoipa::OpenApi;

use super::{events, fresh::Question, maps, params::Params, problem::Refused};
use crate::{
    api::{self, ProbeList, Problem, StormList},
    identity::MapId,
    storm::{CLOSED_KEPT, Kind, Storm},
    view::View,
};

/// Everything under `/api/v1`, in one file.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "mapstorm",
        version = "1",
        description = "BPF maps of one host, as mapstorm sees them. Everything is only read. \
                       What is not known is null or absent, never 0.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
        contact()
    ),
    paths(maps::maps, maps::map, storms, probes, events::events, openapi),
    components(schemas(api::Hello, api::WindowFrame, api::StormNews))
)]
struct Document;

/// The OpenAPI file that describes the API, as it is served: JSON with a newline at its end.
pub fn openapi_json() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let text = Document::openapi().to_pretty_json();
        // Only a map with keys that are not strings cannot be written, and there is none.
        text.unwrap_or_default() + "\n"
    });
    &TEXT
}

/// This file.
#[utoipa::path(
    get,
    path = "/api/v1/openapi.json",
    responses((status = 200, body = serde_json::Value, description = "What the API is, as OpenAPI 3.1"))
)]
pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], openapi_json()).into_response()
}

/// Every probe of the plan, attached or why not, and what is seen by them.
#[utoipa::path(
    get,
    path = "/api/v1/probes",
    responses(
        (status = 200, body = ProbeList, description = "The probes", headers(("ETag" = String, description = "Changes with the sample window"))),
        (status = 304, description = "The client has the newest answer"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "There are no parameters here"),
        (status = 503, body = Problem, content_type = "application/problem+json", description = "It took too long"),
    )
)]
pub(super) async fn probes(question: Question) -> Result<Response, Refused> {
    Params::of(&question.uri, &[])?;
    Ok(question.answer(ProbeList::of))
}

/// Open storms, the last closed ones with the newest first, and how many there were by kind.
#[utoipa::path(
    get,
    path = "/api/v1/storms",
    params(
        ("active" = Option<bool>, Query, description = "true: only those that are open; false: only those that are over"),
        ("kind" = Option<api::StormKind>, Query, description = "Only storms of this kind"),
        ("map" = Option<u32>, Query, minimum = 1, maximum = 4294967295u32, description = "Only storms on the map of this id"),
        ("limit" = Option<u32>, Query, minimum = 0, maximum = 10000, description = "How many closed ones to tell at most; all that are remembered when nothing is said"),
    ),
    responses(
        (status = 200, body = StormList, description = "The storms", headers(("ETag" = String, description = "Changes with the sample window"))),
        (status = 304, description = "The client has the newest answer"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "A parameter is wrong"),
        (status = 503, body = Problem, content_type = "application/problem+json", description = "It took too long"),
    )
)]
pub(super) async fn storms(question: Question) -> Result<Response, Refused> {
    let wanted = Wanted::of(&question.uri)?;
    Ok(question.answer(|view| wanted.list(view)))
}

/// The storms that are asked for.
#[derive(Debug)]
struct Wanted {
    active: Option<bool>,
    kind: Option<Kind>,
    map: Option<MapId>,
    limit: usize,
}

impl Wanted {
    fn of(uri: &Uri) -> Result<Self, Refused> {
        let params = Params::of(uri, &["active", "kind", "map", "limit"])?;
        let kinds = Kind::ALL.map(|kind| (kind.label(), kind));
        Ok(Self {
            active: params.word("active", &[("true", true), ("false", false)])?,
            kind: params.word("kind", &kinds)?,
            map: params.number("map", 1..=MapId::MAX)?,
            limit: params.number("limit", 0..=10_000)?.unwrap_or(CLOSED_KEPT),
        })
    }

    fn list(&self, view: &View) -> StormList {
        let matches = |storm: &&Storm| {
            let open = storm.closed.is_none();
            self.active.is_none_or(|active| active == open)
                && self.kind.is_none_or(|kind| kind == storm.kind)
                && self.map.is_none_or(|map| map == storm.map_id)
        };
        let told = |storm: &Storm| api::Storm::from(storm);
        let closed = || view.storms.closed.iter().filter(matches);
        let totals = Kind::ALL.iter().map(|&kind| {
            let total = view.storms.totals[kind as usize];
            (kind.label().to_owned(), total)
        });
        StormList {
            window: view.snapshot.window,
            active: view
                .storms
                .active
                .iter()
                .filter(matches)
                .map(told)
                .collect(),
            closed: closed().take(self.limit).map(told).collect(),
            closed_total: closed().count(),
            totals: totals.collect(),
        }
    }
}
