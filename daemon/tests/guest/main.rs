//! The guest suite: the real daemon on a real kernel, as root in a machine that nobody else uses.
//!
//! `cargo xtask test` boots the guests and reads what is printed here. The tools drive `mapstorm` as
//! a child process and know what is true; the cases compare.

mod cases;
#[path = "../text_format/mod.rs"]
mod text_format;
mod tools;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use tools::{guest::Guest, suite};

/// What the host asks for.
struct Arguments {
    mapstorm: String,
    suite: String,
    filter: String,
    /// Only name the tests, one a line; this runs on any machine.
    list: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("guest-suite: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the suite that was asked for. Did all of it hold?
fn run() -> Result<bool> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let tests = cases::suite(&arguments.suite)
        .with_context(|| format!("there is no suite {}", arguments.suite))?;
    if arguments.list {
        suite::list(tests, &arguments.filter);
        return Ok(true);
    }
    if arguments.mapstorm.is_empty() {
        bail!("--mapstorm: the program to test is missing");
    }
    let guest = Guest::new(&arguments.mapstorm)?;
    Ok(suite::run(tests, &arguments.filter, &guest))
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = Self {
            mapstorm: String::new(),
            suite: "default".to_owned(),
            filter: String::new(),
            list: false,
        };
        while let Some(flag) = words.next() {
            if flag == "--list" {
                arguments.list = true;
                continue;
            }
            let value = words.next().with_context(|| format!("{flag}: no value"))?;
            match flag.as_str() {
                "--mapstorm" => arguments.mapstorm = value,
                "--suite" => arguments.suite = value,
                "--filter" => arguments.filter = value,
                _ => bail!("{flag}: expected --mapstorm, --suite, --filter or --list"),
            }
        }
        Ok(arguments)
    }
}
