//! `mapstorm doctor`: what can be seen on this host, what cannot, why, and what to do about it.
//!
//! The report is data; [`text`](Report::text) renders it for people, serde for programs.

mod text;

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::{
    build_info::BuildInfo,
    config::ServeConfig,
    facts::{self, Facts, Roots},
    kernel::{Geometry, Tables},
    plan,
    pops::PopSource,
    preflight::{Attempt, Preflight, PreflightError},
    probes::ProbeStatus,
};

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// mapstorm cannot work on this machine.
    #[error(transparent)]
    Machine(#[from] facts::KernelError),
    /// Nothing could be tried.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
}

/// Everything there is to tell about this host.
#[derive(Debug, Serialize)]
pub struct Report {
    /// This build.
    pub build: BuildInfo,
    /// Can anything be seen?
    pub observable: bool,
    /// The plan, signal by signal.
    pub signals: Vec<SignalReport>,
    /// How pops are seen; `None` where they are not.
    pub pops: Option<PopSource>,
    /// Every probe that was tried, and what became of it.
    pub probes: Vec<ProbeStatus>,
    /// What runs on maps and is watched by nobody.
    pub unwatched: Vec<Unwatched>,
    /// The probes' tables; `None` where they were refused.
    pub tables: Option<TableReport>,
    /// The host.
    pub facts: Facts,
}

/// One part of a signal.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct SignalReport {
    /// The signal: `update`, `pop`, `maps`.
    pub signal: &'static str,
    /// What this part of it covers, in words.
    pub what: &'static str,
    /// The kernel function it is seen on; `None` when it is not seen.
    pub seen_on: Option<&'static str>,
    /// Every function that could show it, best first.
    pub hooks: Vec<&'static str>,
}

/// What the probes' tables take and hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TableReport {
    /// Memory, all possible CPUs, bytes.
    pub bytes: usize,
    /// Possible CPUs, each with an equal share.
    pub cpus: usize,
    /// Pairs of map and operation that each CPU can count.
    pub slots: usize,
    /// Those that it can time.
    pub timings: usize,
}

impl TableReport {
    fn of(tables: &Tables) -> Self {
        let Geometry {
            cpus,
            slots,
            timings,
        } = tables.geometry();
        Self {
            bytes: tables.bytes(),
            cpus,
            slots,
            timings,
        }
    }
}

/// Operations that no probe watches.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Unwatched {
    /// The operations.
    pub what: &'static str,
    /// Why.
    pub why: &'static str,
}

impl Report {
    /// Looks at this host and really tries: loads and attaches everything, then lets go of it.
    /// With `no_trampolines` those are left alone.
    ///
    /// # Errors
    /// When nothing can be tried at all; what the kernel refuses is in the report.
    pub fn make(no_trampolines: bool) -> Result<Self, DoctorError> {
        let facts = Facts::gather(&Roots::default(), &plan::hooks())?;
        let preflight = Preflight::new(facts, ServeConfig::default().probe_memory, no_trampolines)?;
        let Attempt { statuses, attached } = preflight.attach()?;
        let tables = attached.map(|attached| TableReport::of(attached.arm().tables()));
        Ok(Self::of(preflight, statuses, tables))
    }

    /// The report on an attempt that is over.
    fn of(preflight: Preflight, probes: Vec<ProbeStatus>, tables: Option<TableReport>) -> Self {
        let Preflight { facts, plan, .. } = preflight;
        Self {
            build: BuildInfo::THIS,
            observable: probes.iter().any(ProbeStatus::attached),
            signals: plan.signals.iter().map(|s| signal(s, &probes)).collect(),
            pops: PopSource::of(&probes),
            unwatched: plan::UNWATCHED
                .iter()
                .map(|&(what, why)| Unwatched { what, why })
                .collect(),
            probes,
            tables,
            facts,
        }
    }
}

fn signal(signal: &plan::Signal, probes: &[ProbeStatus]) -> SignalReport {
    let mut hooks = Vec::new();
    for alternative in &signal.alternatives {
        if !hooks.contains(&alternative.hook) {
            hooks.push(alternative.hook);
        }
    }
    let seen = |hook: &&str| {
        let mut on = probes
            .iter()
            .filter(|p| p.signal == signal.name && p.hook == *hook);
        on.any(ProbeStatus::attached)
    };
    SignalReport {
        signal: signal.name,
        what: signal.what,
        seen_on: hooks.iter().copied().find(seen),
        hooks,
    }
}
