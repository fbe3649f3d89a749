//! `--metrics.max-series`: what is left out when there is not room for all.
//!
//! Idle maps lose their histograms, then their counters, then their places; busy maps next, maps in
//! a storm last; within a rank those with the fewest events first. Host-wide rows are not weighed.

use super::row::{self, Row};

/// How much a map matters to someone who looks at a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Idle,
    Busy,
    Storm,
}

/// The rows of one map, by tier of detail.
#[derive(Clone, Debug)]
pub(super) struct MapRows {
    pub(super) rank: Rank,
    /// Events counted on the map so far.
    pub(super) events: u64,
    /// What it is, how full, whether it storms.
    pub(super) facts: Vec<Row>,
    /// Counters.
    pub(super) counts: Vec<Row>,
    /// Histograms, and who uses it.
    pub(super) details: Vec<Row>,
}

impl MapRows {
    fn tiers(&mut self) -> [&mut Vec<Row>; 3] {
        [&mut self.details, &mut self.counts, &mut self.facts]
    }
}

/// What there is room for.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) rows: Vec<Row>,
    /// Series left out.
    pub(super) dropped: u64,
}

/// Leaves out as little as makes the rest fit into `room` series.
pub(super) fn fit(mut maps: Vec<MapRows>, room: usize) -> Kept {
    let series = |map: &mut MapRows| {
        map.tiers()
            .map(|rows| row::series(rows))
            .iter()
            .sum::<usize>()
    };
    let all: usize = maps.iter_mut().map(series).sum();
    let mut kept = all;
    // Stable: the maps come by id, so ties go to the older map.
    maps.sort_by_key(|map| (map.rank, map.events));
    for of_one_rank in maps.chunk_by_mut(|a, b| a.rank == b.rank) {
        for tier in 0..3 {
            for map in &mut *of_one_rank {
                if kept <= room {
                    break;
                }
                let rows = std::mem::take(map.tiers()[tier]);
                kept -= row::series(&rows);
            }
        }
    }
    let tiers = maps
        .into_iter()
        .flat_map(|map| [map.facts, map.counts, map.details]);
    Kept {
        rows: tiers.flatten().collect(),
        dropped: (all - kept) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{family, histogram::classic};
    use super::*;
    use crate::snapshot::Durations;

    /// A map of 2 + 9 + 34 series.
    fn map(rank: Rank, events: u64) -> MapRows {
        let labels = ["1", "m", "hash"];
        let fact = Row::count(&family::MAP_MAX_ENTRIES, &labels, events);
        let count = Row::count(&family::POPS, &["1", "m", "hash", "ok"], events);
        let histogram = classic(&Durations::default());
        MapRows {
            rank,
            events,
            facts: vec![fact; 2],
            counts: vec![count; 9],
            details: vec![Row::histogram(&family::POP_DURATION, &labels, histogram)],
        }
    }

    fn fitted(room: usize) -> (usize, u64) {
        let maps = [
            (Rank::Storm, 1),
            (Rank::Busy, 5),
            (Rank::Busy, 9),
            (Rank::Idle, 99),
        ];
        let kept = fit(maps.map(|(rank, events)| map(rank, events)).into(), room);
        (row::series(&kept.rows), kept.dropped)
    }

    #[test]
    fn nothing_is_left_out_where_everything_fits() {
        assert_eq!(fitted(180), (180, 0));
        assert_eq!(fitted(1_000_000), (180, 0));
    }

    #[test]
    fn the_idle_lose_histograms_then_counters_then_all_before_the_busy_lose_any() {
        assert_eq!(fitted(179), (146, 34));
        assert_eq!(fitted(145), (137, 43));
        assert_eq!(fitted(136), (135, 45));
        assert_eq!(fitted(134), (101, 79));
    }

    #[test]
    fn a_map_in_a_storm_is_the_last_to_lose_detail() {
        assert_eq!(fitted(45), (45, 135));
        assert_eq!(fitted(44), (11, 169));
        assert_eq!(fitted(0), (0, 180));
    }

    #[test]
    fn of_two_busy_maps_the_one_with_more_events_keeps_its_histogram() {
        let kept = fit(vec![map(Rank::Busy, 9), map(Rank::Busy, 5)], 89);
        assert_eq!(kept.dropped, 34);
        let all = super::row::families(kept.rows);
        let pops = all
            .iter()
            .find(|f| f.name() == family::MAP_MAX_ENTRIES.name);
        assert_eq!(pops.map(|f| f.get_metric().len()), Some(4));
    }
}
