//! Quantiles of what happened between two scrapes, from classic buckets.

use std::collections::BTreeMap;

/// Cumulative counts by upper bound, as `_bucket` samples have them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Buckets {
    /// Bounds are seconds. Positive floats order as their bits do, so bits are the key.
    counts: BTreeMap<u64, f64>,
}

impl Buckets {
    /// Adds a bucket's count; counts of several series with one bound add up.
    pub(super) fn add(&mut self, le: &str, count: f64) {
        if let Ok(bound) = le.parse::<f64>()
            && bound >= 0.0
        {
            *self.counts.entry(bound.to_bits()).or_default() += count;
        }
    }

    /// What came since `earlier`. A daemon that started anew counts from zero.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let difference = |(bound, count): (&u64, &f64)| {
            let before = earlier.counts.get(bound).copied().unwrap_or(0.0);
            (
                *bound,
                if *count >= before {
                    count - before
                } else {
                    *count
                },
            )
        };
        Self {
            counts: self.counts.iter().map(difference).collect(),
        }
    }

    /// The value below which a share `q` of the events lies, in seconds, as Prometheus's
    /// `histogram_quantile` estimates it; nothing without events.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        let total = self
            .counts
            .values()
            .last()
            .copied()
            .filter(|total| *total > 0.0)?;
        let rank = q * total;
        let (mut lower, mut below) = (0.0, 0.0);
        for (bits, count) in &self.counts {
            let bound = f64::from_bits(*bits);
            if *count >= rank && *count > below {
                if bound.is_infinite() {
                    return Some(lower);
                }
                return Some(lower + (bound - lower) * (rank - below) / (count - below));
            }
            (lower, below) = (bound, *count);
        }
        Some(lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(counts: &[(&str, f64)]) -> Buckets {
        let mut buckets = Buckets::default();
        counts
            .iter()
            .for_each(|(le, count)| buckets.add(le, *count));
        buckets
    }

    #[test]
    fn quantiles_interpolate_in_their_bucket() {
        let buckets = buckets(&[("1", 0.0), ("2", 50.0), ("4", 100.0), ("+Inf", 100.0)]);
        assert_eq!(buckets.quantile(0.5), Some(2.0));
        assert_eq!(buckets.quantile(0.75), Some(3.0));
        assert_eq!(buckets.quantile(0.25), Some(1.5));
    }

    #[test]
    fn beyond_the_last_bound_is_the_last_bound() {
        let buckets = buckets(&[("1", 1.0), ("+Inf", 10.0)]);
        assert_eq!(buckets.quantile(0.99), Some(1.0));
        assert_eq!(Buckets::default().quantile(0.5), None);
    }

    #[test]
    fn only_what_came_in_between_counts() {
        let before = buckets(&[("1", 100.0), ("2", 100.0), ("+Inf", 100.0)]);
        let after = buckets(&[("1", 100.0), ("2", 110.0), ("+Inf", 110.0)]);
        assert_eq!(after.since(&before).quantile(0.5), Some(1.5));
        assert_eq!(before.since(&before).quantile(0.5), None);
        assert_eq!(
            before.since(&after),
            buckets(&[("1", 0.0), ("2", 100.0), ("+Inf", 100.0)])
        );
    }

    #[test]
    fn series_with_one_bound_add_up() {
        let buckets = buckets(&[("1e-6", 1.0), ("0.000001", 2.0)]);
        assert_eq!(buckets.counts.len(), 1);
    }
}
