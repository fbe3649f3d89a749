//! The first process of a guest: makes the machine usable, runs one command, reports how it
//! ended, powers off. Remarks go to the console, the command's output to the second serial port.

mod command;
mod mounts;
mod network;
mod port;

use std::fs::{self, File};

use anyhow::{Context as _, Result};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::resource::{Resource, setrlimit};
use xtask::vm::protocol::{MODULES_FILE, Report, Token};

use port::Port;

/// Open files that a command may have: more than any test wants, within what kernels allow.
const OPEN_FILES: u64 = 65_536;

fn main() {
    if let Err(error) = live() {
        eprintln!("guest-init: {error:#}");
    }
    // Success does not return. Failure does, which panics the kernel and ends the guest as well.
    let Err(error) = reboot(RebootMode::RB_POWER_OFF);
    eprintln!("guest-init: cannot power off: {error}");
}

/// Everything between the kernel's start of us and the power button.
fn live() -> Result<()> {
    mounts::mount_all();
    let line = fs::read_to_string("/proc/cmdline").context("cannot read /proc/cmdline")?;
    let token = Token::from_command_line(&line).context("no token on the kernel command line")?;
    let mut port = Port::open(token)?;
    for failure in [load_modules(), network::up(), limits()]
        .into_iter()
        .filter_map(Result::err)
    {
        eprintln!("guest-init: {failure:#}");
    }
    port.report(&Report::Started)?;
    let ending =
        command::run(&mut port).unwrap_or_else(|error| Report::Failed(format!("{error:#}")));
    port.report(&ending)
}

/// Loads the modules that the host packed, in its order.
fn load_modules() -> Result<()> {
    let list = fs::read_to_string(MODULES_FILE).context("cannot read the list of modules")?;
    for path in list.lines() {
        let module = File::open(path).with_context(|| format!("cannot open {path}"))?;
        let flags = nix::kmod::ModuleInitFlags::empty();
        nix::kmod::finit_module(&module, c"", flags)
            .with_context(|| format!("cannot load {path}"))?;
    }
    Ok(())
}

fn limits() -> Result<()> {
    setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES).context("cannot raise nofile")?;
    nix::unistd::sethostname("guest").context("cannot set the host name")
}
