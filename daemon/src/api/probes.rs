//! `/api/v1/probes`: what is attached, and what of the host is seen by it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Phase;
use crate::{build_info::BuildInfo, coverage, probes::ProbeStatus, view::View};

/// Every probe of the plan, and which share of each signal they show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProbeList {
    /// The daemon.
    pub build: Build,
    /// The kernel it runs on.
    pub kernel: Kernel,
    /// How far the daemon is.
    pub phase: Phase,
    /// When the daemon started, RFC 3339.
    pub started: String,
    /// Length of a sample window, seconds.
    pub sample_seconds: f64,
    /// Every probe.
    pub probes: Vec<Probe>,
    /// Which share of a signal is seen, by where operations come from.
    pub coverage: Vec<CoverageRow>,
}

/// One build of mapstorm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Build {
    /// Its version.
    pub version: String,
    /// Git revision it was built from, `unknown` outside a checkout.
    pub revision: String,
    /// Version of the compiler.
    pub rustversion: String,
}

/// The host's kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Kernel {
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// How its updates look for a free element: `locks_every_list`, `looks_first`, `unknown`.
    pub freelist: String,
}

/// A probe and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Probe {
    /// Its name.
    pub probe: String,
    /// What it measures: `pop`, `update`, …
    pub signal: String,
    /// Kernel function or tracepoint it sits on.
    pub hook: String,
    /// How it is attached, or would have been: `fexit`, `kretprobe`, …
    pub mechanism: String,
    /// Why it is not attached; `null` when it is.
    pub refusal: Option<Refusal>,
}

/// Why a probe is not attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refusal {
    /// In a word: `notrace`, `eperm`, …
    pub reason: String,
    /// What failed, on what.
    pub detail: String,
    /// What a person can do about it.
    pub remedy: String,
}

/// How much of a signal is seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CoverageRow {
    /// The signal; `storm_…` is a kind of storm, with whether it can be seen.
    pub signal: String,
    /// Where operations come from: `program`, `probe_program`, `syscall`; empty for
    /// what the host itself keeps.
    pub source: String,
    /// 1 when all of it is seen, 0 when none is.
    #[schema(minimum = 0, maximum = 1)]
    pub ratio: f64,
}

impl ProbeList {
    /// What the view tells.
    pub fn of(view: &View) -> Self {
        let rows = coverage::coverage(&view.probes);
        let storms = coverage::of_storms(&view.probes);
        Self {
            build: Build::from(view.host.build),
            kernel: Kernel::of(view),
            phase: view.phase.into(),
            started: super::rfc3339(view.host.started),
            sample_seconds: view.host.sample_interval.as_secs_f64(),
            probes: view.probes.iter().map(Probe::from).collect(),
            coverage: { rows.into_iter().chain(storms) }
                .map(CoverageRow::from)
                .collect(),
        }
    }
}

impl Kernel {
    /// What the view tells.
    pub fn of(view: &View) -> Self {
        Self {
            release: view.host.kernel_release.clone(),
            freelist: view.host.freelist.label().to_owned(),
        }
    }
}

impl From<BuildInfo> for Build {
    fn from(build: BuildInfo) -> Self {
        Self {
            version: build.version.to_owned(),
            revision: build.revision.to_owned(),
            rustversion: build.rustversion.to_owned(),
        }
    }
}

impl From<&ProbeStatus> for Probe {
    fn from(status: &ProbeStatus) -> Self {
        let refusal = status.refusal.as_ref();
        Self {
            probe: status.probe.to_owned(),
            signal: status.signal.to_owned(),
            hook: status.hook.clone(),
            mechanism: status.mechanism.label().to_owned(),
            refusal: refusal.map(|refusal| Refusal {
                reason: refusal.reason.to_owned(),
                detail: refusal.detail.clone(),
                remedy: refusal.remedy.clone(),
            }),
        }
    }
}

impl From<coverage::Coverage> for CoverageRow {
    fn from(row: coverage::Coverage) -> Self {
        Self {
            signal: row.signal.to_owned(),
            source: row.source.label().to_owned(),
            ratio: row.ratio,
        }
    }
}
