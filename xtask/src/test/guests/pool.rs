//! Several guests at once: as many as there are processors, since an emulated machine runs on one.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does `work` on each of `tasks`, `jobs` of them at a time, in their order; the results are in
/// that order too, whichever ended first. A task runs on one thread from start to end.
pub(super) fn run<T: Sync, R: Send>(
    jobs: usize,
    tasks: &[T],
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let take = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(at) else { return };
            let result = work(at, task);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, tasks.len().max(1)) {
            scope.spawn(take);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Where one guest's lines go: whole, each with the guest's name before it.
pub(super) struct Voice {
    name: String,
}

impl Voice {
    /// The voice of `name`, in a column `wide` characters wide.
    pub(super) fn new(name: &str, wide: usize) -> Self {
        Self {
            name: format!("{name:wide$}"),
        }
    }

    /// Says `text`, which may have several lines, in one piece.
    pub(super) fn say(&self, text: impl fmt::Display) {
        println!("{}", self.lines(&text.to_string()));
    }

    fn lines(&self, text: &str) -> String {
        let lines = text.lines().map(|line| format!("{} │ {line}", self.name));
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_tasks_whichever_ends_first() {
        // The first task ends only after the second has begun: both run at once.
        let both = Barrier::new(2);
        let work = |at: usize, task: &char| {
            if at < 2 {
                both.wait();
            }
            format!("{at}{task}")
        };
        assert_eq!(run(2, &['a', 'b', 'c'], work), ["0a", "1b", "2c"]);
        assert_eq!(run(0, &['a'], |_, task| *task), ['a']);
        assert_eq!(run(3, &[], |_, task: &char| *task), []);
    }

    #[test]
    fn every_line_says_whose_it_is() {
        let voice = Voice::new("6.1 default", 13);
        assert_eq!(
            voice.lines("two\nlines"),
            "6.1 default   │ two\n6.1 default   │ lines"
        );
    }
}
