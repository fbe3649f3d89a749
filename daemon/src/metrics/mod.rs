//! `/metrics`: the newest view in the Prometheus text format. The only user of `prometheus`.
//!
//! Names, labels and help are one table, `family`; a scrape fills it from a view, leaves out what
//! `--metrics.max-series` has no room for, and never touches the kernel's tables.

mod by_name;
mod cap;
mod family;
mod histogram;
mod host;
mod map;
mod process;
mod row;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use prometheus::{
    Registry, TextEncoder,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::{
    history, notify,
    selection::Selection,
    view::{View, Views},
};

pub use process::ProcessStats;

/// Content type of the answer.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Series that one answer holds at most, by default: `--metrics.max-series`.
pub const MAX_SERIES: usize = 20_000;

/// What is published of the maps, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Series that one answer holds at most.
    pub max_series: usize,
    /// What a map's series stand for.
    pub by: By,
    /// The maps that are published one by one.
    pub maps: Selection,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_series: MAX_SERIES,
            by: By::default(),
            maps: Selection::default(),
        }
    }
}

/// What a map's series stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// One map, by its id.
    #[default]
    Map,
    /// All maps of a name and type, those among them that are gone: for hosts whose ids churn.
    Name,
}

impl By {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Map, Self::Name];

    /// The word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Name => "name",
        }
    }
}

/// What other rooms count, each where there is something to count.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// Alerts to receivers.
    pub notified: Option<Arc<notify::Tally>>,
    /// Records for the history.
    pub kept: Option<Arc<history::Tally>>,
}

/// Renders the newest view. Cheap to clone; all clones count dropped series together.
#[derive(Clone, Debug)]
pub struct Exposition {
    registry: Registry,
}

/// The exposition could not be set up or written; a bug of this program, not of its host.
#[derive(Debug, thiserror::Error)]
#[error("metrics: {0}")]
pub struct ExpositionError(#[from] prometheus::Error);

impl Exposition {
    /// Renders what `views` shows, as the settings say. `process` is read at each scrape:
    /// [`ProcessStats::read`], or a fixed answer in tests.
    pub fn new(
        views: Views,
        settings: Settings,
        process: fn() -> ProcessStats,
    ) -> Result<Self, ExpositionError> {
        Self::telling(views, settings, process, Tallies::default())
    }

    /// The same, with what other rooms count.
    pub fn telling(
        views: Views,
        settings: Settings,
        process: fn() -> ProcessStats,
        tallies: Tallies,
    ) -> Result<Self, ExpositionError> {
        let registry = Registry::new();
        registry.register(Box::new(ViewCollector {
            views,
            settings,
            process,
            tallies,
            dropped: AtomicU64::new(0),
            descs: family::ALL
                .iter()
                .map(|f| f.desc())
                .collect::<Result<_, _>>()?,
        }))?;
        Ok(Self { registry })
    }

    /// The text of one scrape.
    pub fn render(&self) -> Result<String, ExpositionError> {
        Ok(TextEncoder::new().encode_to_string(&self.registry.gather())?)
    }
}

/// Turns the newest view into metric families.
struct ViewCollector {
    views: Views,
    settings: Settings,
    process: fn() -> ProcessStats,
    tallies: Tallies,
    dropped: AtomicU64,
    descs: Vec<Desc>,
}

impl Collector for ViewCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descs.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let view: Arc<View> = Arc::clone(&self.views.borrow());
        let mut rows = host::rows(&view);
        rows.extend(process::rows(&(self.process)(), view.host.started));
        let Tallies { notified, kept } = &self.tallies;
        rows.extend(notified.iter().flat_map(|tally| host::notified(tally)));
        rows.extend(kept.iter().flat_map(|tally| host::kept(tally)));
        let (maps, hidden) = map::all(&view, &self.settings);
        rows.push(host::hidden(hidden));
        let max_series = self.settings.max_series;
        let room = max_series.saturating_sub(row::series(&rows) + 1);
        let kept = cap::fit(maps, room);
        let dropped = self.dropped.fetch_add(kept.dropped, Ordering::Relaxed) + kept.dropped;
        rows.push(host::dropped(dropped));
        rows.extend(kept.rows);
        row::families(rows)
    }
}
