//! What the drill and the benches share with their programs.
