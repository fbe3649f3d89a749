//! What the daemon says against what is true, to the unit.

use anyhow::{Result, bail, ensure};
use mapstorm_abi::{Lost, Outcome};

use super::{bench::Truth, guest::Guest, scrape::Scrape};
use crate::text_format::Sample;

/// Updates by outcome, and how long they took.
pub(crate) const OPERATIONS: &str = "mapstorm_operations_total";
pub(crate) const OPERATION_DURATION: &str = "mapstorm_operation_duration_seconds";
pub(crate) const OPERATION_COUNT: &str = "mapstorm_operation_duration_seconds_count";
/// Pops by outcome, and how long they took.
pub(crate) const POPS: &str = "mapstorm_freelist_pops_total";
pub(crate) const POP_DURATION: &str = "mapstorm_freelist_pop_duration_seconds";
pub(crate) const POP_COUNT: &str = "mapstorm_freelist_pop_duration_seconds_count";
/// Elements that batches of lookups gave.
pub(crate) const BATCH_ELEMENTS: &str = "mapstorm_batch_elements_total";
/// Share of a signal that can be seen.
pub(crate) const COVERAGE: &str = "mapstorm_coverage";
/// What was not counted, or not timed.
pub(crate) const LOST: &str = "mapstorm_events_lost_total";
pub(crate) const MISSES: &str = "mapstorm_probe_misses_total";
/// Storms opened.
pub(crate) const STORMS: &str = "mapstorm_storms_total";

/// Compares counts one by one, and in the end tells all that differ.
#[derive(Default)]
pub(crate) struct Comparison {
    differences: Vec<String>,
}

impl Comparison {
    /// Notes a count that is not what it should be.
    pub(crate) fn is<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, seen: T, truth: T) {
        if seen != truth {
            let text = format!("{what} is {seen:?}, the truth is {truth:?}");
            self.differences.push(text);
        }
    }

    /// Fails when anything was not what it should be.
    pub(crate) fn finish(self) -> Result<()> {
        if !self.differences.is_empty() {
            bail!("{}", self.differences.join("; "));
        }
        Ok(())
    }
}

/// Every number about one map equals the truth, under its id, name and type; all was timed.
pub(crate) fn exact(guest: &Guest, scrape: &Scrape, truth: &Truth) -> Result<()> {
    let (id, kind) = (truth.id.to_string(), truth.kind.label());
    let map = [
        ("map_id", &*id),
        ("map_name", truth.name),
        ("map_type", &*kind),
    ];
    let mut comparison = Comparison::default();
    let mut compare = |name: &str, more: &[(&str, &str)], truth: Option<u64>| -> Result<()> {
        let labels = [&map, more].concat();
        let seen = scrape.find(name, &labels)?;
        comparison.is(&format!("{name}{labels:?}"), seen, truth);
        Ok(())
    };
    for (op, outcomes) in [("update", truth.outcomes), ("delete", truth.deletes)] {
        let all: u64 = outcomes.iter().sum();
        // What nobody did is absent.
        let done = |count| (all > 0).then_some(count);
        for outcome in Outcome::ALL {
            let labels = [("op", op), ("outcome", outcome.label())];
            compare(OPERATIONS, &labels, done(outcomes[outcome as usize]))?;
        }
        compare(OPERATION_COUNT, &[("op", op)], done(all))?;
    }
    let [ok, empty] = truth.pops.map_or([None; 2], |pops| pops.map(Some));
    compare(POPS, &[("outcome", "ok")], ok)?;
    compare(POPS, &[("outcome", "empty")], empty)?;
    // Where no pop can be timed, the allocation around it is, and is not called a pop.
    let pops = truth.pops.map(|pops| pops.iter().sum());
    let (timed, around) = if guest.pops_are_timed() {
        (pops, None)
    } else {
        (None, pops)
    };
    compare(POP_COUNT, &[], timed)?;
    compare(OPERATION_COUNT, &[("op", "alloc")], around)?;
    comparison.finish()
}

/// A map that nobody touched is known, and nothing was counted on it: absent, not 0.
pub(crate) fn untouched(scrape: &Scrape, truth: &Truth) -> Result<()> {
    let id = truth.id.to_string();
    let map = [("map_id", &*id), ("map_name", truth.name)];
    ensure!(
        scrape.get("mapstorm_map_info", &map)? == 1,
        "the map is unknown"
    );
    for name in [OPERATIONS, OPERATION_COUNT, POPS, POP_COUNT] {
        let samples = scrape.samples(name, &map).count();
        ensure!(samples == 0, "{name}: {samples} samples of {}", truth.name);
    }
    Ok(())
}

/// Nothing that was seen was lost, and the daemon says so for every reason.
pub(crate) fn nothing_uncounted(scrape: &Scrape) -> Result<()> {
    for reason in Lost::ALL {
        let lost = scrape.get(LOST, &[("reason", reason.label())])?;
        ensure!(lost == 0, "{lost} events lost: {}", reason.label());
    }
    Ok(())
}

/// The same, and nothing was missed.
pub(crate) fn nothing_lost(scrape: &Scrape) -> Result<()> {
    nothing_uncounted(scrape)?;
    // Of waits for locks: they fire for every lock of the host, in interrupts, too.
    let operations = |sample: &&Sample| !sample.labels["probe"].starts_with("contention_");
    for sample in scrape.samples(MISSES, &[]).filter(operations) {
        ensure!(
            sample.value == 0.0,
            "{} runs missed: {:?}",
            sample.value,
            sample.labels
        );
    }
    Ok(())
}
