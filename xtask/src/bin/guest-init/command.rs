//! The command: started, its output copied, every orphan reaped, everybody ended after it.

use std::fs;
use std::io::{PipeReader, Read as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use xtask::vm::protocol::{COMMAND_FILE, Report};

use crate::port::Port;

/// How long processes that outlive the command may take to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the command that the host packed, and says how it ended.
pub(crate) fn run(port: &mut Port) -> Result<Report> {
    let words = fs::read_to_string(COMMAND_FILE).context("cannot read the command")?;
    let mut words = words.split_terminator('\0');
    let Some(program) = words.next() else {
        bail!("the command is empty")
    };
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let mut command = Command::new(program);
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().context("cannot share a pipe")?)
        .stderr(writer)
        .current_dir("/root")
        .env_clear()
        .envs([
            ("PATH", "/bin"),
            ("HOME", "/root"),
            ("TERM", "dumb"),
            ("RUST_BACKTRACE", "1"),
        ]);
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    // The pipe ends when the last process that holds it ends: our own ends must go first.
    drop(command);
    let main = Pid::from_raw(i32::try_from(child.id()).context("a process id is too large")?);
    thread::scope(|scope| {
        let copier = scope.spawn(|| copy(reader, port));
        let ending = reap_until(main);
        end_everybody();
        copier
            .join()
            .map_err(|_| anyhow::anyhow!("the copying thread panicked"))??;
        ending
    })
}

/// Copies the pipe to the port until nobody can write to it any more.
fn copy(mut pipe: PipeReader, port: &mut Port) -> Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match pipe
            .read(&mut buffer)
            .context("cannot read from the command")?
        {
            0 => return Ok(()),
            length => port.write(buffer.get(..length).unwrap_or_default())?,
        }
    }
}

/// Reaps whatever ends, orphans included, until `main` does.
fn reap_until(main: Pid) -> Result<Report> {
    loop {
        match waitpid(None, None).context("cannot wait for the command")? {
            WaitStatus::Exited(pid, code) if pid == main => return Ok(Report::Exited(code)),
            WaitStatus::Signaled(pid, signal, _) if pid == main => {
                return Ok(Report::Signalled(signal as i32));
            }
            _ => {}
        }
    }
}

/// Asks every other process to end, and after a while makes it.
fn end_everybody() {
    // As process 1 we are spared; the error is that there is nobody.
    let everybody = Pid::from_raw(-1);
    let deadline = Instant::now() + GRACE;
    let mut signal = Signal::SIGTERM;
    let mut send = true;
    loop {
        if send && kill(everybody, signal).is_err() {
            return;
        }
        send = false;
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return,
            Ok(WaitStatus::StillAlive) => thread::sleep(Duration::from_millis(5)),
            _ => {}
        }
        if signal == Signal::SIGTERM && Instant::now() >= deadline {
            signal = Signal::SIGKILL;
            send = true;
        }
    }
}
