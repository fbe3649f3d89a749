//! `cargo xtask vm`: one command in one guest, from the command line.

use std::io::Write as _;

use anyhow::Result;

use super::{Guest, GuestFile, Line};
use crate::artifacts::{self, Profile};
use crate::setup::{self, Purpose};
use crate::{cli, kernels};

/// Builds, boots, streams, and returns the command's status.
///
/// # Errors
/// Something cannot be built, the kernel cannot be fetched, or the guest fails.
pub fn run(arguments: cli::Vm) -> Result<u8> {
    setup::ensure(&[Purpose::Bpf, Purpose::Guests])?;
    let profile = if arguments.release {
        Profile::Release
    } else {
        Profile::Guest
    };
    let binaries = artifacts::build_binaries(profile)?;
    let mut files = vec![GuestFile::program(binaries.mapstorm(), "mapstorm")];
    files.extend(arguments.file);
    let guest = Guest {
        cpus: arguments.cpus,
        memory_mb: arguments.memory,
        append: arguments.append,
        icount: arguments.icount,
        cpu: arguments.cpu,
        accel: arguments.accel,
        forwards: arguments.forward,
        modules: arguments.module,
        files,
        log: arguments.log,
        ..Guest::new(kernels::resolve(&arguments.kernel)?, binaries.guest_init())
    };
    let mut stdout = std::io::stdout();
    let ending = guest.run(&arguments.command, |line| match line {
        // Somebody who closed our output has seen enough; the guest goes on to its end.
        Line::Command(text) => drop(writeln!(stdout, "{text}")),
        Line::Console(text) if arguments.console => eprintln!("{text}"),
        Line::Console(_) => {}
    })?;
    Ok(u8::try_from(ending.code()).unwrap_or(1))
}
