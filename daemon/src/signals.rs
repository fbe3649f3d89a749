//! SIGINT and SIGTERM: the first ends the work in order, a second one ends the process at once.

use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
    low_level::signal_name,
};

/// Exit status of a process that a second signal ends. The kernel then detaches what it attached.
const CUT_SHORT: i32 = 1;

/// From now on the first signal to end runs `end`, once, on a thread of its own.
///
/// # Errors
/// When a handler or the thread is refused.
pub fn on_end(end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let ending = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: only a second signal finds the flag that the first one set.
        flag::register_conditional_shutdown(signal, CUT_SHORT, Arc::clone(&ending))?;
        flag::register(signal, Arc::clone(&ending))?;
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            let signal = signal_name(signal).unwrap_or("a signal");
            tracing::debug!(signal, "asked to end");
            end();
        }
    };
    thread::Builder::new().name("signals".into()).spawn(wait)?;
    Ok(())
}
