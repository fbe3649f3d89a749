//! `mapstorm serve` as a child process: started, scraped, and ended.

use std::{
    net::SocketAddr,
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use super::{
    guest::Guest,
    http::{self, Answer},
    log::{Log, tail},
    scrape::Scrape,
    wait,
};

/// A window that keeps tests short.
pub(crate) const QUICK: Duration = Duration::from_millis(100);
/// How long the daemon may keep what takes system calls to read, the misses among it.
const SLOW_READS: Duration = Duration::from_secs(1);

/// A daemon that counts. It is killed when dropped.
pub(crate) struct Daemon {
    /// What it logs, at level debug.
    pub(crate) log: Log,
    child: Child,
    address: SocketAddr,
    interval: Duration,
}

/// How a daemon ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// All it logged.
    pub(crate) lines: Vec<Value>,
}

impl Daemon {
    /// Starts `serve` with short windows and more flags, and waits until it is ready.
    pub(crate) fn start(guest: &Guest, flags: &[&str]) -> Result<Self> {
        Self::launch(guest.mapstorm([""; 0]), QUICK, flags)
    }

    /// Starts `serve` from a command of choice.
    pub(crate) fn launch(mut command: Command, interval: Duration, flags: &[&str]) -> Result<Self> {
        command
            .args(["--log.format", "json", "--log.level", "debug", "serve"])
            .args(["--web.listen-address", "127.0.0.1:0", "--sample-interval"])
            .arg(format!("{}ms", interval.as_millis()))
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start the daemon")?;
        let stderr = child.stderr.take().context("no standard error")?;
        let mut daemon = Self {
            log: Log::follow(stderr),
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            interval,
        };
        let is_ready = |line: &Value| line["message"] == "ready";
        let ready = daemon.log.wait("the daemon to be ready", is_ready)?;
        let address = ready["addresses"].as_str().unwrap_or_default();
        let address = address.strip_prefix("http://").unwrap_or_default();
        daemon.address = address
            .parse()
            .with_context(|| format!("no address in {ready}"))?;
        wait::until("/-/ready", || {
            Ok((daemon.get("/-/ready")?.status == 200).then_some(()))
        })?;
        Ok(daemon)
    }

    /// What it serves at `path`.
    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        http::get(self.address, path).with_context(|| {
            let said = tail(&self.log.lines());
            format!("the daemon said: {said}")
        })
    }

    /// Its metrics as they are now.
    pub(crate) fn scrape(&self) -> Result<Scrape> {
        // A rendering that an emulated host had no time for: the server has given up on it.
        let answer = wait::until("/metrics in time", || {
            let answer = self.get("/metrics")?;
            Ok((answer.status != 503).then_some(answer))
        })?;
        let (status, said) = (answer.status, answer.body.lines().next());
        ensure!(status == 200, "/metrics: status {status}: {said:?}");
        Scrape::parse(&answer.body)
    }

    /// Metrics that know all that had happened when this was called: the window that was open then
    /// has ended, and what is read less often has been read since.
    pub(crate) fn settled(&self) -> Result<Scrape> {
        let slow = SLOW_READS.div_duration_f64(self.interval).ceil() as u64;
        self.windows_later(2 + slow + 1)
    }

    /// The metrics so many windows from now.
    pub(crate) fn windows_later(&self, windows: u64) -> Result<Scrape> {
        let first = self.scrape()?.windows()?;
        wait::until("sample windows", || {
            let scrape = self.scrape()?;
            let passed = scrape.windows()? >= first + windows;
            Ok(passed.then_some(scrape))
        })
    }

    /// Sends a signal that does not end it.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        kill(self.pid()?, signal).with_context(|| format!("cannot send {signal}"))
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end(mut self, signal: Signal) -> Result<Ended> {
        kill(self.pid()?, signal).with_context(|| format!("cannot send {signal}"))?;
        let status = wait::until("the daemon to end", || Ok(self.child.try_wait()?))?;
        Ok(Ended {
            status,
            lines: self.log.rest(),
        })
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Result<Pid> {
        Ok(Pid::from_raw(self.child.id().try_into()?))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail only when it has ended and was waited for.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Ended {
    /// Fails unless the daemon ended in order, with status 0.
    pub(crate) fn in_order(&self) -> Result<()> {
        if self.status.success() {
            return Ok(());
        }
        let said = tail(&self.lines);
        match self.status.signal() {
            Some(signal) => bail!("signal {signal} ended the daemon; it said: {said}"),
            None => bail!("the daemon ended with {}; it said: {said}", self.status),
        }
    }
}
