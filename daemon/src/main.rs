//! `mapstorm`: parse, log, dispatch, exit status.

use std::{
    fs,
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::{Context as _, Result};
use mapstorm::{
    bench::{self, BenchError},
    cli,
    config::{Command, Invocation, ManConfig, TopConfig, TopForm},
    doctor, drill, logging,
    maps::{self, MapsError},
    serve::{self, ServeError},
    terminal, top,
};

/// Exit status when something went wrong.
const FAILED: u8 = 1;
/// Exit status when nothing can be observed here.
const BLIND: u8 = 2;

fn main() -> ExitCode {
    let Invocation { log, command } = match cli::parse() {
        Ok(invocation) => invocation,
        Err(exit) => return exit.report(),
    };
    let result = logging::init(log).context("setting up the log");
    match result.and_then(|()| run(command)) {
        Ok(status) => status.into(),
        Err(error) => {
            eprintln!("error: {}", in_words(&error));
            status_of(&error).into()
        }
    }
}

fn run(command: Command) -> Result<u8> {
    match command {
        Command::Serve(config) => {
            serve::run(&config)?;
            Ok(0)
        }
        Command::Doctor(config) => {
            let report = doctor::Report::make(config.no_trampolines)?;
            print(config.json, &report, doctor::Report::text)?;
            Ok(if report.observable { 0 } else { BLIND })
        }
        Command::Drill(config) => {
            let report = drill::run(&config)?;
            print(config.json, &report, drill::Report::to_string)?;
            Ok(0)
        }
        Command::Bench(config) => {
            let report = bench::run(&config)?;
            print(config.json, &report, bench::Report::to_string)?;
            Ok(0)
        }
        Command::Compare(config) => {
            let comparison = bench::compare(&config)?;
            print(config.json, &comparison, bench::Comparison::to_string)?;
            Ok(if comparison.failed { FAILED } else { 0 })
        }
        Command::Maps(config) => {
            let list = maps::list(&config)?;
            print(config.json, &list, |list| {
                maps::text(list, terminal::colours())
            })?;
            Ok(0)
        }
        Command::Top(config) => top(&config).map(|()| 0),
        Command::Completions(script) => write(&script).map(|()| 0),
        Command::Man(config) => write_pages(&config).map(|()| 0),
    }
}

fn top(config: &TopConfig) -> Result<()> {
    match config.form {
        TopForm::Screen => Ok(top::run(config)?),
        TopForm::Text => write(&top::text(config)?),
        TopForm::Json => print(true, &top::reading(config)?, |_| String::new()),
    }
}

/// Writes man pages and says where each is.
fn write_pages(config: &ManConfig) -> Result<()> {
    let directory = &config.directory;
    fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
    for (name, text) in &config.pages {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        write(&format!("{}\n", path.display()))?;
    }
    Ok(())
}

/// An error and its causes in one line; most of ours tell their cause themselves.
fn in_words(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |text, cause| {
        let cause = cause.to_string();
        match text {
            text if text.is_empty() => cause,
            text if text.contains(&cause) => text,
            text => format!("{text}: {cause}"),
        }
    })
}

fn status_of(error: &anyhow::Error) -> u8 {
    let serve_is_blind = matches!(error.downcast_ref(), Some(ServeError::Blind(_)));
    let bench_is_blind = matches!(error.downcast_ref(), Some(BenchError::Blind(_)));
    let maps_are_blind = matches!(error.downcast_ref(), Some(MapsError::Blind(_)));
    if serve_is_blind || maps_are_blind || bench_is_blind {
        BLIND
    } else {
        FAILED
    }
}

/// Prints data as JSON or as text.
fn print<T: serde::Serialize>(json: bool, data: &T, text: fn(&T) -> String) -> Result<()> {
    if json {
        let json = serde_json::to_string_pretty(data).context("writing JSON")?;
        write(&format!("{json}\n"))
    } else {
        write(&text(data))
    }
}

/// Writes to standard output. A reader that has had enough is no failure.
fn write(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("writing to standard output")
        }
        _ => Ok(()),
    }
}
