//! From two scrapes to what a person wants to see: pure, no clock, no terminal.

use std::collections::BTreeMap;

use super::exposition::{Exposition, Sample};
use super::histogram::Buckets;

/// Outcomes that are answers, not refusals.
const ANSWERS: [&str; 3] = ["ok", "eexist", "enoent"];

/// A storm that is on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Storm {
    /// The map's id.
    pub(super) map_id: String,
    /// The map's name.
    pub(super) map_name: String,
    /// `full` and its like.
    pub(super) kind: String,
    /// Refused updates per second, by the daemon's own count.
    pub(super) rejects_per_second: f64,
    /// Processors that take part.
    pub(super) cpus: f64,
}

/// What happened to one map between the scrapes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Map {
    /// The map's name.
    pub(super) name: String,
    /// The map's type.
    pub(super) kind: String,
    /// Updates per second.
    pub(super) updates: f64,
    /// Refused updates per second.
    pub(super) refusals: f64,
    /// Freelist pops per second.
    pub(super) pops: f64,
    /// Pops that found nothing, per second.
    pub(super) empty_pops: f64,
    /// Durations of pops.
    pub(super) pop_time: Buckets,
    /// Durations of updates.
    pub(super) update_time: Buckets,
}

/// Everything the screen shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Summary {
    /// Storms that are on.
    pub(super) storms: Vec<Storm>,
    /// Maps by id.
    pub(super) maps: BTreeMap<u64, Map>,
    /// Probes that are attached, each with its hook and mechanism.
    pub(super) attached: Vec<String>,
    /// Probes that are not, each with the reason.
    pub(super) unavailable: Vec<String>,
    /// Events lost since the daemon's start, by reason.
    pub(super) lost: Vec<(String, f64)>,
}

impl Summary {
    /// Compares `now` with `before`, `seconds` earlier.
    pub(super) fn between(before: &Exposition, now: &Exposition, seconds: f64) -> Self {
        let mut maps: BTreeMap<u64, Map> = BTreeMap::new();
        let updates = |sample: &Sample| sample.label("op") == "update";
        for (sample, rate) in rates(before, now, "mapstorm_operations_total", seconds) {
            if let Some(map) = row(&mut maps, sample).filter(|_| updates(sample)) {
                map.updates += rate;
                if !ANSWERS.contains(&sample.label("outcome")) {
                    map.refusals += rate;
                }
            }
        }
        for (sample, rate) in rates(before, now, "mapstorm_freelist_pops_total", seconds) {
            if let Some(map) = row(&mut maps, sample) {
                map.pops += rate;
                if sample.label("outcome") == "empty" {
                    map.empty_pops += rate;
                }
            }
        }
        let pops = "mapstorm_freelist_pop_duration_seconds_bucket";
        for (id, buckets) in buckets(before, now, pops, |_| true) {
            maps.entry(id).or_default().pop_time = buckets;
        }
        let operations = "mapstorm_operation_duration_seconds_bucket";
        for (id, buckets) in buckets(before, now, operations, updates) {
            maps.entry(id).or_default().update_time = buckets;
        }
        let (attached, unavailable) = probes(now);
        Self {
            storms: storms(now),
            maps,
            attached,
            unavailable,
            lost: lost(now),
        }
    }
}

/// Storms that `now` says are on.
pub(super) fn storms(now: &Exposition) -> Vec<Storm> {
    let of_map = |name: &str, storm: &Sample| {
        let same = |sample: &&Sample| sample.label("map_id") == storm.label("map_id");
        now.named(name)
            .find(same)
            .map_or(0.0, |sample| sample.value)
    };
    let active = now
        .named("mapstorm_storm_active")
        .filter(|sample| sample.value > 0.0);
    let storm = |sample: &Sample| Storm {
        map_id: sample.label("map_id").to_owned(),
        map_name: sample.label("map_name").to_owned(),
        kind: sample.label("kind").to_owned(),
        rejects_per_second: of_map("mapstorm_storm_rejects_per_second", sample),
        cpus: of_map("mapstorm_storm_cpus", sample),
    };
    active.map(storm).collect()
}

/// Probes that are attached, and those that are not, in words.
pub(super) fn probes(now: &Exposition) -> (Vec<String>, Vec<String>) {
    let on = |name| now.named(name).filter(|sample| sample.value > 0.0);
    let attached = on("mapstorm_probe_attached").map(|sample| {
        let [probe, hook, how] = ["probe", "hook", "mechanism"].map(|label| sample.label(label));
        format!("{probe} on {hook} ({how})")
    });
    let unavailable = on("mapstorm_probe_unavailable")
        .map(|sample| format!("{}: {}", sample.label("probe"), sample.label("reason")));
    (attached.collect(), unavailable.collect())
}

fn lost(now: &Exposition) -> Vec<(String, f64)> {
    let lost = now
        .named("mapstorm_events_lost_total")
        .filter(|sample| sample.value > 0.0);
    lost.map(|sample| (sample.label("reason").to_owned(), sample.value))
        .collect()
}

/// The row of the sample's map, made if need be; none for a sample that names no map.
fn row<'a>(maps: &'a mut BTreeMap<u64, Map>, sample: &Sample) -> Option<&'a mut Map> {
    let map = maps
        .entry(sample.label("map_id").parse().ok()?)
        .or_default();
    if map.name.is_empty() {
        sample.label("map_name").clone_into(&mut map.name);
        sample.label("map_type").clone_into(&mut map.kind);
    }
    Some(map)
}

/// Each sample called `name` with its increase per second; a counter that fell began anew.
fn rates<'a>(
    before: &'a Exposition,
    now: &'a Exposition,
    name: &'a str,
    seconds: f64,
) -> impl Iterator<Item = (&'a Sample, f64)> {
    let earlier: BTreeMap<&[(String, String)], f64> = before
        .named(name)
        .map(|sample| (sample.labels.as_slice(), sample.value))
        .collect();
    now.named(name).map(move |sample| {
        let previous = earlier
            .get(sample.labels.as_slice())
            .copied()
            .unwrap_or(0.0);
        let increase = if sample.value >= previous {
            sample.value - previous
        } else {
            sample.value
        };
        (sample, increase / seconds)
    })
}

/// By map, the buckets called `name` of samples that `counts` accepts, as they grew.
fn buckets(
    before: &Exposition,
    now: &Exposition,
    name: &str,
    counts: impl Fn(&Sample) -> bool,
) -> BTreeMap<u64, Buckets> {
    let collect = |exposition: &Exposition| {
        let mut maps: BTreeMap<u64, Buckets> = BTreeMap::new();
        for sample in exposition.named(name).filter(|sample| counts(sample)) {
            if let Ok(id) = sample.label("map_id").parse() {
                maps.entry(id)
                    .or_default()
                    .add(sample.label("le"), sample.value);
            }
        }
        maps
    };
    let (earlier, later) = (collect(before), collect(now));
    let nothing = Buckets::default();
    later
        .into_iter()
        .map(|(id, buckets)| (id, buckets.since(earlier.get(&id).unwrap_or(&nothing))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrape(updates: u32, refusals: u32, pops: u32) -> Exposition {
        let map = "map_id=\"7\",map_name=\"storm\",map_type=\"hash\"";
        let duration = "mapstorm_freelist_pop_duration_seconds_bucket";
        Exposition::parse(&format!(
            "mapstorm_operations_total{{{map},op=\"update\",outcome=\"ok\"}} {updates}\n\
             mapstorm_operations_total{{{map},op=\"update\",outcome=\"e2big\"}} {refusals}\n\
             mapstorm_operations_total{{{map},op=\"delete\",outcome=\"other\"}} 1000000\n\
             mapstorm_freelist_pops_total{{{map},outcome=\"empty\"}} {pops}\n\
             {duration}{{{map},le=\"0.000001\"}} 0\n\
             {duration}{{{map},le=\"0.000002\"}} {pops}\n\
             {duration}{{{map},le=\"+Inf\"}} {pops}\n\
             mapstorm_storm_active{{{map},kind=\"full\"}} 1\n\
             mapstorm_storm_cpus{{{map}}} 4\n\
             mapstorm_storm_rejects_per_second{{{map}}} 5000\n\
             mapstorm_probe_attached{{probe=\"pop\",hook=\"pop_fn\",mechanism=\"fentry\"}} 1\n\
             mapstorm_probe_unavailable{{probe=\"lru\",reason=\"EBUSY\"}} 1\n\
             mapstorm_events_lost_total{{reason=\"no_slot\"}} 0\n"
        ))
        .unwrap()
    }

    #[test]
    fn rates_are_per_second_and_of_updates_only() {
        let summary = Summary::between(&scrape(10, 100, 100), &scrape(30, 500, 500), 2.0);
        let map = &summary.maps[&7];
        assert_eq!((map.name.as_str(), map.kind.as_str()), ("storm", "hash"));
        assert_eq!((map.updates, map.refusals), (210.0, 200.0));
        assert_eq!((map.pops, map.empty_pops), (200.0, 200.0));
        assert_eq!(map.pop_time.quantile(0.5), Some(1.5e-6));
    }

    #[test]
    fn storms_probes_and_losses_are_named() {
        let summary = Summary::between(&scrape(0, 0, 0), &scrape(0, 0, 0), 1.0);
        let storm = &summary.storms[0];
        assert_eq!((storm.kind.as_str(), storm.cpus), ("full", 4.0));
        assert_eq!(storm.rejects_per_second, 5000.0);
        assert_eq!(summary.attached, ["pop on pop_fn (fentry)"]);
        assert_eq!(summary.unavailable, ["lru: EBUSY"]);
        assert!(summary.lost.is_empty());
    }
}
