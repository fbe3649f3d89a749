//! `RLIMIT_MEMLOCK`, which BPF memory counted against before 5.11: raised if needed, never lowered.

use nix::{
    errno::Errno,
    sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit},
};
use serde::Serialize;

use crate::facts::Kernel;

/// What became of the limit. Bytes, `u64::MAX` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Memlock {
    /// Since 5.11 BPF memory is charged to the control group: left alone.
    NotNeeded,
    /// There was no limit: left alone.
    Unlimited,
    /// There is no limit any more.
    Raised {
        /// The soft limit before.
        from: u64,
    },
    /// The hard limit could not be raised (`CAP_SYS_RESOURCE` does), so the soft one is at it.
    Capped {
        /// The soft limit before.
        from: u64,
        /// The limit now; loading may fail with EPERM when our maps need more.
        limit: u64,
    },
}

/// Why the limit could not be read or set.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot {what} RLIMIT_MEMLOCK: {errno}; \
     set LimitMEMLOCK=infinity in the service unit, or ulimit -l unlimited in a shell"
)]
pub struct MemlockError {
    what: &'static str,
    errno: Errno,
}

/// Removes the limit on locked memory where `kernel` charges BPF memory to it.
///
/// # Errors
/// When the system refuses to tell the limit, or to raise it for a reason other than privilege.
pub fn raise(kernel: &Kernel) -> Result<Memlock, MemlockError> {
    if !kernel.charges_memlock {
        return Ok(Memlock::NotNeeded);
    }
    let read = |errno| MemlockError {
        what: "read",
        errno,
    };
    let limits = getrlimit(Resource::RLIMIT_MEMLOCK).map_err(read)?;
    raise_from(limits, |soft, hard| {
        setrlimit(Resource::RLIMIT_MEMLOCK, soft, hard)
    })
}

/// The decision: `set` takes a soft and a hard limit.
fn raise_from(
    (soft, hard): (u64, u64),
    set: impl Fn(u64, u64) -> Result<(), Errno>,
) -> Result<Memlock, MemlockError> {
    let raise = |errno| MemlockError {
        what: "raise",
        errno,
    };
    if soft == RLIM_INFINITY {
        return Ok(Memlock::Unlimited);
    }
    match set(RLIM_INFINITY, RLIM_INFINITY) {
        Ok(()) => Ok(Memlock::Raised { from: soft }),
        Err(Errno::EPERM) => {
            if soft < hard {
                set(hard, hard).map_err(raise)?;
            }
            Ok(Memlock::Capped {
                from: soft,
                limit: hard,
            })
        }
        Err(errno) => Err(raise(errno)),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const PAGE: u64 = 65_536;

    /// Runs the decision against a system that allows a hard limit up to `may`.
    fn run(limits: (u64, u64), may: u64) -> (Memlock, Vec<(u64, u64)>) {
        let sets = RefCell::new(Vec::new());
        let done = raise_from(limits, |soft, hard| {
            if hard > may {
                return Err(Errno::EPERM);
            }
            sets.borrow_mut().push((soft, hard));
            Ok(())
        });
        (done.unwrap(), sets.into_inner())
    }

    #[test]
    fn o36_an_unlimited_limit_is_not_touched() {
        let (done, sets) = run((RLIM_INFINITY, RLIM_INFINITY), RLIM_INFINITY);
        assert_eq!((done, sets), (Memlock::Unlimited, vec![]));
    }

    #[test]
    fn with_the_privilege_the_limit_goes() {
        let (done, sets) = run((PAGE, PAGE), RLIM_INFINITY);
        assert_eq!(done, Memlock::Raised { from: PAGE });
        assert_eq!(sets, [(RLIM_INFINITY, RLIM_INFINITY)]);
    }

    #[test]
    fn without_it_the_soft_limit_goes_up_to_the_hard_one_and_never_down() {
        let (done, sets) = run((PAGE, 4 * PAGE), 4 * PAGE);
        let limit = 4 * PAGE;
        assert_eq!(done, Memlock::Capped { from: PAGE, limit });
        assert_eq!(sets, [(limit, limit)]);
        let (done, sets) = run((PAGE, PAGE), PAGE);
        assert_eq!(
            (done, sets),
            (
                Memlock::Capped {
                    from: PAGE,
                    limit: PAGE
                },
                vec![]
            )
        );
    }

    #[test]
    fn a_soft_limit_below_an_unlimited_hard_one_needs_no_privilege() {
        let (done, _) = run((PAGE, RLIM_INFINITY), RLIM_INFINITY);
        assert_eq!(done, Memlock::Raised { from: PAGE });
    }

    #[test]
    fn a_newer_kernel_is_left_alone() {
        let kernel = Kernel::new("6.12.0", "x86_64").unwrap();
        assert_eq!(raise(&kernel).unwrap(), Memlock::NotNeeded);
    }
}
