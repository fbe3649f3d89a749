//! A daemon's log as it comes: JSON lines on its standard error.

use std::{
    io::{BufRead as _, BufReader, Read},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use anyhow::{Result, bail};
use serde_json::Value;

use super::wait::GUARD;

/// Everything a process has logged so far, and a way to wait for more.
#[derive(Clone, Default)]
pub(crate) struct Log {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    lines: Vec<Value>,
    ended: bool,
}

impl Log {
    /// Reads `stream` to its end on a thread of its own. A line that is no JSON becomes a string.
    pub(crate) fn follow(stream: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let writer = log.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                writer.change(|state| state.lines.push(value));
            }
            writer.change(|state| state.ended = true);
        });
        log
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.lock().lines.clone()
    }

    /// Waits for a line; one that is there already is fine.
    pub(crate) fn wait(&self, what: &str, matches: impl Fn(&Value) -> bool) -> Result<Value> {
        let start = Instant::now();
        let (_, changed) = &*self.shared;
        let mut state = self.lock();
        let mut looked_at = 0;
        loop {
            if let Some(line) = state.lines[looked_at..].iter().find(|line| matches(line)) {
                return Ok(line.clone());
            }
            looked_at = state.lines.len();
            let patience = GUARD.saturating_sub(start.elapsed());
            if state.ended || patience.is_zero() {
                let why = if state.ended { "it ended" } else { "in vain" };
                bail!("waited for {what}, {why}; it said: {}", tail(&state.lines));
            }
            let woken = changed.wait_timeout(state, patience);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the process has closed its end, and returns all it said.
    pub(crate) fn rest(&self) -> Vec<Value> {
        let (_, changed) = &*self.shared;
        let state = changed.wait_timeout_while(self.lock(), GUARD, |state| !state.ended);
        let state = state.unwrap_or_else(PoisonError::into_inner).0;
        state.lines.clone()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.shared.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last lines that are no routine.
pub(crate) fn tail(lines: &[Value]) -> String {
    let told = lines.iter().filter(|line| line["message"] != "sampled");
    let told: Vec<_> = told.map(Value::to_string).collect();
    told[told.len().saturating_sub(8)..].join("; ")
}
