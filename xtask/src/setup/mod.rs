//! Set-up: what the BPF build, its lints and the guests need is found, or installed, and said.

mod fuzzer;
mod needs;

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::toolchain::{self, BPF_LINKER_VERSION, LLVM_MAJOR, Toolchain};
use crate::{paths, process};
use needs::Need;

pub use fuzzer::fuzzer;

/// Something a command cannot work without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Compiling the BPF objects.
    Bpf,
    /// clippy on the BPF objects.
    BpfLints,
    /// Fetching kernels and booting guests.
    Guests,
    /// Driving what is drawn in a terminal.
    Terminal,
    /// Looking at the page.
    Browser,
    /// Asking the API what nobody would.
    Fuzzer,
}

/// Makes everything for `purposes` present and returns the BPF compiler to use; says a word only
/// when it has to install something.
///
/// # Errors
/// The machine is not an x86-64 Linux, an installation fails, or the machine is not a Debian and
/// something is missing: the error then lists what.
pub fn ensure(purposes: &[Purpose]) -> Result<Toolchain> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!(
            "mapstorm is built and tested on x86-64 Linux only, this machine is {} {}",
            std::env::consts::OS,
            std::env::consts::ARCH
        );
    }
    let rustup = Toolchain::rustup();
    let wants_linker = purposes.contains(&Purpose::Bpf) && toolchain::bpf_linker()?.is_none();
    let mut missing = needs::of(purposes, rustup.is_none(), wants_linker);
    missing.retain(|need| !need.is_met());
    if !missing.is_empty() || wants_linker {
        if process::find("apt-get").is_none() || process::find("dpkg-deb").is_none() {
            bail!("{}", needs::advice(&missing, wants_linker));
        }
        if !missing.is_empty() {
            install_packages(&missing)?;
        }
        if wants_linker {
            install_bpf_linker()?;
        }
    }
    Ok(rustup.unwrap_or_else(Toolchain::debian))
}

/// `cargo xtask setup`: everything, and a line about what is used.
///
/// # Errors
/// As [`ensure`].
pub fn run() -> Result<()> {
    let toolchain = ensure(&[
        Purpose::Bpf,
        Purpose::BpfLints,
        Purpose::Guests,
        Purpose::Terminal,
        Purpose::Browser,
        Purpose::Fuzzer,
    ])?;
    let fuzzer = fuzzer()?;
    println!(
        "BPF compiler  {} ({})",
        toolchain.name,
        toolchain.bin.join("rustc").display()
    );
    let linker = toolchain::bpf_linker()?.unwrap_or_default();
    println!("BPF linker    {} ({BPF_LINKER_VERSION})", linker.display());
    let qemu = process::find("qemu-system-x86_64").unwrap_or_default();
    println!("emulator      {}", qemu.display());
    let chromium = process::find("chromium").unwrap_or_default();
    println!("browser       {}", chromium.display());
    println!("fuzzer        {}", fuzzer.display());
    println!("cache         {}", paths::cache()?.display());
    println!("nothing is missing");
    Ok(())
}

fn install_packages(missing: &[Need]) -> Result<()> {
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package.as_str()).collect();
    packages.dedup();
    eprintln!("setup: installing {}", packages.join(" "));
    let started = Instant::now();
    let install = ["install", "--yes", "--no-install-recommends"];
    let attempt = || process::capture(apt_get().args(install).args(&packages));
    // A bare machine has no package lists, an old one has lists of packages that are gone.
    if attempt().is_err() {
        process::capture(apt_get().arg("update")).context("package lists cannot be refreshed")?;
        attempt().with_context(|| {
            format!(
                "try it by hand: apt-get {} {}",
                install.join(" "),
                packages.join(" ")
            )
        })?;
    }
    if let Some(need) = missing.iter().find(|need| !need.is_met()) {
        bail!(
            "package {} is installed, but {} is still not there",
            need.package,
            need.proof
        );
    }
    eprintln!(
        "setup: installed {} packages in {} s",
        packages.len(),
        started.elapsed().as_secs()
    );
    Ok(())
}

/// apt-get, through sudo when we are not root; it never asks a question.
fn apt_get() -> Command {
    let mut command = if nix::unistd::geteuid().is_root() {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["--preserve-env=DEBIAN_FRONTEND", "apt-get"]);
        sudo
    };
    // Another apt may be at work: wait for it.
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .arg("-oDPkg::Lock::Timeout=300");
    command
}

fn install_bpf_linker() -> Result<()> {
    eprintln!("setup: building bpf-linker {BPF_LINKER_VERSION} (a few minutes, once)");
    let started = Instant::now();
    let version = format!("--version={BPF_LINKER_VERSION}");
    let feature = format!("--features=llvm-{LLVM_MAJOR}");
    let mut install = process::cargo();
    install
        .current_dir("/")
        .env_remove("CARGO_TARGET_DIR")
        .env("LLVM_PREFIX", needs::llvm_prefix())
        .args([
            "install",
            "bpf-linker",
            &version,
            "--no-default-features",
            &feature,
            "--locked",
        ])
        .arg("--root")
        .arg(toolchain::bpf_linker_root()?);
    process::capture(&mut install).context("bpf-linker cannot be built")?;
    eprintln!(
        "setup: built bpf-linker in {} s",
        started.elapsed().as_secs()
    );
    Ok(())
}
