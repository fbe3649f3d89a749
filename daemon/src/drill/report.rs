//! What a drill has done, exactly.

use std::{num::NonZeroU64, time::SystemTime};

use mapstorm_abi::{Outcome, workload::Tally};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::{config::DrillConfig, identity::MapId};

/// The record of one drill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The kind of storm that it makes.
    pub kind: &'static str,
    /// The map it was made on; gone by now.
    pub map: DrillMap,
    /// Who updated: `program` or `syscall`.
    pub via: &'static str,
    /// Updates per second and CPU that were asked for; `None` for as many as it took.
    pub rate: Option<NonZeroU64>,
    /// When the hammering began, wall clock.
    #[serde(serialize_with = "time")]
    pub started: SystemTime,
    /// When it ended.
    #[serde(serialize_with = "time")]
    pub ended: SystemTime,
    /// Was it ended early, by a signal?
    pub interrupted: bool,
    /// Updates that filled the map before, by system call.
    pub fill: Counts,
    /// What one CPU did alone before, in drills that make CPUs fight.
    pub calm: Counts,
    /// What the hammering was, all CPUs.
    pub total: Counts,
    /// Mean of the CPUs' rates.
    pub average_events_per_second: u64,
    /// The same, CPU by CPU.
    pub cpus: Vec<CpuReport>,
}

/// The map of a drill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrillMap {
    /// Its id.
    pub id: MapId,
    /// Its name.
    pub name: &'static str,
    /// Entries it was created for.
    pub max_entries: u32,
}

/// What one CPU did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuReport {
    /// The CPU.
    pub cpu: u32,
    /// Operations per second of the time spent at it: pauses of a paced drill do not count.
    pub events_per_second: u64,
    /// What it did.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Operations by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All updates.
    pub updates: u64,
    /// Those that the map refused because it was full, or had no memory.
    pub refused: u64,
    /// All updates by outcome.
    #[serde(serialize_with = "by_label")]
    pub outcomes: [u64; Outcome::COUNT],
    /// All deletes.
    pub deletes: u64,
    /// All deletes by outcome.
    #[serde(serialize_with = "by_label")]
    pub delete_outcomes: [u64; Outcome::COUNT],
}

impl Counts {
    /// The counts of a tally.
    pub fn of(tally: &Tally) -> Self {
        Self {
            updates: tally.total(),
            refused: tally.count(Outcome::E2big) + tally.count(Outcome::Enomem),
            outcomes: tally.outcomes(),
            deletes: tally.deletes.iter().sum(),
            delete_outcomes: tally.delete_outcomes(),
        }
    }
}

impl CpuReport {
    /// The record of one CPU.
    pub fn of(cpu: u32, tally: &Tally) -> Self {
        let counts = Counts::of(tally);
        let done = counts.updates + counts.deletes;
        let per_second = u128::from(done) * 1_000_000_000 / u128::from(tally.ns.max(1));
        Self {
            cpu,
            events_per_second: u64::try_from(per_second).unwrap_or(u64::MAX),
            counts,
        }
    }
}

impl Report {
    /// Sums up what was done: the fill, one CPU's calm, then each CPU's hammering between two times.
    pub fn new(
        config: &DrillConfig,
        map: DrillMap,
        [started, ended]: [SystemTime; 2],
        interrupted: bool,
        [fill, calm]: [&Tally; 2],
        tallies: &[(u32, Tally)],
    ) -> Self {
        let mut total = Tally::default();
        tallies.iter().for_each(|(_, tally)| total.merge(tally));
        let cpus = tallies
            .iter()
            .map(|(cpu, tally)| CpuReport::of(*cpu, tally));
        let cpus: Vec<_> = cpus.collect();
        let rates: u64 = cpus.iter().map(|cpu| cpu.events_per_second).sum();
        Self {
            kind: config.kind.label(),
            map,
            via: config.via.label(),
            rate: config.rate,
            started,
            ended,
            interrupted,
            fill: Counts::of(fill),
            calm: Counts::of(calm),
            total: Counts::of(&total),
            average_events_per_second: rates / (cpus.len() as u64).max(1),
            cpus,
        }
    }
}

fn by_label<S: Serializer>(
    outcomes: &[u64; Outcome::COUNT],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(Outcome::COUNT))?;
    for outcome in Outcome::ALL {
        map.serialize_entry(outcome.label(), &outcomes[outcome as usize])?;
    }
    map.end()
}

fn time<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_millis(*time))
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::DrillKind;

    fn tally(refused: u64, busy: u64, ns: u64) -> Tally {
        let mut tally = Tally {
            ns,
            ..Tally::default()
        };
        tally.updates[libc::E2BIG as usize] = refused;
        tally.updates[libc::EBUSY as usize] = busy;
        tally
    }

    /// A drill on two CPUs, one of which was busy at times.
    pub(in crate::drill) fn report(kind: DrillKind) -> Report {
        let map = DrillMap {
            id: 42,
            name: kind.target().map(),
            max_entries: 1000,
        };
        let ended = SystemTime::UNIX_EPOCH + Duration::from_millis(2500);
        Report::new(
            &DrillConfig::of(kind),
            map,
            [SystemTime::UNIX_EPOCH, ended],
            false,
            [&Tally::default(); 2],
            &[
                (0, tally(6000, 0, 2_000_000)),
                (3, tally(1990, 10, 1_000_000_000)),
            ],
        )
    }

    #[test]
    fn json_has_every_outcome_of_every_cpu() {
        let json = serde_json::to_value(report(DrillKind::Full)).unwrap();
        assert_eq!(json["kind"], "full");
        assert_eq!(json["total"]["updates"], 8000);
        assert_eq!(json["cpus"][1]["cpu"], 3);
        assert_eq!(json["cpus"][1]["outcomes"]["ebusy"], 10);
        assert_eq!(json["cpus"][0]["outcomes"]["ok"], 0);
        assert_eq!(json["ended"], "1970-01-01T00:00:02.500Z");
        assert_eq!(json["map"]["id"], 42);
    }

    #[test]
    fn a_cpu_that_did_nothing_has_a_rate_of_zero() {
        assert_eq!(CpuReport::of(0, &Tally::default()).events_per_second, 0);
    }
}
