//! Mean, spread, and whether two means differ.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Mean and standard deviation of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) mean: f64,
    /// Of a sample: by one less than the number of samples; 0 for a single one.
    pub(super) stddev: f64,
}

/// Sums up samples; zero where there are none.
pub(super) fn summary(samples: &[f64]) -> Summary {
    let n = samples.len() as f64;
    if samples.is_empty() {
        return Summary::default();
    }
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    let stddev = if samples.len() > 1 {
        (squares / (n - 1.0)).sqrt()
    } else {
        0.0
    };
    Summary { mean, stddev }
}

/// How likely it is that samples of equal means lie at least so far apart: Welch's t-test, both sides, which takes
/// neither spread nor number of samples to be equal. `None` where a side has fewer than two samples. Samples that do not
/// differ at all on either side are certain.
pub(super) fn p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (left, right) = (summary(a), summary(b));
    let error = |side: Summary, samples: &[f64]| side.stddev.powi(2) / samples.len() as f64;
    let (of_left, of_right) = (error(left, a), error(right, b));
    let both = of_left + of_right;
    if both == 0.0 {
        return Some(if left.mean == right.mean { 1.0 } else { 0.0 });
    }
    let t = (left.mean - right.mean).abs() / both.sqrt();
    let part = |error: f64, samples: &[f64]| error.powi(2) / (samples.len() - 1) as f64;
    let freedom = both.powi(2) / (part(of_left, a) + part(of_right, b));
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some((2.0 * student.sf(t)).min(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn mean_and_spread_of_a_sample() {
        let Summary { mean, stddev } = summary(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(mean, 5.0);
        assert!((stddev - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(
            summary(&[3.0]),
            Summary {
                mean: 3.0,
                stddev: 0.0
            }
        );
        assert_eq!(summary(&[]), Summary::default());
    }

    #[test]
    fn welch_agrees_with_the_density_integrated_by_simpsons_rule() {
        // t = 2.823633, 27.9254 degrees of freedom; the tail from there to 200 in 200,000 steps, both sides.
        let a = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let b = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.7,
            24.0,
        ];
        let p = p_value(&a, &b).unwrap();
        assert!((p - 0.008_659_458_763_66).abs() < 1e-9, "{p}");
    }

    #[test]
    fn what_never_varies_is_certain_and_a_single_sample_tells_nothing() {
        assert_eq!(p_value(&[5.0, 5.0], &[5.0, 5.0]), Some(1.0));
        assert_eq!(p_value(&[5.0, 5.0], &[6.0, 6.0]), Some(0.0));
        assert_eq!(p_value(&[5.0], &[6.0, 6.0]), None);
    }

    proptest! {
        #[test]
        fn a_p_value_is_a_probability_and_the_same_either_way(
            a in vec(-1e6..1e6_f64, 2..20),
            b in vec(-1e6..1e6_f64, 2..20),
        ) {
            let p = p_value(&a, &b).unwrap();
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!((p - p_value(&b, &a).unwrap()).abs() < 1e-9);
        }
    }
}
