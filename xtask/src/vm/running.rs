//! A guest that runs: its lines as they come, its end, and the watch over its silence.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::protocol::{Report, Token};
use super::qemu;
use crate::{interrupt, process};

/// A guest that says nothing for so long is taken for dead. Emulated kernels are slow, and a busy
/// host makes them slower: only silence counts, never the total.
const SILENCE: Duration = Duration::from_secs(600);

/// How long a guest may take to power off after its command has ended.
const FAREWELL: Duration = Duration::from_secs(10);

/// How often a guest is started that dies before its first process runs. Code that the kernel
/// patches while another processor runs it is sometimes seen half patched under emulation: 7.3
/// panics in one boot of some ten.
const BOOTS: u32 = 3;

/// How many of the last lines an error shows: a panic with its registers and its trace.
const TAIL: usize = 60;

/// A line from a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The command wrote it.
    Command(String),
    /// The kernel, the guest's init or QEMU itself wrote it.
    Console(String),
}

/// How a command in a guest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

impl Ending {
    /// The status as a shell would give it.
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
        }
    }
}

/// What happened while we waited.
#[derive(Debug)]
pub enum Event {
    /// A line came.
    Line(Line),
    /// Nothing came in the time given.
    Quiet,
    /// The command ended; the guest powers off.
    Ended(Ending),
}

/// A guest and the threads that read from it. Dropping it ends QEMU.
pub struct Running {
    command: Command,
    boots: u32,
    qemu: Child,
    lines: Receiver<Line>,
    token: Token,
    initramfs: PathBuf,
    log: Option<File>,
    started: Instant,
    heard: Instant,
    booted: bool,
    tail: Vec<String>,
}

impl Running {
    /// Starts QEMU, whose `command` pipes both output streams.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn start(
        mut command: Command,
        token: Token,
        initramfs: PathBuf,
        log: Option<File>,
    ) -> Result<Self> {
        let (qemu, lines) = spawn(&mut command)?;
        let now = Instant::now();
        let tail = Vec::new();
        Ok(Self {
            command,
            boots: 1,
            qemu,
            lines,
            token,
            initramfs,
            log,
            started: now,
            heard: now,
            booted: false,
            tail,
        })
    }

    /// Waits up to `patience` for the guest to say something.
    ///
    /// # Errors
    /// The guest ended without saying how its command did, could not run it, has been silent for
    /// too long, or somebody asked us to end. The error shows the last lines of the console.
    pub fn next(&mut self, patience: Duration) -> Result<Event> {
        let deadline = Instant::now() + patience;
        loop {
            // Short waits: a signal must be answered soon.
            let wait = deadline.saturating_duration_since(Instant::now());
            let received = self
                .lines
                .recv_timeout(wait.min(Duration::from_millis(100)));
            // Before all else: the signal may have ended QEMU, too.
            if interrupt::requested() {
                bail!("interrupted");
            }
            match received {
                Ok(line) => {
                    self.heard = Instant::now();
                    if let Some(event) = self.sort(line)? {
                        return Ok(event);
                    }
                }
                Err(RecvTimeoutError::Disconnected) if !self.booted && self.boots < BOOTS => {
                    self.boot_again()?;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.died()),
                Err(RecvTimeoutError::Timeout) if self.heard.elapsed() > SILENCE => {
                    let minutes = SILENCE.as_secs() / 60;
                    bail!(
                        "the guest said nothing for {minutes} minutes\n{}",
                        self.last_words()
                    );
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                    return Ok(Event::Quiet);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Starts over a guest that died before its first process ran.
    fn boot_again(&mut self) -> Result<()> {
        // It has closed both of its streams, so it ends by itself.
        let status = self.qemu.wait().context("cannot wait for QEMU")?;
        self.boots += 1;
        let text = format!("QEMU ended before the guest had booted ({status}): once more");
        self.remember(&Line::Console(text))?;
        (self.qemu, self.lines) = spawn(&mut self.command)?;
        self.heard = Instant::now();
        Ok(())
    }

    /// Tells reports from output.
    fn sort(&mut self, line: Line) -> Result<Option<Event>> {
        if let Line::Command(text) = &line {
            match Report::parse(text, &self.token) {
                None => {}
                Some(Report::Started) => {
                    self.booted = true;
                    return Ok(None);
                }
                Some(Report::Exited(code)) => return Ok(Some(self.ended(Ending::Exited(code)))),
                Some(Report::Signalled(signal)) => {
                    return Ok(Some(self.ended(Ending::Signalled(signal))));
                }
                Some(Report::Failed(reason)) => bail!("in the guest: {reason}"),
            }
        }
        self.remember(&line)?;
        Ok(Some(Event::Line(line)))
    }

    /// Keeps the line for the log and for an error.
    fn remember(&mut self, line: &Line) -> Result<()> {
        let (from, text) = match line {
            Line::Command(text) => ("command", text),
            Line::Console(text) => ("console", text),
        };
        if let Some(log) = &mut self.log {
            let time = self.started.elapsed().as_secs_f64();
            writeln!(log, "{time:9.3} {from} {text}").context("cannot write the guest's log")?;
        }
        if self.tail.len() == TAIL {
            self.tail.remove(0);
        }
        self.tail.push(format!("  {from} | {text}"));
        Ok(())
    }

    /// Lets the guest power off; it has nothing more to say that matters.
    fn ended(&mut self, ending: Ending) -> Event {
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline && matches!(self.qemu.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(10));
        }
        Event::Ended(ending)
    }

    /// The error for a QEMU that is gone.
    fn died(&mut self) -> anyhow::Error {
        let status = self
            .qemu
            .wait()
            .map(|status: ExitStatus| status.to_string());
        let status = status.unwrap_or_else(|error| error.to_string());
        let what = if self.booted {
            "died before its command ended"
        } else {
            "did not boot"
        };
        anyhow::anyhow!("the guest {what} (QEMU: {status})\n{}", self.last_words())
    }

    fn last_words(&self) -> String {
        if self.tail.is_empty() {
            return "  (its console is empty)".into();
        }
        self.tail.join("\n")
    }
}

/// Starts QEMU and the threads that read from it.
fn spawn(command: &mut Command) -> Result<(Child, Receiver<Line>)> {
    let mut qemu = command
        .spawn()
        .with_context(|| format!("cannot start {}", qemu::PROGRAM))?;
    let (sender, lines) = channel();
    if let Some(stream) = qemu.stdout.take() {
        process::forward(stream, Line::Command, sender.clone());
    }
    if let Some(stream) = qemu.stderr.take() {
        process::forward(stream, Line::Console, sender);
    }
    Ok((qemu, lines))
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when QEMU is gone already.
        let _gone = self.qemu.kill();
        let _reaped = self.qemu.wait();
        let _removed = std::fs::remove_file(&self.initramfs);
    }
}
