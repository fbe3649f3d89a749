//! How long calls on one CPU took, to the octave: enough to tell a CPU that waits for others from one that does not,
//! at an eighth of what full durations of every CPU would take.

use mapstorm_abi::bucket::{BOUNDS, BOUNDS_NS, BUCKETS};

use super::Durations;

/// Buckets to an octave.
const WIDTH: usize = 4;
/// Octaves: one up to the first bound, and one above them all.
const COUNT: usize = (BUCKETS - 1).div_ceil(WIDTH) + 1;

/// Calls by the octave of their duration. Counts wrap; differences of less than 2³¹ are right all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Octaves([u32; COUNT]);

impl Octaves {
    /// Adds the calls that these durations are of.
    pub fn add(&mut self, durations: &Durations) {
        for (bucket, &n) in durations.buckets.iter().enumerate() {
            let calls = &mut self.0[bucket.div_ceil(WIDTH)];
            *calls = calls.wrapping_add(n as u32);
        }
    }

    /// Adds the calls of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (sum, n) in self.0.iter_mut().zip(other.0) {
            *sum = sum.wrapping_add(n);
        }
    }

    /// The calls that came after `before`, which these grew from; none of those that have become fewer.
    pub fn since(&self, before: &Self) -> Self {
        let mut grown = *self;
        for (now, was) in grown.0.iter_mut().zip(before.0) {
            let more = now.wrapping_sub(was);
            *now = if more.leading_zeros() == 0 { 0 } else { more };
        }
        grown
    }

    /// Calls that were timed.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|&n| u64::from(n)).sum()
    }

    /// What more than half of the calls took longer than, nanoseconds: the lower end of the median's octave, so
    /// that the median is never told too long.
    pub fn median_floor_ns(&self) -> u64 {
        let half = self.count() / 2;
        let mut below = 0;
        let octave = self.0.iter().position(|&n| {
            below += u64::from(n);
            below > half
        });
        let last = octave.and_then(|octave| octave.checked_sub(1));
        last.map_or(0, |last| BOUNDS_NS[(last * WIDTH).min(BOUNDS - 1)])
    }
}

#[cfg(test)]
mod tests {
    use mapstorm_abi::bucket;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn octaves(ns: &[u64]) -> Octaves {
        let mut durations = Durations::default();
        for &ns in ns {
            durations.buckets[bucket::index(ns)] += 1;
        }
        let mut octaves = Octaves::default();
        octaves.add(&durations);
        octaves
    }

    #[test]
    fn nothing_timed_took_no_time_and_the_longest_take_more_than_the_last_bound() {
        assert_eq!(Octaves::default().median_floor_ns(), 0);
        let longest = octaves(&[u64::MAX]);
        assert_eq!(longest.median_floor_ns(), BOUNDS_NS[BOUNDS - 1]);
    }

    #[test]
    fn counts_that_wrapped_are_counted_on() {
        let before = Octaves([u32::MAX; COUNT]);
        let mut now = before;
        now.merge(&octaves(&[100, 1000, 1000]));
        assert_eq!(now.since(&before), octaves(&[100, 1000, 1000]));
    }

    #[test]
    fn fewer_than_before_are_none() {
        assert_eq!(octaves(&[100]).since(&octaves(&[100, 100])).count(), 0);
    }

    proptest! {
        #[test]
        fn the_median_is_in_the_octave_above_the_floor(ns in vec(0..1u64 << 35, 1..200usize)) {
            let floor = octaves(&ns).median_floor_ns();
            let mut ns = ns;
            ns.sort_unstable();
            let median = ns[ns.len() / 2];
            prop_assert!(median > floor || floor == 0, "{median} {floor}");
            prop_assert!(median <= (2 * floor + 1).max(BOUNDS_NS[0]), "{median} {floor}");
        }
    }
}
