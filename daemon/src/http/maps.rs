//! `/api/v1/maps` and `/api/v1/maps/{id}`.

use axum::{
    extract::Path,
    http::{StatusCode, Uri},
    response::Response,
};

use super::{
    fresh::Question,
    params::{self, Params},
    problem::Refused,
    select::Selection,
};
use crate::{
    api::{MapDetail, MapList, Problem},
    identity::MapId,
    view::View,
};

/// Every map of the host that is asked for.
#[utoipa::path(
    get,
    path = "/api/v1/maps",
    params(
        ("sort" = Option<crate::api::SortKey>, Query, description = "What maps are sorted by; `id` when nothing is said"),
        ("order" = Option<crate::api::SortOrder>, Query, description = "Which way; names, types and ids the least first, numbers the greatest first when nothing is said"),
        ("name" = Option<String>, Query, min_length = 1, max_length = 64, description = "Only maps whose names contain this, in whatever case"),
        ("type" = Option<String>, Query, min_length = 1, max_length = 64, description = "Only maps of this type, as bpftool names it"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 10000, description = "How many to tell at most; 1000 when nothing is said"),
        ("offset" = Option<u32>, Query, minimum = 0, maximum = 1000000, description = "How many to leave out in front"),
    ),
    responses(
        (status = 200, body = MapList, description = "The maps", headers(("ETag" = String, description = "Changes with the sample window"))),
        (status = 304, description = "The client has the newest answer"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "A parameter is wrong"),
        (status = 503, body = Problem, content_type = "application/problem+json", description = "It took too long"),
    )
)]
pub(super) async fn maps(question: Question) -> Result<Response, Refused> {
    let selection = Selection::of(&question.uri)?;
    Ok(question.answer(|view| selection.list(view)))
}

/// All there is to tell of one map.
#[utoipa::path(
    get,
    path = "/api/v1/maps/{id}",
    params(("id" = u32, Path, minimum = 1, maximum = 4294967295u32, description = "The kernel's id of the map")),
    responses(
        (status = 200, body = MapDetail, description = "The map", headers(("ETag" = String, description = "Changes with the sample window"))),
        (status = 304, description = "The client has the newest answer"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "That is no id"),
        (status = 404, body = Problem, content_type = "application/problem+json", description = "There is no such map"),
        (status = 503, body = Problem, content_type = "application/problem+json", description = "It took too long"),
    )
)]
pub(super) async fn map(Path(id): Path<String>, question: Question) -> Result<Response, Refused> {
    let uri = &question.uri;
    Params::of(uri, &[])?;
    let id: MapId = params::number(uri, "id", &id, &(1..=MapId::MAX))?;
    let Some(map) = MapDetail::of(&question.view, id) else {
        let detail = format!("no map has the id {id}, or none has it any more");
        return Err(Refused::new(StatusCode::NOT_FOUND, uri, detail));
    };
    Ok(question.answer(|_| map))
}

/// What `/api/v1/maps?query` would answer to this view, without a server.
///
/// # Errors
/// What is wrong with the question, in words.
pub fn list(view: &View, query: &str) -> Result<MapList, String> {
    let uri = Uri::try_from(format!("/api/v1/maps?{query}")).map_err(|error| error.to_string())?;
    match Selection::of(&uri) {
        Ok(selection) => Ok(selection.list(view)),
        Err(refused) => Err(refused.into_detail()),
    }
}
