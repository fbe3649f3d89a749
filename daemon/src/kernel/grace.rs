//! Grace periods: when one is over, every BPF program that ran when it began has ended.
//!
//! Programs run as RCU readers, preempted or not, and `membarrier(MEMBARRIER_CMD_GLOBAL)` waits for
//! those (`synchronize_rcu`, kernel/sched/membarrier.c). It may take a while: a thread waits.

use std::{
    io,
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::unistd::{SysconfVar, sysconf};

/// `MEMBARRIER_CMD_GLOBAL` of the kernel's uapi.
const MEMBARRIER_GLOBAL: libc::c_int = 1;
/// Where the kernel has no such wait (`nohz_full`, a sandbox) or skips it (one CPU), this long: no
/// program is kept from its CPU for longer, or the host has other troubles.
const LONG: Duration = Duration::from_secs(10);

/// A promise: what was unreachable for programs when it was given is unused when it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// Waits for one grace period after the other, while anyone holds a ticket.
#[derive(Debug, Default)]
pub(super) struct Grace {
    running: Option<JoinHandle<()>>,
    /// Periods that are over.
    over: u64,
    /// The last period that anyone waits for.
    wanted: u64,
}

impl Grace {
    /// A ticket for a period that begins after this call: the one that runs may have begun before.
    pub(super) fn ticket(&mut self) -> Ticket {
        let period = self.over + 1 + u64::from(self.running.is_some());
        self.wanted = self.wanted.max(period);
        Ticket(period)
    }

    /// Has the period passed?
    pub(super) fn has_passed(&self, ticket: Ticket) -> bool {
        self.over >= ticket.0
    }

    /// Notes a period that is over, and begins the next if it is wanted.
    pub(super) fn go_on(&mut self) -> io::Result<()> {
        if let Some(running) = self.running.take_if(|running| running.is_finished()) {
            // A wait that panicked was none.
            self.over += u64::from(running.join().is_ok());
        }
        if self.running.is_none() && self.over < self.wanted {
            let waiter = thread::Builder::new().name("grace".into());
            self.running = Some(waiter.spawn(wait)?);
        }
        Ok(())
    }
}

/// One grace period.
fn wait() {
    let several = sysconf(SysconfVar::_NPROCESSORS_ONLN).is_ok_and(|n| n.is_some_and(|n| n > 1));
    // SAFETY: the call takes numbers only and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_GLOBAL, 0, 0) };
    if result != 0 || !several {
        thread::sleep(LONG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(grace: &mut Grace, ticket: Ticket) {
        while !grace.has_passed(ticket) {
            grace.go_on().unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_ticket_waits_for_a_period_that_begins_after_it() {
        let mut grace = Grace::default();
        let first = grace.ticket();
        assert_eq!(first, grace.ticket(), "nothing has begun yet");
        grace.go_on().unwrap();
        let second = grace.ticket();
        assert!(second > first, "one runs already");
        settle(&mut grace, first);
        assert!(!grace.has_passed(second) || grace.over >= 2);
        settle(&mut grace, second);
        assert_eq!(grace.over, 2);
        grace.go_on().unwrap();
        assert!(grace.running.is_none(), "nobody waits");
    }
}
