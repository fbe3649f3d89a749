//! Durations in exact buckets.

use mapstorm_abi::bucket::{BOUNDS, BOUNDS_NS, FIRST_K};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::snapshot::Durations;

/// Durations of one kind of event since the daemon began to count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Histogram {
    /// Events timed.
    pub count: u64,
    /// Sum of their durations, seconds.
    pub sum_seconds: f64,
    /// Which duration so many of them do not exceed; `null` when none was timed.
    pub quantiles: Option<Quantiles>,
    /// The buckets that hold events, shortest first. Buckets are the same for every histogram: four per
    /// octave from 59.6 ns to 64 s.
    pub buckets: Vec<Bucket>,
}

/// One bucket: events longer than the bound below it, and no longer than its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Bucket {
    /// Place among all buckets, from 0; the upper bound is 2^(index/4 − 24) seconds.
    pub index: u8,
    /// Upper bound, inclusive, seconds; `null` for what is longer than the last bound of 64 s.
    pub le: Option<f64>,
    /// Events in this bucket, not cumulated.
    pub count: u64,
}

/// Upper bounds of the buckets that hold the quantiles, seconds: no more than a quarter octave above the
/// true values. `null` above the last bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Quantiles {
    /// The median.
    pub p50: Option<f64>,
    /// Nine of ten are no longer.
    pub p90: Option<f64>,
    /// 99 of 100 are no longer.
    pub p99: Option<f64>,
}

impl From<&Durations> for Histogram {
    fn from(durations: &Durations) -> Self {
        let buckets = durations.buckets.iter().enumerate();
        let buckets = buckets.filter(|&(_, &count)| count > 0);
        Self {
            count: durations.count(),
            sum_seconds: durations.sum_ns as f64 / 1e9,
            quantiles: Quantiles::of(durations),
            buckets: buckets
                .map(|(index, &count)| Bucket {
                    index: index as u8,
                    le: bound_seconds(index),
                    count,
                })
                .collect(),
        }
    }
}

impl Quantiles {
    /// The quantiles; `None` when nothing was timed.
    pub fn of(durations: &Durations) -> Option<Self> {
        let at = |q| {
            let ns = durations.quantile_ns(q)?;
            let index = BOUNDS_NS[..BOUNDS].partition_point(|&bound| bound < ns);
            Some(bound_seconds(index))
        };
        Some(Self {
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
        })
    }
}

/// Upper bound of bucket `index`, seconds; `None` for the last, which has none.
fn bound_seconds(index: usize) -> Option<f64> {
    let k = FIRST_K + index as i32;
    (index < BOUNDS).then(|| f64::exp2(f64::from(k) / 4.0))
}

#[cfg(test)]
mod tests {
    use mapstorm_abi::bucket;

    use super::*;

    #[test]
    fn buckets_are_exact_and_only_those_that_hold_something() {
        let mut durations = Durations::default();
        for ns in [59, 60, 60, 1_000_000_000, 65_000_000_000] {
            durations.buckets[bucket::index(ns)] += 1;
            durations.sum_ns += ns;
        }
        let histogram = Histogram::from(&durations);
        let told: Vec<_> = { &histogram.buckets }
            .iter()
            .map(|bucket| (bucket.le, bucket.count))
            .collect();
        assert_eq!(
            told,
            [
                (Some(f64::exp2(-24.0)), 1),
                (Some(f64::exp2(-23.75)), 2),
                (Some(1.0), 1),
                (None, 1)
            ]
        );
        assert_eq!(histogram.count, 5);
        let quantiles = histogram.quantiles.unwrap();
        assert_eq!(quantiles.p50, Some(f64::exp2(-23.75)));
        assert_eq!(quantiles.p99, None);
    }

    #[test]
    fn nothing_timed_has_no_quantiles() {
        assert_eq!(Histogram::from(&Durations::default()).quantiles, None);
    }

    #[test]
    fn bounds_agree_with_the_nanoseconds_the_kernel_counts_by() {
        for (index, &ns) in BOUNDS_NS[..BOUNDS].iter().enumerate() {
            let seconds = bound_seconds(index).unwrap();
            assert!(
                (seconds * 1e9 - ns as f64).abs() <= 1.0 + seconds,
                "{index}"
            );
        }
        assert_eq!(bound_seconds(BOUNDS), None);
    }
}
