//! What the kernel said while the suite ran. Last in every suite.

use anyhow::{Result, ensure};

use crate::tools::guest::Guest;

/// Words of a kernel in trouble.
const TROUBLE: [&str; 6] = [
    "BUG",
    "WARNING",
    "Oops",
    "scheduling while atomic",
    "general protection",
    "possible circular locking",
];

/// An emulated processor that its host does not run for seconds.
const SLOW_HOST: &str = "soft lockup";

/// What the verifier says before its warning, once, up to 6.1: the workload's own program updates a
/// map that allocates as it goes. The daemon's programs use no such map.
const RUN_TIME_ALLOCATION: &str = "trace type BPF program uses run-time allocation";

pub(crate) fn o38_kernel_log_clean(guest: &Guest) -> Result<()> {
    let news = guest.log.news()?;
    let mut trouble = Vec::new();
    let mut before = "";
    for message in &news {
        let is_trouble = TROUBLE.iter().any(|word| message.contains(word));
        if is_trouble && !message.contains(SLOW_HOST) && !before.contains(RUN_TIME_ALLOCATION) {
            trouble.push(format!("{before}: {message}"));
        }
        before = message;
    }
    ensure!(trouble.is_empty(), "the kernel said: {trouble:?}");
    Ok(())
}

pub(crate) fn o27_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}

pub(crate) fn o34_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}

pub(crate) fn o04_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}

pub(crate) fn o37_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}

pub(crate) fn o10_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}

pub(crate) fn o28_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}
