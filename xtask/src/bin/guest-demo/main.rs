//! The demo's supervisor in a guest.
fn main() {}
