//! What a table says of a map, column by column; for `mapstorm maps` and `mapstorm top`.

use crate::{
    api::{MapEntry, SortKey},
    units,
};

/// A cell of what is not known. It is not a zero.
pub const UNKNOWN: &str = "-";

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The kernel's id.
    Id,
    /// The name.
    Name,
    /// The type.
    Type,
    /// `max_entries`.
    Max,
    /// Elements in it.
    Entries,
    /// Share of `max_entries` in use.
    Fill,
    /// What it takes.
    Memory,
    /// Updates per second.
    Updates,
    /// Refused operations per second.
    Rejects,
    /// CPU time of operations, as a share of one CPU.
    Cost,
    /// Median of the durations of updates.
    P50,
    /// Their 99th percentile.
    P99,
    /// Kinds of open storms.
    Storms,
}

impl Column {
    /// All, from left to right.
    pub const ALL: [Self; 13] = [
        Self::Id,
        Self::Name,
        Self::Type,
        Self::Max,
        Self::Entries,
        Self::Fill,
        Self::Memory,
        Self::Updates,
        Self::Rejects,
        Self::Cost,
        Self::P50,
        Self::P99,
        Self::Storms,
    ];

    /// Those that can be done without where there is no room, the first to go first.
    pub const SPARED: [Self; 8] = [
        Self::Max,
        Self::P50,
        Self::Entries,
        Self::Memory,
        Self::Type,
        Self::Cost,
        Self::P99,
        Self::Fill,
    ];

    /// What stands above it.
    pub const fn header(self) -> &'static str {
        match self {
            Self::Id => "map",
            Self::Name => "name",
            Self::Type => "type",
            Self::Max => "max",
            Self::Entries => "entries",
            Self::Fill => "fill",
            Self::Memory => "memory",
            Self::Updates => "upd/s",
            Self::Rejects => "ref/s",
            Self::Cost => "cpu",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::Storms => "storm",
        }
    }

    /// Words begin on the left, numbers end on the right.
    pub const fn is_words(self) -> bool {
        matches!(self, Self::Name | Self::Type | Self::Storms)
    }

    /// What sorts by it.
    pub const fn sort(self) -> Option<SortKey> {
        match self {
            Self::Id => Some(SortKey::Id),
            Self::Name => Some(SortKey::Name),
            Self::Type => Some(SortKey::Type),
            Self::Entries => Some(SortKey::Entries),
            Self::Fill => Some(SortKey::Fill),
            Self::Memory => Some(SortKey::Memory),
            Self::Updates => Some(SortKey::Updates),
            Self::Rejects => Some(SortKey::Rejects),
            Self::Cost => Some(SortKey::Cost),
            Self::P99 => Some(SortKey::P99),
            Self::Max | Self::P50 | Self::Storms => None,
        }
    }

    /// What it says of a map.
    pub fn cell(self, map: &MapEntry) -> String {
        let known = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
        let rates = map.rates.as_ref();
        let quantiles = map.update_quantiles;
        match self {
            Self::Id => map.id.to_string(),
            Self::Name => map.name.clone(),
            Self::Type => map.kind.clone(),
            Self::Max => map.max_entries.to_string(),
            Self::Entries => known(map.entries.map(|entries| entries.to_string())),
            Self::Fill => known(map.fill.map(units::percent)),
            Self::Memory => known(map.memory_bytes.map(units::bytes)),
            Self::Updates => known(rates.map(|rates| units::count(rates.updates_per_second))),
            Self::Rejects => known(rates.map(|rates| units::count(rates.rejects_per_second))),
            Self::Cost => known(rates.and_then(|rates| rates.busy).map(units::percent)),
            Self::P50 => known(quantiles.map(|quantiles| quantile(quantiles.p50))),
            Self::P99 => known(quantiles.map(|quantiles| quantile(quantiles.p99))),
            Self::Storms => map.storms.join(","),
        }
    }
}

/// The upper bound of a quantile's bucket; the last bucket has none.
pub fn quantile(bound: Option<f64>) -> String {
    bound.map_or_else(|| ">64 s".to_owned(), units::seconds)
}
