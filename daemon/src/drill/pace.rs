//! How many updates are due: a rate, kept over time without ever making up for a long pause.

use std::{
    num::NonZeroU64,
    time::{Duration, Instant},
};

/// What a thread that was held up may make up for at once: no burst is larger than what this time
/// holds, the shortest sample window there is.
const BURST: Duration = Duration::from_millis(50);

/// Hands out updates at a rate. Without a rate there is always more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate: Option<NonZeroU64>,
    start: Instant,
    /// Updates handed out so far, or forgone.
    done: u64,
}

impl Pace {
    /// `rate` updates per second from `start` on.
    pub(super) fn new(rate: Option<NonZeroU64>, start: Instant) -> Self {
        Self {
            rate,
            start,
            done: 0,
        }
    }

    /// Takes the updates that are due at `now`, at most `most`.
    pub(super) fn take(&mut self, now: Instant, most: u64) -> u64 {
        let Some(rate) = self.rate else {
            return most;
        };
        let owed = within(rate, now.saturating_duration_since(self.start));
        // A rate of less than one update in BURST must still come to one.
        let burst = within(rate, BURST).max(1);
        self.done = self.done.max(owed.saturating_sub(burst));
        let due = owed.saturating_sub(self.done).min(most);
        self.done += due;
        due
    }

    /// When the next update is due; never in the past of `now`.
    pub(super) fn next(&self, now: Instant) -> Instant {
        let Some(rate) = self.rate else {
            return now;
        };
        let ns = (u128::from(self.done) + 1) * NS / u128::from(rate.get());
        let after = Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
        now.max(self.start + after)
    }
}

/// Nanoseconds of a second.
const NS: u128 = 1_000_000_000;

/// Whole updates that a time holds at a rate.
fn within(rate: NonZeroU64, time: Duration) -> u64 {
    let updates = u128::from(rate.get()) * time.as_nanos() / NS;
    u64::try_from(updates).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates handed out at these milliseconds after the start.
    fn taken(rate: u64, most: u64, at: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let start = Instant::now();
        let mut pace = Pace::new(NonZeroU64::new(rate), start);
        let at = at.into_iter();
        at.map(|ms| pace.take(start + Duration::from_millis(ms), most))
            .collect()
    }

    #[test]
    fn a_rate_is_kept_to_the_update() {
        let total: u64 = taken(1000, 128, (0..=1000).step_by(7)).iter().sum();
        assert_eq!(total, 994);
        let total: u64 = taken(1234, 128, 0..=1000).iter().sum();
        assert_eq!(total, 1234);
        let total: u64 = taken(3_000_001, 1_000_000, 0..=1000).iter().sum();
        assert_eq!(total, 3_000_001);
    }

    #[test]
    fn a_pause_is_made_up_for_with_one_short_burst_at_most() {
        assert_eq!(taken(1000, 1000, [10, 900, 901, 902]), [10, 50, 1, 1]);
        assert_eq!(taken(1000, 20, [50, 50, 50, 50]), [20, 20, 10, 0]);
    }

    #[test]
    fn a_slow_rate_still_comes_to_its_updates() {
        assert_eq!(
            taken(2, 128, [0, 499, 500, 999, 1000, 9000]),
            [0, 0, 1, 0, 1, 1]
        );
    }

    #[test]
    fn without_a_rate_there_is_always_more() {
        let start = Instant::now();
        let mut pace = Pace::new(None, start);
        assert_eq!((pace.take(start, 128), pace.take(start, 128)), (128, 128));
        assert_eq!(pace.next(start), start);
    }

    #[test]
    fn the_next_update_is_due_when_it_is_due() {
        let start = Instant::now();
        let pace = Pace::new(NonZeroU64::new(100), start);
        assert_eq!(pace.next(start), start + Duration::from_millis(10));
        let late = start + Duration::from_secs(1);
        assert_eq!(pace.next(late), late);
    }
}
