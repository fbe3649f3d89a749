//! Waiting for events. Nothing fails for being slow: emulated kernels on busy hosts are. The guard
//! only ends what would hang.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

/// What takes longer than this has hung.
pub(crate) const GUARD: Duration = Duration::from_secs(300);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks until there is an answer.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = look()? {
            return Ok(answer);
        }
        if start.elapsed() > GUARD {
            bail!("waited {} s in vain for {what}", GUARD.as_secs());
        }
        thread::sleep(PAUSE);
    }
}
