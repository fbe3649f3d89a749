//! Runs the daemon and, while it lives, drills in cycles; says each step on standard output.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use xtask::demo::http;
use xtask::demo::phase::Phase;
use xtask::interrupt;

/// How long the daemon may take to be ready, emulated and on a busy host.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// How long the daemon may take to end.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Runs the daemon and drills in cycles.
#[derive(Debug, Parser)]
struct Arguments {
    /// The mapstorm program
    mapstorm: PathBuf,
    /// Where the daemon listens
    listen: SocketAddr,
    /// End after this many drills
    #[arg(long)]
    cycles: Option<u32>,
    /// Length of a drill in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Rest after each drill in seconds
    #[arg(long, default_value_t = 5)]
    pause: u64,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    interrupt::catch()?;
    let mut daemon = Daemon::start(arguments)?;
    daemon.wait_until_ready(arguments.listen.port())?;
    println!("{}", Phase::Ready);
    for number in 1..=arguments.cycles.unwrap_or(u32::MAX) {
        // A calm moment before the drill, so that a first scrape has something to compare with.
        rest(&mut daemon, Duration::from_secs(3))?;
        println!("{}", Phase::DrillStarts(number));
        drill(arguments)?;
        println!("{}", Phase::DrillEnds(number));
        rest(&mut daemon, Duration::from_secs(arguments.pause))?;
    }
    Ok(())
}

/// One drill to its end.
fn drill(arguments: &Arguments) -> Result<()> {
    let mut command = said_by_us(&arguments.mapstorm)?;
    command.args(["drill", "full", "--seconds", &arguments.seconds.to_string()]);
    let status = command.status().context("cannot start the drill")?;
    if !status.success() {
        bail!("the drill failed: {status}");
    }
    Ok(())
}

/// Waits, and fails as soon as the daemon is gone or somebody asks us to end.
fn rest(daemon: &mut Daemon, time: Duration) -> Result<()> {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        daemon.check()?;
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// `program` with our standard output for both of its streams, so that lines keep their order.
fn said_by_us(program: &PathBuf) -> Result<Command> {
    use std::os::fd::AsFd as _;
    let stdout = std::io::stdout()
        .as_fd()
        .try_clone_to_owned()
        .context("no standard output")?;
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stderr(stdout);
    Ok(command)
}

/// The daemon as our child. Dropping it ends it.
struct Daemon {
    child: Child,
}

impl Daemon {
    fn start(arguments: &Arguments) -> Result<Self> {
        let mut command = said_by_us(&arguments.mapstorm)?;
        command.args([
            "serve",
            "--web.listen-address",
            &arguments.listen.to_string(),
        ]);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", arguments.mapstorm.display()))?;
        Ok(Self { child })
    }

    /// Fails when the daemon has ended, or when we should.
    fn check(&mut self) -> Result<()> {
        if interrupt::requested() {
            bail!("interrupted");
        }
        match self
            .child
            .try_wait()
            .context("cannot wait for the daemon")?
        {
            None => Ok(()),
            Some(status) => bail!("the daemon ended: {status}"),
        }
    }

    fn wait_until_ready(&mut self, port: u16) -> Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            self.check()?;
            match http::get(address, "/-/ready") {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    return Err(error.context("the daemon does not become ready"));
                }
                Err(_) => thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let (Ok(None), Ok(id)) = (self.child.try_wait(), i32::try_from(self.child.id())) {
            // It fails only when the daemon is gone already.
            let _gone = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        let deadline = Instant::now() + GONE_WITHIN;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _gone = self.child.kill();
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}
