//! The command line: flags and environment into [`crate::config`]. The only user of clap.

mod args;
mod ask;
mod bench;
mod man;
mod settings;
mod values;

#[cfg(test)]
mod tests;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, Parser};

use crate::config::{Command, Invocation};
use args::{Args, Subcommand};

/// Exit status of a command line that makes no sense (`EX_USAGE` of sysexits).
pub const USAGE: u8 = 64;

/// Nothing to run: help or the version was asked for, or the command line makes no sense.
#[derive(Debug)]
pub struct Exit(clap::Error);

impl Exit {
    /// 0 where an answer was asked for, else [`USAGE`].
    pub fn status(&self) -> u8 {
        if self.0.use_stderr() { USAGE } else { 0 }
    }

    /// Prints the answer to standard output, or the error to standard error.
    pub fn report(self) -> ExitCode {
        // Nobody is left to tell when even this cannot be written.
        let _ = self.0.print();
        self.status().into()
    }
}

/// Reads this process's command line and environment.
pub fn parse() -> Result<Invocation, Exit> {
    parse_from(std::env::args_os())
}

/// Reads a command line, the program's name first, and this process's environment.
pub fn parse_from(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Invocation, Exit> {
    let args = Args::try_parse_from(args).map_err(Exit)?;
    let command = match args.command {
        Subcommand::Serve(serve) => Command::Serve(Box::new((*serve).into())),
        Subcommand::Doctor(doctor) => Command::Doctor(doctor.into()),
        Subcommand::Maps(maps) => Command::Maps(maps.into()),
        Subcommand::Top(top) => Command::Top(top.into()),
        Subcommand::Drill(drill) => Command::Drill(drill.into()),
        Subcommand::Bench(bench) => bench.into(),
        Subcommand::Man(args) => Command::Man(args.with(man::pages())),
        Subcommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "mapstorm", &mut script);
            Command::Completions(String::from_utf8_lossy(&script).into_owned())
        }
    };
    let log = args.log.into();
    Ok(Invocation { log, command })
}
