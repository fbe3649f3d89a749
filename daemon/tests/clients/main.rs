//! mapstorm as a client: it notifies receivers of alerts, and its commands ask a daemon.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../by_hand/mod.rs"]
mod by_hand;
mod command;
mod maps;
mod notify;
mod server;
mod tmux;
mod top;
