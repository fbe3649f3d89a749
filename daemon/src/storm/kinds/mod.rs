//! The kinds of storms: what each takes for evidence, and what to do about it.

mod alloc;
mod freelist;
mod full;
mod hot_bucket;
mod lru;

use mapstorm_abi::{Op, Outcome};
use serde::{Deserialize, Serialize};

use super::{
    Advice, Change, Evidence, FreelistUse, FullThresholds, Thresholds, ToldBy,
    contention::{Contention, Witness},
};
use crate::snapshot::MapStats;

/// What a storm is about; the label `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Updates refused because the map is full.
    Full,
    /// Updates refused for want of memory, on a map that is no LRU map.
    Alloc,
    /// CPUs that fight over the lists of free elements of a map that is not full.
    Freelist,
    /// CPUs that fight over an LRU map, or are refused by it.
    Lru,
    /// CPUs that fight over the buckets of a map that is not full.
    HotBucket,
}

impl Kind {
    /// How many kinds there are.
    pub const COUNT: usize = 5;

    /// All kinds, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Full,
        Self::Alloc,
        Self::Freelist,
        Self::Lru,
        Self::HotBucket,
    ];

    /// Value of the label `kind`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Alloc => "alloc",
            Self::Freelist => "freelist",
            Self::Lru => "lru",
            Self::HotBucket => "hot_bucket",
        }
    }

    /// Is it about updates that the map refuses?
    pub const fn refuses(self) -> bool {
        matches!(self, Self::Full | Self::Alloc | Self::Lru)
    }

    /// The other kind of fight over a map, where there is one: a fight is one of the two.
    pub(super) const fn sibling(self) -> Option<Self> {
        match self {
            Self::Freelist => Some(Self::HotBucket),
            Self::HotBucket => Some(Self::Freelist),
            Self::Full | Self::Alloc | Self::Lru => None,
        }
    }

    /// Reads one map's window for evidence of this kind.
    pub(super) fn read(self, thresholds: &Thresholds, window: &Window<'_>) -> Reading {
        match self {
            Self::Full => full::read(&thresholds.full, window.change),
            Self::Alloc => alloc::read(thresholds.alloc_rejects_per_second, window.change),
            Self::Lru => lru::read(thresholds, window),
            Self::Freelist | Self::HotBucket => self.read_fight(thresholds, window),
        }
    }

    /// Time lost without a refusal by exhaustion, at the place that this kind is about.
    fn read_fight(self, thresholds: &Thresholds, window: &Window<'_>) -> Reading {
        let is_here = window.place == self
            && !window.change.map.kind.is_lru()
            && exhaustion(&thresholds.full, window.change) == 0;
        if !is_here {
            return Reading::CALM;
        }
        let Contention {
            cpus, cpu_seconds, ..
        } = *window.contention;
        Reading {
            level: window.contention.level(&thresholds.contention),
            cpus,
            cpu_seconds: Some(cpu_seconds),
            ..Reading::CALM
        }
    }

    /// What a reading is believed for.
    pub(super) fn evidence(self, window: &Window<'_>, reading: &Reading) -> Evidence {
        match self {
            Self::Full => full::evidence(window, reading),
            Self::Alloc => alloc::evidence(window, reading),
            Self::Lru => lru::evidence(window, reading),
            Self::Freelist | Self::HotBucket => fight(window),
        }
    }

    /// What to do about a storm of this kind on `map`, and why.
    pub(super) fn advice(self, map: &MapStats, freelist: FreelistUse) -> Advice {
        match self {
            Self::Full => full::advice(freelist),
            Self::Alloc => alloc::advice(),
            Self::Freelist => freelist::advice(freelist),
            Self::Lru => lru::advice(map),
            Self::HotBucket => hot_bucket::advice(map),
        }
    }
}

/// One map's window, and what follows from it for every kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) change: &'a Change<'a>,
    pub(super) contention: &'a Contention,
    /// Where a fight is: [`Kind::Freelist`] or [`Kind::HotBucket`].
    pub(super) place: Kind,
    pub(super) freelist: FreelistUse,
}

/// What one window says about one kind of storm on one map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// How the window weighs.
    pub(super) level: Level,
    /// Refused updates of this kind in the window.
    pub(super) rejects: u64,
    /// The same per second.
    pub(super) rejects_per_second: f64,
    /// CPUs involved.
    pub(super) cpus: u32,
    /// CPU time burnt, seconds per second; `None` where no time was measured.
    pub(super) cpu_seconds: Option<f64>,
}

impl Reading {
    /// Nothing of the kind.
    const CALM: Self = Self {
        level: Level::Calm,
        rejects: 0,
        rejects_per_second: 0.0,
        cpus: 0,
        cpu_seconds: None,
    };

    /// So many updates were refused on so many CPUs.
    fn of_refusals(change: &Change<'_>, level: Level, rejects: u64, cpus: u32) -> Self {
        Self {
            level,
            rejects,
            rejects_per_second: change.per_second(rejects),
            cpus,
            cpu_seconds: wasted(change, rejects, cpus),
        }
    }
}

/// How a window weighs: the two thresholds of the hysteresis make three levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Below half the threshold.
    Calm,
    /// Neither: it opens nothing and closes nothing.
    Between,
    /// The evidence holds.
    Storm,
}

impl Level {
    /// How so many refusals weigh by a threshold per second.
    fn of_refusals(change: &Change<'_>, rejects: u64, threshold: f64) -> Self {
        let busy = |threshold: f64| rejects > 0 && change.per_second(rejects) >= threshold;
        if busy(threshold) {
            Self::Storm
        } else if busy(threshold / 2.0) {
            Self::Between
        } else {
            Self::Calm
        }
    }
}

/// Updates of the window that were refused by exhaustion. On 6.15 and newer a free list's lock that
/// could not be had comes back as -E2BIG, too: on a map known to have room it is no exhaustion.
pub(super) fn exhaustion(thresholds: &FullThresholds, change: &Change<'_>) -> u64 {
    let full = |fill| fill >= thresholds.fill_ratio;
    if change.map.fill().is_none_or(full) {
        change.updates(Outcome::E2big)
    } else {
        0
    }
}

/// CPU time that refused updates took, seconds per second: their data is lost, so all of it is. By the
/// median, like [contention](super::contention), and no more than their CPUs have.
fn wasted(change: &Change<'_>, rejects: u64, cpus: u32) -> Option<f64> {
    let mut timed = change.timed();
    let (_, updates) = timed.find(|(op, _)| *op == Op::Update)?;
    let median = updates.median_ns()?;
    Some((change.per_second(rejects) * median / 1e9).min(cpus.into()))
}

/// The evidence of a fight over free lists or buckets.
fn fight(window: &Window<'_>) -> Evidence {
    let contention = window.contention;
    let told_by = match contention.places.witness {
        Witness::Locks => ToldBy::LockWaits,
        Witness::Pops => ToldBy::PopDurations,
        Witness::None => ToldBy::Durations,
    };
    let mut evidence = Evidence {
        told_by,
        ..lost(contention)
    };
    if told_by == ToldBy::Durations {
        evidence.add("which lock they wait for cannot be told here");
    }
    evidence
}

/// The evidence of time lost.
fn lost(contention: &Contention) -> Evidence {
    let evidence = Evidence::of_contention(contention.cpus, contention.cpu_seconds);
    Evidence {
        excess_cpu_seconds_per_second: contention.excess,
        ..evidence
            .with_latency(contention.latency.clone())
            .with_waits(contention.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_index_order_and_serialize_as_their_label() {
        for (i, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, i);
            let json = serde_json::to_string(kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.label()));
        }
    }
}
