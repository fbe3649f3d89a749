//! How fast things go, over about the last second.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::motion::Rate;

/// What happens on one map per second, over about the last second of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rates {
    /// Finished operations of every kind, per second.
    pub operations_per_second: f64,
    /// Finished updates per second.
    pub updates_per_second: f64,
    /// Refused operations per second: all outcomes but `ok`, `eexist` and `enoent`, which are answers.
    pub rejects_per_second: f64,
    /// CPU time that operations on the map took, seconds per second: the map's cost. `null` where
    /// none of them was timed.
    pub busy: Option<f64>,
}

impl From<Rate> for Rates {
    fn from(rate: Rate) -> Self {
        Self {
            operations_per_second: rate.operations,
            updates_per_second: rate.updates,
            rejects_per_second: rate.rejects,
            busy: rate.busy,
        }
    }
}
