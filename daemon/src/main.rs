//! mapstorm
fn main() {}
