//! `cargo xtask demo`: a real storm in a real kernel, watched live.
//!
//! A supervisor runs the daemon and drills in cycles (in a guest, or here); we read its lines,
//! scrape the daemon once a second, and show what the metrics say, nothing else.

mod exposition;
mod histogram;
pub mod http;
mod maps;
pub mod phase;
mod screen;
mod stage;
mod summary;
mod text;
mod verdict;
mod view;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::artifacts::{self, Profile};
use crate::setup::{self, Purpose};
use crate::{cli, interrupt, kernels};
use exposition::Exposition;
use phase::Phase;
pub(crate) use stage::{Said, Stage};
use verdict::Watch;
use view::View;

/// How often the daemon is scraped.
const SCRAPE_EVERY: Duration = Duration::from_secs(1);

/// How long after a drill a storm may take to clear before the verdict is that it did not. The
/// detector needs two windows of a quarter second; emulation and a busy host need patience.
const CLEARED_WITHIN: Duration = Duration::from_secs(20);

/// Runs the demo and returns the exit status.
///
/// # Errors
/// The port is taken, something cannot be built, or the guest or the daemon fails.
pub fn run(arguments: &cli::Demo) -> Result<u8> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    drop(TcpListener::bind(address).with_context(|| {
        format!("{address} cannot be used for the metrics: choose another port with --port")
    })?);
    let wanted = if arguments.host {
        &[Purpose::Bpf][..]
    } else {
        &[Purpose::Bpf, Purpose::Guests]
    };
    setup::ensure(wanted)?;
    eprintln!("demo: building");
    let binaries = artifacts::build_binaries(Profile::Guest)?;
    let cycles = if arguments.once {
        Some(1)
    } else {
        arguments.cycles
    };
    let wishes = wishes(cycles, arguments.once);
    let (stage, place) = if arguments.host {
        (
            Stage::host(&binaries, arguments.port, &wishes)?,
            "this machine".to_owned(),
        )
    } else {
        let kernel = kernels::resolve(&arguments.kernel)?;
        let place = format!("Linux {} in a guest", kernel.release);
        (
            Stage::guest(kernel, &binaries, arguments.port, &wishes)?,
            place,
        )
    };
    let title = format!("mapstorm on {place}   http://{address}/metrics   Ctrl-C ends");
    let mut play = Play {
        stage,
        address,
        view: View::new(title),
        watch: Watch::default(),
    };
    let outcome = play.run(arguments.once);
    play.view.close();
    match outcome {
        // Ctrl-C is how a demo without an end is meant to end.
        Err(_) if interrupt::requested() && !arguments.once => Ok(0),
        Err(error) => Err(error),
        Ok(()) if arguments.once => {
            println!("{}", play.watch.words());
            Ok(u8::from(!play.watch.is_cleared()))
        }
        Ok(()) => Ok(0),
    }
}

/// What the supervisor is told. For a verdict it must outlive the storm: we end it.
fn wishes(cycles: Option<u32>, once: bool) -> Vec<String> {
    let mut wishes = Vec::new();
    if let Some(cycles) = cycles {
        wishes.extend(["--cycles".to_owned(), cycles.to_string()]);
    }
    if once {
        let pause = CLEARED_WITHIN + Duration::from_secs(60);
        wishes.extend(["--pause".to_owned(), pause.as_secs().to_string()]);
    }
    wishes
}

/// A demo that runs.
struct Play {
    stage: Stage,
    address: SocketAddr,
    view: View,
    watch: Watch,
}

impl Play {
    /// Shows what happens until the supervisor ends or, when it is about a verdict, until there
    /// is one.
    fn run(&mut self, once: bool) -> Result<()> {
        let mut ready = false;
        let mut drill_over: Option<Instant> = None;
        let mut next_scrape = Instant::now();
        loop {
            let patience = next_scrape.saturating_duration_since(Instant::now());
            match self.stage.next(patience)? {
                Said::Line(line) => {
                    let phase = Phase::parse(&line);
                    ready |= phase.is_some();
                    if let Some(Phase::DrillEnds(_)) = phase {
                        drill_over.get_or_insert_with(Instant::now);
                    }
                    self.view.hear(&line, phase);
                }
                Said::Nothing => {}
                Said::Ended(0) => return Ok(()),
                Said::Ended(status) => {
                    bail!("the demo ended with status {status}\n{}", self.view.tail());
                }
            }
            if Instant::now() >= next_scrape {
                next_scrape = Instant::now() + SCRAPE_EVERY;
                self.scrape(ready);
                let over = drill_over
                    .is_some_and(|over| self.watch.is_cleared() || over.elapsed() > CLEARED_WITHIN);
                if once && over {
                    return Ok(());
                }
            }
        }
    }

    /// Scrapes once. A daemon that is not ready yet need not answer.
    fn scrape(&mut self, ready: bool) {
        if !ready {
            self.view.draw();
            return;
        }
        match http::get(self.address, "/metrics").and_then(|text| Exposition::parse(&text)) {
            Ok(scrape) => {
                self.watch.see(&scrape);
                self.view.see(scrape);
            }
            Err(error) => self.view.note(&format!("{error:#}")),
        }
        self.view.draw();
    }
}
