//! How long to leave a receiver alone that has failed: longer each time, and never in step with other hosts.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The first pause, at most.
const FIRST: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST: Duration = Duration::from_secs(60);

/// Failures in a row, and the pauses that follow from them.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    failures: u32,
}

impl Patience {
    /// Takes a failure; `chance` is anywhere from 0 to 1. The pause that follows doubles with each failure up to a
    /// minute, and is half of that or more, by chance.
    pub fn fail(&mut self, chance: f64) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        doubled
            .min(LONGEST)
            .mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }

    /// Takes a success; was the receiver failing until then?
    pub fn succeed(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }

    /// Failures in a row so far.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// Anywhere from 0 to 1, never foreseen: the keys that std seeds its hash maps with.
pub(super) fn chance() -> f64 {
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pauses_grow_to_a_minute_and_no_further(chances in prop::collection::vec(0.0..=1.0, 1..40)) {
            let mut patience = Patience::default();
            for (n, chance) in chances.into_iter().enumerate() {
                let pause = patience.fail(chance).as_secs_f64();
                let whole = f64::exp2(n.min(20) as f64).min(60.0);
                prop_assert!(pause >= whole / 2.0 - 1e-6 && pause <= whole + 1e-6, "{n}: {pause}");
            }
        }
    }

    #[test]
    fn a_success_begins_anew() {
        let mut patience = Patience::default();
        assert!(!patience.succeed());
        assert_eq!(patience.fail(1.0), FIRST);
        assert_eq!(patience.fail(1.0), 2 * FIRST);
        assert!(patience.succeed());
        assert_eq!(patience.fail(1.0), FIRST);
    }

    #[test]
    fn chance_is_a_share() {
        let chances: Vec<f64> = (0..100).map(|_| chance()).collect();
        assert!(chances.iter().all(|chance| (0.0..=1.0).contains(chance)));
        assert!(chances.iter().any(|&chance| chance != chances[0]));
    }
}
