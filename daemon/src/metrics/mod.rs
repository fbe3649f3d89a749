//! `/metrics`: the newest view in the Prometheus text format. The only user of `prometheus`.
//!
//! Names, labels and help are one table, [`family`]; a scrape fills it from a view, leaves out what
//! `--metrics.max-series` has no room for, and never touches the kernel's tables.

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

use crate::view::{View, Views};

pub use process::ProcessStats;

/// Content type of the answer.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Series that one answer holds at most, by default: `--metrics.max-series`.
pub const MAX_SERIES: usize = 20_000;

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
    /// Renders what `views` shows, at most `max_series` of it. `process` is read at each scrape:
    /// [`ProcessStats::read`], or a fixed answer in tests.
    pub fn new(
        views: Views,
        max_series: usize,
        process: fn() -> ProcessStats,
    ) -> Result<Self, ExpositionError> {
        let registry = Registry::new();
        registry.register(Box::new(ViewCollector {
            views,
            max_series,
            process,
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
    max_series: usize,
    process: fn() -> ProcessStats,
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
        let room = self.max_series.saturating_sub(row::series(&rows) + 1);
        let kept = cap::fit(map::all(&view), room);
        let dropped = self.dropped.fetch_add(kept.dropped, Ordering::Relaxed) + kept.dropped;
        rows.push(host::dropped(dropped));
        rows.extend(kept.rows);
        row::families(rows)
    }
}
