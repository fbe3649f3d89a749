//! Measurements of our own cost. Numbers only: what they mean is said where they are quoted.

pub mod overhead;
