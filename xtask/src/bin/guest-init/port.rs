//! The second serial port: the command's bytes and our reports, never torn.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use anyhow::{Context as _, Result};
use nix::sys::termios::{SetArg, cfmakeraw, tcdrain, tcgetattr, tcsetattr};
use xtask::vm::protocol::{COMMAND_TTY, Report, Token};

/// The port and the secret of this boot.
pub(crate) struct Port {
    tty: File,
    token: Token,
    /// Whether the last byte written ended a line.
    at_line_start: bool,
}

impl Port {
    /// Opens the port without any translation of bytes.
    pub(crate) fn open(token: Token) -> Result<Self> {
        let tty = OpenOptions::new().read(true).write(true).open(COMMAND_TTY);
        let tty = tty.with_context(|| format!("cannot open {COMMAND_TTY}"))?;
        let mut settings = tcgetattr(&tty).context("cannot read the port's settings")?;
        cfmakeraw(&mut settings);
        tcsetattr(&tty, SetArg::TCSANOW, &settings).context("cannot set the port to raw")?;
        Ok(Self {
            tty,
            token,
            at_line_start: true,
        })
    }

    /// Passes on what the command wrote.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(last) = bytes.last() {
            self.at_line_start = *last == b'\n';
        }
        self.tty
            .write_all(bytes)
            .context("cannot write to the port")
    }

    /// Writes a report on a line of its own and waits until it is out.
    pub(crate) fn report(&mut self, report: &Report) -> Result<()> {
        let end = if self.at_line_start { "" } else { "\n" };
        let line = format!("{end}{}\n", report.line(&self.token));
        self.write(line.as_bytes())?;
        tcdrain(&self.tty).context("cannot drain the port")
    }
}
