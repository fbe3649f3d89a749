//! Which pairs of map and operation are worth timing, when there are more of them than timings: a
//! pure function of how busy each has been lately and of who is timed now.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// A pair: the key of its slots.
pub type Pair = u64;

/// How much busier than one that is timed a pair must be to take its place: less would only make the
/// two swap places.
const FACTOR: u64 = 2;
/// A pair's rate moves by this part of its distance to the newest window's.
const SMOOTHING: u64 = 4;
/// Rates are kept in this part of an event per window.
const UNIT: u64 = 256;

/// One pair as of now, all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Operations so far.
    pub operations: u64,
    /// Has it a slot without timings on any CPU?
    pub lacking: bool,
}

/// Remembers how busy each pair has been, and who was chosen.
#[derive(Debug, Default)]
pub struct Busiest {
    pairs: BTreeMap<Pair, Pace>,
    chosen: BTreeSet<Pair>,
}

/// How fast a pair goes.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Operations at the last look.
    operations: u64,
    /// Operations per window, smoothed, in parts of [`UNIT`].
    rate: u64,
}

impl Busiest {
    /// Takes the pairs as they are at the end of a window and chooses those that should be timed, at
    /// most `room`. At first sight a pair has no rate yet.
    pub fn choose(&mut self, standings: &BTreeMap<Pair, Standing>, room: usize) -> &BTreeSet<Pair> {
        self.pairs.retain(|pair, _| standings.contains_key(pair));
        for (&pair, standing) in standings {
            let operations = standing.operations;
            let fresh = Pace {
                operations,
                rate: 0,
            };
            let pace = self.pairs.entry(pair).or_insert(fresh);
            let newest = operations
                .saturating_sub(pace.operations)
                .saturating_mul(UNIT);
            pace.operations = operations;
            pace.rate = pace.rate - pace.rate / SMOOTHING + newest / SMOOTHING;
        }
        let ranked = standings.iter().map(|(&pair, standing)| {
            let holds = self.chosen.contains(&pair) || !standing.lacking;
            let factor = if holds { FACTOR } else { 1 };
            let score = self.rate(pair).saturating_mul(factor);
            (Reverse((score, holds)), pair)
        });
        // Nobody gives way to one that does nothing.
        let worth = |&(Reverse(rank), _): &(Reverse<(u64, bool)>, Pair)| rank > (0, false);
        let mut ranked: Vec<_> = ranked.filter(worth).collect();
        ranked.sort_unstable();
        ranked.truncate(room);
        self.chosen = ranked.into_iter().map(|(_, pair)| pair).collect();
        &self.chosen
    }

    /// How busy a pair has been, in units that only compare.
    pub fn rate(&self, pair: Pair) -> u64 {
        self.pairs.get(&pair).map_or(0, |pace| pace.rate)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Pairs that all lack timings, with these totals.
    fn standings(totals: &[u64]) -> BTreeMap<Pair, Standing> {
        let standing = |(pair, &operations)| {
            let lacking = true;
            (
                pair,
                Standing {
                    operations,
                    lacking,
                },
            )
        };
        (1..).zip(totals).map(standing).collect()
    }

    /// Windows of these rates after one that only shows the pairs.
    fn after(busiest: &mut Busiest, rates: &[u64], windows: u64, room: usize) -> Vec<Pair> {
        let mut chosen = Vec::new();
        for window in 0..=windows {
            let totals: Vec<_> = rates.iter().map(|rate| rate * window).collect();
            let now = busiest.choose(&standings(&totals), room);
            chosen = now.iter().copied().collect();
        }
        chosen
    }

    #[test]
    fn the_busiest_are_chosen() {
        let chosen = after(&mut Busiest::default(), &[5, 900, 0, 70, 100], 9, 2);
        assert_eq!(chosen, [2, 5]);
    }

    #[test]
    fn who_is_timed_gives_way_only_to_one_twice_as_busy() {
        let mut busiest = Busiest::default();
        let mut totals = [0, 0];
        let mut go = |rates: [u64; 2], lacking: u64| {
            for (total, rate) in totals.iter_mut().zip(rates) {
                *total += rate;
            }
            let mut standings = standings(&totals);
            for (&pair, standing) in &mut standings {
                standing.lacking = pair == lacking;
            }
            busiest.choose(&standings, 1).first().copied()
        };
        for _ in 0..20 {
            assert_eq!(go([100, 199], 2), Some(1));
        }
        let last = (0..20).map(|_| go([100, 300], 2)).last();
        assert_eq!(last, Some(Some(2)));
        for _ in 0..20 {
            assert_eq!(go([190, 100], 1), Some(2), "and keeps what it has got");
        }
    }

    #[test]
    fn a_pair_that_is_gone_is_forgotten_and_counts_from_zero_if_it_comes_back() {
        let mut busiest = Busiest::default();
        after(&mut busiest, &[1000], 5, 1);
        assert!(busiest.choose(&BTreeMap::new(), 1).is_empty());
        busiest.choose(&standings(&[7]), 1);
        assert_eq!(busiest.rate(1), 0);
    }

    proptest! {
        #[test]
        fn no_more_than_there_is_room_for_and_the_clearly_busiest_among_them(
            rates in vec(0..100_000u64, 1..30),
            room in 1..20usize,
        ) {
            let mut busiest = Busiest::default();
            let chosen = after(&mut busiest, &rates, 25, room);
            prop_assert_eq!(chosen.len(), room.min(rates.iter().filter(|&&rate| rate > 0).count()));
            let of = |pair: Pair| rates[pair as usize - 1];
            let least = chosen.iter().map(|&pair| of(pair)).min().unwrap_or(0);
            for pair in (1..=rates.len() as u64).filter(|pair| !chosen.contains(pair)) {
                prop_assert!(of(pair) <= 2 * least + 8, "{} beside {}", of(pair), least);
            }
        }

        #[test]
        fn steady_rates_and_bursts_by_turns_swap_nobody(
            rates in vec(1..100_000u64, 2..40),
            room in 1..20usize,
            windows in 1..30u64,
        ) {
            let mut busiest = Busiest::default();
            let before = after(&mut busiest, &rates, 30, room);
            let mut totals: Vec<_> = rates.iter().map(|rate| rate * 30).collect();
            for window in 0..windows {
                // Half of the pairs rest while the others do twice as much.
                for (i, (total, rate)) in totals.iter_mut().zip(&rates).enumerate() {
                    *total += if i as u64 % 2 == window % 2 { 2 * rate } else { 0 };
                }
                let now: Vec<_> = busiest.choose(&standings(&totals), room).iter().copied().collect();
                let swapped = before.iter().filter(|pair| !now.contains(pair));
                for &pair in swapped {
                    // A burst lifts a rate by a seventh of it and a rest lowers it by one.
                    let own = rates[pair as usize - 1];
                    let taker = now.iter().filter(|pair| !before.contains(pair));
                    let most = taker.map(|&pair| rates[pair as usize - 1]).max().unwrap_or(0);
                    prop_assert!(most * 2 + 8 > own * 3, "{own} gave way to {most}");
                }
            }
        }
    }
}
