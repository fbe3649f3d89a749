//! What this host and its kernel are, read once at start.
//!
//! Parsers are pure; effects are at the rim: each reader takes the path or root it reads from, so
//! that a test reads fixtures.

pub mod btf;
