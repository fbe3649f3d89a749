//! What the cases are made of: the guest, its daemon, work of which everything is known, and the
//! comparison of both.

pub(crate) mod bench;
pub(crate) mod bpf;
pub(crate) mod check;
pub(crate) mod child;
pub(crate) mod daemon;
pub(crate) mod guest;
pub(crate) mod http;
pub(crate) mod identity;
pub(crate) mod kernel_log;
pub(crate) mod kinds;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod maps;
pub(crate) mod objects;
pub(crate) mod scrape;
pub(crate) mod storage;
pub(crate) mod suite;
pub(crate) mod tiny;
pub(crate) mod wait;
