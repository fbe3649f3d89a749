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

/// Words of messages that say nothing about us.
const INNOCENT: [&str; 2] = [
    // An emulated processor that its host does not run for seconds.
    "soft lockup",
    // Up to 6.0, once: the workload's own program uses a map without preallocation.
    "check_map_prog_compatibility",
];

pub(crate) fn o38_kernel_log_clean(guest: &Guest) -> Result<()> {
    let news = guest.log.news()?;
    let trouble = news.iter().filter(|message| {
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        has(&TROUBLE) && !has(&INNOCENT)
    });
    let trouble: Vec<_> = trouble.collect();
    ensure!(trouble.is_empty(), "the kernel said: {trouble:?}");
    Ok(())
}

pub(crate) fn o27_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}

pub(crate) fn o04_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}

pub(crate) fn o37_kernel_log_clean(guest: &Guest) -> Result<()> {
    o38_kernel_log_clean(guest)
}
