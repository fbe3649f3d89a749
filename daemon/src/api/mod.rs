//! What `/api/v1` answers, in types: the server writes them, clients read them, and the OpenAPI file is
//! made from them.
//!
//! Times are RFC 3339 in UTC, durations are seconds, sizes are bytes; what is not known is `null` or
//! absent, never 0. Clients must bear fields and words that they do not know.

mod callers;
mod events;
mod histogram;
mod maps;
mod probes;
mod problem;
mod rates;
mod storms;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use callers::{Caller, CallerSource, User};
pub use events::{CpuFrame, Hello, HostFrame, MapFrame, Sparse, StormNews, WindowFrame};
pub use histogram::{Bucket, Histogram, Quantiles};
pub use maps::{LockWaits, MapDetail, MapEntry, MapList, Pops, SortKey, SortOrder};
pub use probes::{Build, CoverageRow, Kernel, Probe, ProbeList, Refusal};
pub use problem::{CONTENT_TYPE as PROBLEM_CONTENT_TYPE, Problem};
pub use rates::Rates;
pub use storms::{Advice, LatencyShift, Measured, Moment, Storm, StormEnd, StormKind, StormList};

/// How far the daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Probes are being attached; nothing is counted yet.
    Starting,
    /// Every probe of the plan is attached and counting.
    Armed,
    /// Some are.
    Degraded,
    /// The daemon is on its way out.
    Stopping,
}

impl From<crate::view::Phase> for Phase {
    fn from(phase: crate::view::Phase) -> Self {
        use crate::view::Phase as Of;
        match phase {
            Of::Starting => Self::Starting,
            Of::Armed => Self::Armed,
            Of::Degraded => Self::Degraded,
            Of::Stopping => Self::Stopping,
        }
    }
}

/// A time as the API tells it: RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(time: std::time::SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}
