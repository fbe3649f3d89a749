//! The kernel's own log, from a moment on.

use std::{
    fs::File,
    io::{ErrorKind, Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result};
use nix::libc;

const PATH: &str = "/dev/kmsg";

/// A place in the log; what comes after it is read once.
pub(crate) struct KernelLog {
    file: Mutex<File>,
}

impl KernelLog {
    /// The end of the log as it is now.
    pub(crate) fn from_now_on() -> Result<Self> {
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let mut file = options
            .open(PATH)
            .with_context(|| format!("{PATH} cannot be opened"))?;
        file.seek(SeekFrom::End(0))
            .with_context(|| format!("{PATH} has no end"))?;
        Ok(Self { file: file.into() })
    }

    /// What the kernel has said since the last call, message by message.
    pub(crate) fn news(&self) -> Result<Vec<String>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut messages = Vec::new();
        let mut record = [0; 8192];
        loop {
            match file.read(&mut record) {
                Ok(length) => {
                    // `6,339,5140900,-;the message`, then lines of ` KEY=value`.
                    let text = String::from_utf8_lossy(&record[..length]);
                    let message = text.split_once(';').map_or(&*text, |(_, message)| message);
                    messages.push(message.lines().next().unwrap_or_default().to_owned());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(messages),
                // Messages that were overwritten before they were read: go on with the next.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(error) => return Err(error).with_context(|| format!("reading {PATH}")),
            }
        }
    }
}
