//! Guests: a kernel, our static binaries and one command, under emulation.
//!
//! The host packs an initramfs (init, modules, files, the command), starts QEMU and reads two
//! serial ports: the kernel's console, and the command's output with init's reports among it
//! (see [`protocol`]). The guest powers off when the command ends. No disk, no privileges, no
//! hardware help.

pub mod command;
mod cpio;
mod initramfs;
mod modules;
pub mod protocol;
pub mod qemu;
mod running;

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::kernels::Kernel;
use crate::{interrupt, paths, process};
pub use initramfs::GuestFile;
use protocol::Token;
pub use qemu::{Cpus, Forward};
pub use running::{Ending, Event, Line, Running};

/// A guest to be started.
#[derive(Debug, Clone)]
pub struct Guest {
    /// What to boot.
    pub kernel: Kernel,
    /// The first process: the static `guest-init`.
    pub init: PathBuf,
    /// Processors; with [`icount`](Self::icount) there is always one.
    pub cpus: Cpus,
    /// Memory in MiB.
    pub memory_mb: u32,
    /// More parameters for the kernel.
    pub append: Vec<String>,
    /// Guest time counts instructions: every run is the same.
    pub icount: bool,
    /// QEMU's model of the processor.
    pub cpu: String,
    /// QEMU's accelerator.
    pub accel: String,
    /// Ports of the host's loopback that lead into the guest.
    pub forwards: Vec<Forward>,
    /// Modules to load besides those of the network.
    pub modules: Vec<String>,
    /// Files to put into the guest.
    pub files: Vec<GuestFile>,
    /// Where to keep every line of the guest, with its time.
    pub log: Option<PathBuf>,
}

impl Guest {
    /// Four processors, 1024 MiB and nothing but the first process.
    pub fn new(kernel: Kernel, init: PathBuf) -> Self {
        Self {
            kernel,
            init,
            cpus: Cpus::all_online(4),
            memory_mb: 1024,
            append: Vec::new(),
            icount: false,
            cpu: qemu::DEFAULT_CPU.into(),
            accel: qemu::DEFAULT_ACCEL.into(),
            forwards: Vec::new(),
            modules: Vec::new(),
            files: Vec::new(),
            log: None,
        }
    }

    /// Starts the guest with `command`, whose first word is an absolute path in it. The calling
    /// thread must outlive the guest.
    ///
    /// # Errors
    /// A port is taken, a file or module cannot be read, or QEMU does not start.
    pub fn start(&self, command: &[String]) -> Result<Running> {
        interrupt::catch()?;
        for forward in &self.forwards {
            check_port(forward.host)?;
        }
        let modules = match &self.kernel.modules {
            Some(dir) => modules::collect(dir, &self.modules)?,
            None => Vec::new(),
        };
        let archive = initramfs::build(&self.init, &self.files, &modules, command)?;
        let token = Token::random().context("cannot read /proc")?;
        let dir = paths::target().join("guests");
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let initramfs = dir.join(format!("{}.cpio", token.parameter()));
        fs::write(&initramfs, archive)
            .with_context(|| format!("cannot write {}", initramfs.display()))?;
        let log = self.log.as_deref().map(|path| {
            let dir = path.parent().unwrap_or(path);
            fs::create_dir_all(dir)
                .and_then(|()| File::create(path))
                .with_context(|| format!("cannot write {}", path.display()))
        });
        let mut qemu = Command::new(qemu::PROGRAM);
        qemu.args(qemu::arguments(self, &initramfs, &token))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process::end_with_us(&mut qemu);
        Running::start(qemu, token, initramfs, log.transpose()?)
    }

    /// Runs `command` in the guest to its end and passes on every line.
    ///
    /// # Errors
    /// As [`Guest::start`] and [`Running::next`].
    pub fn run(&self, command: &[String], mut on_line: impl FnMut(&Line)) -> Result<Ending> {
        let mut running = self.start(command)?;
        loop {
            match running.next(Duration::from_secs(60))? {
                Event::Line(line) => on_line(&line),
                Event::Quiet => {}
                Event::Ended(ending) => return Ok(ending),
            }
        }
    }
}

/// Fails where QEMU would fail with less to say.
fn check_port(port: u16) -> Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map(drop)
        .with_context(|| {
            format!("port {port} of 127.0.0.1 cannot be used; choose another, or end what uses it")
        })
}
