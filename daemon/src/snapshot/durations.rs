//! How long things took: counts by bucket, and what can be told from those.

use mapstorm_abi::bucket::{BOUNDS, BOUNDS_NS, BUCKETS};

/// Durations in the buckets of [`mapstorm_abi::bucket`]. The count is derived, never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durations {
    /// Events per bucket, the last is above every bound.
    pub buckets: Box<[u64; BUCKETS]>,
    /// Sum of the durations, nanoseconds.
    pub sum_ns: u64,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            sum_ns: 0,
        }
    }
}

impl Durations {
    /// Events timed.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Adds the events of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (sum, n) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *sum += n;
        }
        self.sum_ns += other.sum_ns;
    }

    /// The events that came after `before`, which these durations grew from.
    pub fn since(&self, before: Option<&Self>) -> Self {
        let Some(before) = before else {
            return self.clone();
        };
        let mut grown = self.clone();
        for (now, was) in grown.buckets.iter_mut().zip(before.buckets.iter()) {
            *now = now.saturating_sub(*was);
        }
        grown.sum_ns = self.sum_ns.saturating_sub(before.sum_ns);
        grown
    }

    /// The median, nanoseconds: within its bucket as if events lay evenly there, so that a median
    /// near a bound does not leap by a whole bucket. `None` when nothing was timed; the last bound
    /// above it.
    pub fn median_ns(&self) -> Option<f64> {
        let half = self.count() as f64 / 2.0;
        let mut below = 0.0;
        for (bucket, &n) in self.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            let n = n as f64;
            if below + n >= half {
                let lower = bucket.checked_sub(1).map_or(0, |lower| BOUNDS_NS[lower]) as f64;
                let upper = BOUNDS_NS.get(bucket).filter(|_| bucket < BOUNDS);
                let width = upper.map_or(0.0, |&upper| upper as f64 - lower);
                return Some(lower + width * (half - below) / n);
            }
            below += n;
        }
        None
    }

    /// Upper bound, in nanoseconds, of the bucket that holds the `q`-quantile (0 ≤ q ≤ 1): no more
    /// than a quarter octave above the true value. `None` when nothing was timed; `u64::MAX` above
    /// the last bound.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((count as f64 * q).ceil() as u64).clamp(1, count);
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|&n| {
            seen += n;
            seen >= rank
        })?;
        Some(BOUNDS_NS[bucket])
    }
}

#[cfg(test)]
mod tests {
    use mapstorm_abi::bucket;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn durations(ns: &[u64]) -> Durations {
        let mut durations = Durations::default();
        for &ns in ns {
            durations.buckets[bucket::index(ns)] += 1;
            durations.sum_ns += ns;
        }
        durations
    }

    #[test]
    fn nothing_timed_has_no_median_and_the_longest_have_the_last_bound() {
        assert_eq!(Durations::default().median_ns(), None);
        let longest = durations(&[u64::MAX >> 1]);
        assert_eq!(longest.median_ns(), Some(BOUNDS_NS[BOUNDS - 1] as f64));
    }

    proptest! {
        #[test]
        fn a_median_is_no_further_than_its_bucket_is_wide(ns in vec(0..1u64 << 34, 1..200usize)) {
            let median = durations(&ns).median_ns().unwrap();
            let mut ns: Vec<u64> = ns;
            ns.sort_unstable();
            let truth = ns[(ns.len() - 1) / 2];
            let bucket = bucket::index(truth);
            let lower = bucket.checked_sub(1).map_or(0, |lower| BOUNDS_NS[lower]);
            prop_assert!((lower as f64..=BOUNDS_NS[bucket] as f64).contains(&median));
        }

        #[test]
        fn what_came_after_and_what_was_before_are_all(a in vec(0..1u64 << 40, 0..50), b in vec(0..1u64 << 40, 0..50)) {
            let before = durations(&a);
            let all = durations(&[a, b.clone()].concat());
            prop_assert_eq!(all.since(Some(&before)), durations(&b));
        }
    }
}
