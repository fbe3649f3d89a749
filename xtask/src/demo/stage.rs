//! Where the demo plays: a guest, or this machine. Either way a supervisor talks to us in lines.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::artifacts::Binaries;
use crate::kernels::Kernel;
use crate::vm::{Event, Forward, Guest, GuestFile, Line, Running};
use crate::{interrupt, paths, process};

/// The daemon's port, on the host as in a guest.
const DAEMON_PORT: u16 = 10061;

/// What a stage says.
pub(crate) enum Said {
    /// A line of supervisor, daemon or drill.
    Line(String),
    /// Nothing, for as long as was asked.
    Nothing,
    /// The supervisor ended with this status.
    Ended(i32),
}

/// A running supervisor.
pub(crate) enum Stage {
    /// In a guest.
    Guest(Box<Running>),
    /// On this machine.
    Host(Host),
}

impl Stage {
    /// Starts the demo in a guest; its metrics appear on `port` of our loopback.
    ///
    /// # Errors
    /// As [`Guest::start`].
    pub(crate) fn guest(
        kernel: Kernel,
        binaries: &Binaries,
        port: u16,
        wishes: &[String],
    ) -> Result<Self> {
        let name = kernel.name.clone();
        let guest = Guest {
            forwards: vec![Forward {
                host: port,
                guest: DAEMON_PORT,
            }],
            files: vec![
                GuestFile::program(binaries.mapstorm(), "mapstorm"),
                GuestFile::program(binaries.demo_supervisor(), "demo-supervisor"),
            ],
            log: Some(
                paths::target()
                    .join("guest-logs")
                    .join(format!("{name}-demo.log")),
            ),
            ..Guest::new(kernel, binaries.guest_init())
        };
        let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, DAEMON_PORT));
        let mut command = vec![
            "/bin/demo-supervisor".to_owned(),
            "/bin/mapstorm".to_owned(),
        ];
        command.push(listen.to_string());
        command.extend_from_slice(wishes);
        Ok(Self::Guest(Box::new(guest.start(&command)?)))
    }

    /// Starts the demo on this machine, with the daemon on `port` of the loopback.
    ///
    /// # Errors
    /// The supervisor cannot be started.
    pub(super) fn host(binaries: &Binaries, port: u16, wishes: &[String]) -> Result<Self> {
        interrupt::catch()?;
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let program = binaries.demo_supervisor();
        let mut supervisor = Command::new(&program)
            .arg(binaries.mapstorm())
            .arg(listen.to_string())
            .args(wishes)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let (sender, lines) = channel();
        if let Some(stream) = supervisor.stdout.take() {
            process::forward(stream, |line| line, sender);
        }
        Ok(Self::Host(Host { supervisor, lines }))
    }

    /// Waits up to `patience` for a line.
    ///
    /// # Errors
    /// The guest died, or somebody asked us to end.
    pub(crate) fn next(&mut self, patience: Duration) -> Result<Said> {
        match self {
            Self::Guest(running) => Ok(match running.next(patience)? {
                Event::Line(Line::Command(line)) => Said::Line(line),
                // The kernel's remarks are in the log.
                Event::Line(Line::Console(_)) | Event::Quiet => Said::Nothing,
                Event::Ended(ending) => Said::Ended(ending.code()),
            }),
            Self::Host(host) => host.next(patience),
        }
    }
}

/// The supervisor as our child. Dropping it asks it to end, and its daemon with it.
pub(crate) struct Host {
    supervisor: Child,
    lines: Receiver<String>,
}

impl Host {
    fn next(&mut self, patience: Duration) -> Result<Said> {
        let deadline = Instant::now() + patience;
        loop {
            if interrupt::requested() {
                bail!("interrupted");
            }
            let wait = deadline.saturating_duration_since(Instant::now());
            match self
                .lines
                .recv_timeout(wait.min(Duration::from_millis(100)))
            {
                Ok(line) => return Ok(Said::Line(line)),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                    return Ok(Said::Nothing);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.supervisor.wait().context("cannot wait for the demo")?;
                    return Ok(Said::Ended(status.code().unwrap_or(1)));
                }
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let (Ok(None), Ok(id)) = (
            self.supervisor.try_wait(),
            i32::try_from(self.supervisor.id()),
        ) {
            // It fails only when the supervisor is gone already.
            let _gone = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        let _reaped = self.supervisor.wait();
    }
}
