//! `cargo xtask`: everything a person or CI runs. A table of contents: parse, dispatch, status.

use std::process::ExitCode;

use clap::Parser as _;
use xtask::artifacts::{self, Profile};
use xtask::cli::{BenchKind, Cli, Command, KernelsAction};
use xtask::{bench, demo, kernels, setup, test, vendor, vm};

/// Exit status for a command line that makes no sense (EX_USAGE of sysexits.h).
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; what cannot be printed is lost anyhow.
            let _printed = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    match run(cli.command) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Setup => setup::run().map(|()| 0),
        Command::Build(build) => artifacts::run(if build.release {
            Profile::Release
        } else {
            Profile::Guest
        })
        .map(|()| 0),
        Command::Kernels(kernels) => match kernels.action.unwrap_or(KernelsAction::List) {
            KernelsAction::List => kernels::list().map(|()| 0),
            KernelsAction::Fetch { names } => kernels::fetch_named(&names).map(|()| 0),
        },
        Command::Vm(arguments) => vm::command::run(arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Docs => test::exactness::write_readme().map(|()| 0),
        Command::Vendor => vendor::run().map(|()| 0),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Bench(bench) => match bench.what {
            BenchKind::Overhead(arguments) => bench::overhead::run(&arguments).map(|()| 0),
        },
    }
}
