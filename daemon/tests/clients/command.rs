//! The binary, run as people run it.

use std::process::{Command, Output};

/// The binary.
pub(crate) const MAPSTORM: &str = env!("CARGO_BIN_EXE_mapstorm");

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `mapstorm` with these words and to its end, outside of a terminal.
pub(crate) fn mapstorm(words: &[&str]) -> Ran {
    let mut command = Command::new(MAPSTORM);
    for variable in ["MAPSTORM_URL", "NO_COLOR"] {
        command.env_remove(variable);
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command.args(words).output().unwrap();
    Ran {
        status: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}
