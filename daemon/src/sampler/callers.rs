//! The part of the sampler that looks at who calls: takes the samples, tells whose they are, and has
//! the functions on their stacks named.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mapstorm_abi::Op;

use crate::{
    cgroups::Cgroups,
    identity::MapId,
    kernel::Armed,
    snapshot::Snapshot,
    symbols::Symbols,
    who::{Callers, Known, Names, ProgramId, Programs, Sample, caller},
};

/// How often names are asked for: each time the kernel's whole list is read.
const NAMES_EVERY: Duration = Duration::from_secs(5);
/// How often the durations from which on a call is slow are set anew.
const SLOW_EVERY: Duration = Duration::from_secs(10);
/// Calls that must have been timed before any of them is called slow.
const ENOUGH: u64 = 1000;

/// What is known of callers.
pub(super) struct Watch {
    callers: Arc<Callers>,
    names: Arc<Names>,
    cgroups: Cgroups,
    own: BTreeSet<ProgramId>,
    symbols: Option<Symbols>,
    /// Addresses without a name so far.
    nameless: BTreeSet<u64>,
    names_due: Option<Instant>,
    slow_due: Option<Instant>,
}

impl Watch {
    /// Knows nothing yet. Without the thread that finds names it goes on without them.
    /// `own` are our programs.
    pub(super) fn new(own: BTreeSet<ProgramId>) -> Self {
        let symbols = Symbols::start(Path::new("/proc"));
        let symbols = symbols.inspect_err(|error| {
            tracing::warn!(%error, "callers are told without names on their stacks");
        });
        Self {
            callers: Arc::default(),
            names: Arc::default(),
            cgroups: Cgroups::new("/proc", "/sys/fs/cgroup"),
            own,
            symbols: symbols.ok(),
            nameless: BTreeSet::new(),
            names_due: None,
            slow_due: None,
        }
    }

    /// Whose samples these are, taken up to window `window`. `programs` were listed after they were
    /// taken, `before` the time before.
    pub(super) fn note(
        &mut self,
        samples: &[Sample],
        programs: &Programs,
        before: &Programs,
        window: u64,
    ) {
        if samples.is_empty() {
            return;
        }
        let callers = Arc::make_mut(&mut self.callers);
        for sample in samples {
            let known = Known {
                programs,
                before,
                own: &self.own,
                names: &self.names,
            };
            let cgroups = &mut self.cgroups;
            let cgroup = |sample: &Sample| cgroups.path(sample.task.process, sample.task.cgroup_id);
            callers.note(caller(sample, known, cgroup), sample, window);
            let nameless = sample.stack.iter().filter(|&&a| !self.names.knows(a));
            self.nameless.extend(nameless);
        }
    }

    /// Asks for names that are missing, and takes those that were found.
    pub(super) fn name(&mut self, now: Instant) {
        let Some(symbols) = &self.symbols else {
            return;
        };
        if let Some(answer) = symbols.answer() {
            let names = Arc::make_mut(&mut self.names);
            for (address, name) in answer {
                names.insert(address, name);
            }
        }
        let due = self.names_due.is_none_or(|due| now >= due);
        if due && !self.nameless.is_empty() {
            let nameless = self.nameless.iter().copied().collect();
            if symbols.ask(nameless) {
                self.nameless.clear();
                self.names_due = Some(now + NAMES_EVERY);
            }
        }
    }

    /// Puts what is known into the snapshot; maps that are not in it any more are forgotten.
    pub(super) fn tell(&mut self, snapshot: &mut Snapshot) {
        let gone = |id: MapId| !snapshot.maps.contains_key(&id);
        if self.callers.maps().any(gone) {
            Arc::make_mut(&mut self.callers).retain(|id| snapshot.maps.contains_key(&id));
        }
        snapshot.callers = Arc::clone(&self.callers);
        snapshot.names = Arc::clone(&self.names);
    }

    /// Sets, now and then, from which duration on a call is slow: twice the bound that 99 in a
    /// hundred of the map's calls so far have kept.
    pub(super) fn set_slow(&mut self, armed: &Armed, snapshot: &Snapshot, now: Instant) {
        if self.slow_due.is_some_and(|due| now < due) {
            return;
        }
        self.slow_due = Some(now + SLOW_EVERY);
        let slow: BTreeMap<_, _> = slow(snapshot).collect();
        if !slow.is_empty() {
            armed.set_slow(&slow);
        }
    }
}

/// From which duration on a call is slow, nanoseconds, where enough of them were timed.
fn slow(snapshot: &Snapshot) -> impl Iterator<Item = ((MapId, Op), u64)> {
    let maps = snapshot.maps.iter();
    let ops = maps.flat_map(|(&id, map)| map.ops.iter().map(move |(&op, stats)| (id, op, stats)));
    ops.filter_map(|(id, op, stats)| {
        let durations = stats.durations.as_ref()?;
        let timed = durations.count() >= ENOUGH;
        let p99_ns = durations.quantile_ns(0.99).filter(|_| timed)?;
        Some(((id, op), p99_ns.saturating_mul(2)))
    })
}
