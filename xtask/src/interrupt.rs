//! Ctrl-C and SIGTERM: a guest must not outlive us, a demo must end with a word.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on these signals only set a flag, which [`requested`] reads; a second one ends us.
///
/// # Errors
/// The kernel refuses a handler.
pub fn catch() -> Result<()> {
    let mut first = false;
    let flag = REQUESTED.get_or_init(|| {
        first = true;
        Arc::default()
    });
    if first {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(flag))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(flag)))
                .context("cannot catch signals")?;
        }
    }
    Ok(())
}

/// Whether somebody asked us to end.
pub fn requested() -> bool {
    REQUESTED
        .get()
        .is_some_and(|flag| flag.load(Ordering::Relaxed))
}
