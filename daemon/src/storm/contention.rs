//! Time that CPUs lose to each other on one map, in one window.
//!
//! Two witnesses tell of it. The kernel reports waits for locks, but never a lock's first waiter, and
//! nothing at all before 5.19 or with test-and-set locks. And operations take longer than in calm.
//! A wait is inside of an operation, so of one CPU's two numbers the greater counts, not their sum.
//!
//! How much longer is told by medians: see [`excess`](super::excess).
//!
//! Waits meet virtual CPUs, too: a CPU that is taken away while it holds a lock leaves others to wait for
//! milliseconds. Those are a few of very many operations, while in a fight 0.6 to 30 % of them wait (drills in a
//! guest), so waits count where at least `waits_ratio` of the operations waited, and
//! not where the mean wait was longer than `mean_wait`: then whole windows passed behind one such holder.
//!
//! Where the kernel reports waits, three CPUs that fight are seen to wait, as only the first in a queue is not. So
//! there, longer calls of three CPUs or more of which hardly any waited are something else: elements whose memory had
//! to be found first took 3.8 times as long (drill of kind `alloc` on 6.12).

use mapstorm_abi::LockClass;

use super::{
    Change, ContentionThresholds, LatencyShift, Level, Waited,
    calm::Calm,
    excess::{Excess, Shift},
};

/// Share of the threshold that one CPU must lose to be counted among those that fight.
const PART: f64 = 0.1;

/// CPUs that may queue for a lock and nobody is told: one holds it, and the first that waits does not report.
const UNSEEN: usize = 2;

/// What CPUs lost on one map in one window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Contention {
    /// CPU time lost, seconds per second.
    pub(super) cpu_seconds: f64,
    /// CPUs that lost a part of it.
    pub(super) cpus: u32,
    /// Time waited for the map's locks; `None` where no wait was seen.
    pub(super) waited: Option<Waited>,
    /// Do they count as lost?
    waits: Counted,
    /// Time that operations took longer than in calm, seconds per second; `None` where too few were
    /// timed.
    pub(super) excess: Option<f64>,
    /// The operation that lost most by that, else the most frequent.
    pub(super) latency: Option<LatencyShift>,
    /// How much of the loss lies at the free lists, and how much elsewhere, seconds per second; and who says so.
    pub(super) places: Places,
}

/// Where the time was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Places {
    pub(super) freelist: f64,
    pub(super) bucket: f64,
    pub(super) witness: Witness,
}

/// What tells the free lists from the buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Witness {
    /// The locks that were waited for.
    Locks,
    /// How long pops took.
    Pops,
    /// Nothing does.
    #[default]
    None,
}

/// How far waits count, by how many of the operations waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    /// Too few.
    #[default]
    Not,
    /// Enough to keep a storm open.
    Half,
    /// Enough.
    Wholly,
}

impl Contention {
    /// What was lost in this window, by a map's `calm` as far as that is known. `waits_are_seen` where the kernel
    /// reports waits for locks, and the locks of a hash map are known.
    pub(super) fn of(
        change: &Change<'_>,
        calm: Option<&Calm>,
        thresholds: &ContentionThresholds,
        waits_are_seen: bool,
    ) -> Self {
        let seconds = change.seconds();
        let mut lost = Vec::new();
        let waits = Waits::of(change, &mut lost);
        let counted = waits.counted(thresholds);
        if counted == Counted::Not {
            lost.clear();
        }
        let excess = Excess::of(change, calm, thresholds);
        let mut excess_by_cpu = excess.by_cpu;
        let slowed = excess_by_cpu.iter().filter(|&&excess| excess > 0.0).count();
        // Of other maps no lock is known, so that a fight over theirs shows nothing but the excess.
        let would_wait = waits_are_seen && change.map.kind.is_htab() && slowed > UNSEEN;
        if would_wait && waits.share < thresholds.waits_ratio / 2.0 {
            excess_by_cpu.clear();
        }
        lost.resize(lost.len().max(excess_by_cpu.len()), 0.0);
        for (lost, excess) in lost.iter_mut().zip(&excess_by_cpu) {
            *lost = lost.max(*excess);
        }
        // A wait that began before the window is in it as a whole.
        lost.iter_mut().for_each(|lost| *lost = lost.min(seconds));
        let part = PART * thresholds.cpu_ratio * seconds;
        let all = lost.iter().sum::<f64>() / seconds;
        let at_pops = change
            .pops()
            .and_then(|pops| Shift::of(&pops, calm.and_then(Calm::pop), thresholds));
        let places = waits.places(
            all,
            excess.at_update / seconds,
            at_pops.map(|shift| shift.excess / seconds),
        );
        Self {
            cpu_seconds: all,
            cpus: lost
                .iter()
                .filter(|&&lost| lost > 0.0 && lost >= part)
                .count() as u32,
            waited: waits.told(),
            waits: counted,
            excess: excess.all.map(|all| all / seconds),
            latency: excess.latency,
            places,
        }
    }

    /// How the window weighs by this alone.
    pub(super) fn level(&self, thresholds: &ContentionThresholds) -> Level {
        let lost = |threshold: f64| {
            self.cpus >= thresholds.cpus && self.cpu_seconds > 0.0 && self.cpu_seconds >= threshold
        };
        let doubtful = self.is_waited() && self.waits < Counted::Wholly;
        if lost(thresholds.cpu_ratio) && !doubtful {
            Level::Storm
        } else if lost(thresholds.cpu_ratio / 2.0) {
            Level::Between
        } else {
            Level::Calm
        }
    }

    /// Do waits tell at least half of what was lost?
    pub(super) fn is_waited(&self) -> bool {
        let waited = self.waited.as_ref().map_or(0.0, Waited::all);
        self.waits > Counted::Not && waited > 0.0 && waited >= self.cpu_seconds / 2.0
    }
}

/// Time waited by the place of the lock, seconds per second. What is waited for elsewhere, the
/// allocator's locks for one, is no fight over the map.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    bucket: f64,
    freelist: f64,
    lru: f64,
    /// Share of the operations that waited, 0 to 1.
    share: f64,
    /// How long a wait took, seconds.
    mean: f64,
}

impl Waits {
    /// The waits of a window; each CPU's are added to `by_cpu`, seconds.
    fn of(change: &Change<'_>, by_cpu: &mut Vec<f64>) -> Self {
        let mut waited = |class| {
            let waited = change.waited_ns(class);
            by_cpu.resize(by_cpu.len().max(waited.len()), 0.0);
            let seconds = waited.iter().map(|&ns| ns as f64 / 1e9);
            for (sum, seconds) in by_cpu.iter_mut().zip(seconds) {
                *sum += seconds;
            }
            waited.iter().sum::<u64>() as f64 / 1e9 / change.seconds()
        };
        let classes = [LockClass::Bucket, LockClass::Freelist, LockClass::Lru];
        let waits: u64 = classes.into_iter().map(|class| change.waits(class)).sum();
        let [bucket, freelist, lru] = classes.map(&mut waited);
        Self {
            bucket,
            freelist,
            lru,
            mean: (bucket + freelist + lru) * change.seconds() / waits.max(1) as f64,
            share: (waits as f64 / change.operations().max(1) as f64).min(1.0),
        }
    }

    fn counted(&self, thresholds: &ContentionThresholds) -> Counted {
        let ratio = thresholds.waits_ratio;
        if self.mean > thresholds.mean_wait.as_secs_f64() {
            Counted::Not
        } else if self.share >= ratio {
            Counted::Wholly
        } else if self.share >= ratio / 2.0 {
            Counted::Half
        } else {
            Counted::Not
        }
    }

    fn told(&self) -> Option<Waited> {
        let Self {
            bucket,
            freelist,
            lru,
            share,
            mean: _,
        } = *self;
        let waited = Waited {
            bucket,
            freelist,
            lru,
            share,
        };
        (waited.all() > 0.0).then_some(waited)
    }

    /// Where `all` was lost: by the locks where they tell most of it, else by what part of the updates'
    /// excess is the pops', else by the few waits there were.
    fn places(&self, all: f64, at_update: f64, at_pops: Option<f64>) -> Places {
        let by_locks = Places {
            freelist: self.freelist,
            bucket: self.bucket,
            witness: Witness::Locks,
        };
        let waited = self.freelist + self.bucket;
        match at_pops {
            _ if waited > 0.0 && waited >= all / 2.0 => by_locks,
            Some(at_pops) if at_update > 0.0 => Places {
                freelist: at_pops.min(at_update),
                bucket: (at_update - at_pops).max(0.0),
                witness: Witness::Pops,
            },
            _ if waited > 0.0 => by_locks,
            _ => Places {
                freelist: 0.0,
                bucket: all,
                witness: Witness::None,
            },
        }
    }
}

#[cfg(test)]
mod tests;
