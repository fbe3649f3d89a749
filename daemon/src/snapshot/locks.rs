//! Waits for locks, as a snapshot has them.

use mapstorm_abi::Outcome;

use super::{Durations, absorb, absorb_by_cpu};

/// Waits for the locks of one class, inside of operations on one map.
///
/// Of those who wait for a lock the kernel does not report the first, and where only two CPUs meet
/// that is all there is.
#[derive(Clone, Debug, Default)]
pub struct LockStats {
    /// Ended waits by [`LockOutcome`].
    pub outcomes: [u64; LockOutcome::COUNT],
    /// How long those that were timed took.
    pub durations: Option<Durations>,
    /// Time waited by CPU, nanoseconds; as far as waits were timed.
    pub waited_ns_by_cpu: Vec<u64>,
}

impl LockStats {
    /// Ended waits with this outcome.
    pub fn count(&self, outcome: LockOutcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Adds what `other` has counted.
    pub(super) fn absorb(&mut self, other: &Self) {
        for (sum, n) in self.outcomes.iter_mut().zip(other.outcomes) {
            *sum += n;
        }
        absorb(&mut self.durations, other.durations.as_ref());
        absorb_by_cpu(&mut self.waited_ns_by_cpu, &other.waited_ns_by_cpu);
    }

    /// Time waited, all CPUs, nanoseconds; `None` where no wait was timed.
    pub fn waited_ns(&self) -> Option<u64> {
        self.durations.as_ref().map(|durations| durations.sum_ns)
    }
}

/// How a wait for a lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockOutcome {
    /// The lock was had.
    Ok,
    /// It would never have been: a deadlock was detected (6.15 and newer).
    Edeadlk,
    /// It was not had in time (6.15 and newer).
    Etimedout,
    /// It was given up for another reason.
    Other,
}

impl LockOutcome {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// All of them, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [Self::Ok, Self::Edeadlk, Self::Etimedout, Self::Other];

    /// The outcome of a wait that returned what an operation would call by `outcome`.
    pub const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Ok,
            Outcome::Edeadlk => Self::Edeadlk,
            Outcome::Etimedout => Self::Etimedout,
            _ => Self::Other,
        }
    }

    /// Value of the label `outcome`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Edeadlk => "edeadlk",
            Self::Etimedout => "etimedout",
            Self::Other => "other",
        }
    }
}
