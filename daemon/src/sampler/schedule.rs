//! When samples are due: multiples of the interval since the start, so that nothing drifts.

use std::time::{Duration, Instant};

/// Ticks at fixed distances. One that comes late makes its window longer; those missed meanwhile
/// are left out, never made up for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    next: Instant,
    interval: Duration,
}

impl Schedule {
    /// The first tick is an interval after `start`.
    pub(super) fn new(start: Instant, interval: Duration) -> Self {
        Self {
            next: start + interval,
            interval,
        }
    }

    /// When the next tick is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Takes the tick that was due, at `now`: the next one is the first still to come.
    pub(super) fn tick(&mut self, now: Instant) {
        let late = now.saturating_duration_since(self.next);
        let missed = late.div_duration_f64(self.interval) as u32;
        self.next += self.interval * (missed + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(250);

    /// Milliseconds from the start at which ticks are due, when each is taken so much later.
    fn due(lateness: &[u64]) -> Vec<u128> {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, INTERVAL);
        let ticks = lateness.iter().map(|&late| {
            let due = schedule.next();
            schedule.tick(due + Duration::from_millis(late));
            (due - start).as_millis()
        });
        ticks.collect()
    }

    #[test]
    fn small_delays_do_not_add_up() {
        assert_eq!(due(&[0, 3, 200, 249, 1]), [250, 500, 750, 1000, 1250]);
    }

    #[test]
    fn ticks_that_were_slept_through_are_left_out() {
        assert_eq!(due(&[0, 250, 0, 1999, 0]), [250, 500, 1000, 1250, 3250]);
    }

    #[test]
    fn a_tick_that_is_taken_early_is_not_taken_twice() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, INTERVAL);
        schedule.tick(start);
        assert_eq!(schedule.next(), start + 2 * INTERVAL);
    }
}
