//! Classic buckets: every fourth bound of ours, 2^j seconds for j from -24 (59.6 ns) to 6 (64 s).

use mapstorm_abi::bucket::{BOUNDS, FIRST_K};
use prometheus::proto;

use crate::snapshot::Durations;

/// Bounds of ours per published one.
const STEP: usize = 4;

/// Cumulative buckets, count and sum in seconds. The encoder adds `+Inf`, equal to the count.
pub(super) fn classic(durations: &Durations) -> proto::Histogram {
    let mut cumulative = 0;
    let mut buckets = Vec::with_capacity(BOUNDS / STEP + 1);
    for (i, n) in durations.buckets[..BOUNDS].iter().enumerate() {
        cumulative += n;
        if i % STEP == 0 {
            let mut bucket = proto::Bucket::default();
            bucket.set_upper_bound(bound_seconds(i));
            bucket.set_cumulative_count(cumulative);
            buckets.push(bucket);
        }
    }
    let mut histogram = proto::Histogram::default();
    histogram.set_bucket(buckets);
    histogram.set_sample_count(durations.count());
    histogram.set_sample_sum(durations.sum_ns as f64 / 1e9);
    histogram
}

/// Adds the events of `more`, which has the same buckets.
pub(super) fn add(sum: &mut proto::Histogram, more: &proto::Histogram) {
    let mut buckets = sum.get_bucket().to_vec();
    for (bucket, more) in buckets.iter_mut().zip(more.get_bucket()) {
        bucket.set_cumulative_count(bucket.cumulative_count() + more.cumulative_count());
    }
    sum.set_bucket(buckets);
    sum.set_sample_count(sum.get_sample_count() + more.get_sample_count());
    sum.set_sample_sum(sum.get_sample_sum() + more.get_sample_sum());
}

/// Bound `i`, a multiple of [`STEP`], in seconds: a power of two, so exact.
fn bound_seconds(i: usize) -> f64 {
    f64::exp2(f64::from((FIRST_K + i as i32) / STEP as i32))
}

#[cfg(test)]
mod tests {
    use mapstorm_abi::bucket::{BOUNDS_NS, index};

    use super::*;

    #[test]
    fn bounds_are_the_powers_of_two_from_60_ns_to_64_s_and_agree_with_the_nanoseconds() {
        let histogram = classic(&Durations::default());
        let bounds: Vec<f64> = histogram
            .get_bucket()
            .iter()
            .map(|b| b.upper_bound())
            .collect();
        assert_eq!(bounds.len(), 31);
        assert_eq!((bounds[0], bounds[30]), (f64::exp2(-24.0), 64.0));
        for (j, bound) in bounds.iter().enumerate() {
            assert_eq!((bound * 1e9) as u64, BOUNDS_NS[j * STEP]);
            let text = bound.to_string();
            assert_eq!(text.parse(), Ok(*bound), "`le` comes back as it went");
            assert!(!text.contains('e'), "{text} has no exponent");
        }
    }

    #[test]
    fn a_duration_is_in_its_bucket_and_all_above() {
        let mut durations = Durations::default();
        for ns in [59, 60, 1_000_000_000, 1_000_000_001, 65_000_000_000] {
            durations.buckets[index(ns)] += 1;
            durations.sum_ns += ns;
        }
        let histogram = classic(&durations);
        let at = |bound: f64| {
            let mut buckets = histogram.get_bucket().iter();
            let bucket = buckets.find(|b| b.upper_bound() == bound);
            bucket.map(|b| b.cumulative_count())
        };
        assert_eq!(at(f64::exp2(-24.0)), Some(1));
        assert_eq!(at(f64::exp2(-23.0)), Some(2));
        assert_eq!(at(1.0), Some(3));
        assert_eq!(at(64.0), Some(4));
        assert_eq!(histogram.get_sample_count(), 5);
        assert_eq!(histogram.get_sample_sum(), 67.000_000_120);
    }
}
