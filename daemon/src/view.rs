//! What every reader sees: one immutable view per sample, published as a whole. A scrape, a page or
//! a terminal only formats it.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::sync::watch;

use crate::{
    build_info::BuildInfo,
    facts::FreelistGeneration,
    identity::MapId,
    motion::{History, Pace},
    probes::ProbeStatus,
    snapshot::Snapshot,
    storm::Board,
};

/// Where readers find the newest view.
pub type Views = watch::Receiver<Arc<View>>;

/// Everything there is to tell, as of one sample.
#[derive(Clone, Debug)]
pub struct View {
    /// What does not change while the daemon runs.
    pub host: Arc<Host>,
    /// How far the daemon is.
    pub phase: Phase,
    /// When this view was published, monotonic: the sign of life.
    pub published: Instant,
    /// The sample.
    pub snapshot: Arc<Snapshot>,
    /// Every probe of the plan and what became of it.
    pub probes: Arc<[ProbeStatus]>,
    /// Open and past storms.
    pub storms: Board,
    /// Maps none of whose counters has moved lately: the first to lose detail.
    pub idle: BTreeSet<MapId>,
    /// How fast things go on every map.
    pub pace: Arc<Pace>,
    /// What happened in the last windows.
    pub history: History,
    /// Time spent taking and judging samples since start.
    pub sampling: Duration,
}

/// The build and the kernel it runs on.
#[derive(Clone, Debug)]
pub struct Host {
    /// This build.
    pub build: BuildInfo,
    /// The kernel's release, as `uname -r` prints it.
    pub kernel_release: String,
    /// What its pops do on a full map.
    pub freelist: FreelistGeneration,
    /// When the daemon started, wall clock.
    pub started: SystemTime,
    /// Length of a sample window.
    pub sample_interval: Duration,
}

/// How far the daemon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Probes are being attached; nothing is counted yet.
    Starting,
    /// Every probe of the plan is attached and counting.
    Armed,
    /// Some are; the log, `doctor` and the metrics say which are not, and why.
    Degraded,
    /// The daemon is on its way out.
    Stopping,
}

impl Phase {
    /// The word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Armed => "armed",
            Self::Degraded => "degraded",
            Self::Stopping => "stopping",
        }
    }

    /// Does the daemon count, so that its answers mean something?
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Armed | Self::Degraded)
    }
}

impl View {
    /// The view before the first sample.
    pub fn starting(host: Host, probes: Arc<[ProbeStatus]>) -> Self {
        Self {
            host: Arc::new(host),
            phase: Phase::Starting,
            published: Instant::now(),
            snapshot: Arc::default(),
            probes,
            storms: Board::default(),
            idle: BTreeSet::new(),
            pace: Arc::default(),
            history: History::default(),
            sampling: Duration::ZERO,
        }
    }
}
