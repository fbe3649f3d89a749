//! `--metrics.by=name`: the rows of all maps of a name and type as one, without an id. Counters and
//! histograms are added, those of maps that are gone among them; of gauges the largest counts.

use std::collections::BTreeMap;

use super::{
    cap::{MapRows, Rank},
    map,
    row::{Key, Row},
};
use crate::{identity::MapId, snapshot::MapStats, view::View};

/// Value of the label `map_id`, which Prometheus takes for no label at all.
const NO_ID: &str = "";

/// Rows that are being added up, by tier.
#[derive(Default)]
struct Sum {
    rank: Option<Rank>,
    events: u64,
    facts: BTreeMap<Key, Row>,
    counts: BTreeMap<Key, Row>,
    details: BTreeMap<Key, Row>,
}

/// The rows of these maps, and of all that have gone and are `shown`.
pub(super) fn sums<'a>(
    view: &'a View,
    maps: impl Iterator<Item = (MapId, &'a MapStats)>,
    shown: impl Fn(&str) -> bool,
) -> Vec<MapRows> {
    let mut sums: BTreeMap<_, Sum> = BTreeMap::new();
    for (id, map) in maps {
        let sum = sums.entry((&map.name, map.kind)).or_default();
        sum.add(map::one(view, id, NO_ID, map));
    }
    for ((name, kind), total) in view
        .snapshot
        .departed
        .iter()
        .filter(|((name, _), _)| shown(name))
    {
        let sum = sums.entry((name, *kind)).or_default();
        sum.add(map::totals(NO_ID, total));
    }
    sums.into_values().map(Sum::rows).collect()
}

impl Sum {
    fn add(&mut self, rows: MapRows) {
        self.rank = self.rank.max(Some(rows.rank));
        self.events += rows.events;
        let tiers = [
            (&mut self.facts, rows.facts),
            (&mut self.counts, rows.counts),
            (&mut self.details, rows.details),
        ];
        for (sums, rows) in tiers {
            for row in rows {
                let sum = sums.entry(row.key());
                sum.and_modify(|sum| sum.absorb(&row)).or_insert(row);
            }
        }
    }

    fn rows(self) -> MapRows {
        MapRows {
            rank: self.rank.unwrap_or(Rank::Idle),
            events: self.events,
            facts: self.facts.into_values().collect(),
            counts: self.counts.into_values().collect(),
            details: self.details.into_values().collect(),
        }
    }
}
