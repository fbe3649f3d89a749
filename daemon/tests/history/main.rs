//! Storms on disk: what comes back after a restart, a kill, a full house and a damaged file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../by_hand/mod.rs"]
mod by_hand;
mod disk;
mod kills;
mod restart;
mod strange;
mod tools;
