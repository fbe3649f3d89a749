//! What is answered instead: problem details (RFC 9457).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Content type of a [`Problem`].
pub const CONTENT_TYPE: &str = "application/problem+json";

/// Why a request has no other answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Always `about:blank`: the status is the kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What exactly was wrong, and what would be right.
    pub detail: String,
    /// The path that was asked for.
    pub instance: String,
    /// The parameter that was wrong, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
}
