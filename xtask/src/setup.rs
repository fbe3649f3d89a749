//! What the BPF build, its lints and the guests need: find it, install what is missing, say so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::toolchain::{self, BPF_LINKER_VERSION, LLVM_MAJOR, Toolchain};
use crate::{paths, process};

/// Something a command cannot work without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Compiling the BPF objects.
    Bpf,
    /// clippy on the BPF objects.
    BpfLints,
    /// Fetching kernels and booting guests.
    Guests,
}

/// One prerequisite: the file that proves it, the Debian package that brings it.
struct Need {
    /// An absolute path, or a program to be found in `PATH`.
    proof: String,
    package: String,
    purpose: &'static str,
}

impl Need {
    fn new(proof: &str, package: &str, purpose: &'static str) -> Self {
        Self {
            proof: proof.into(),
            package: package.into(),
            purpose,
        }
    }

    fn is_met(&self) -> bool {
        if self.proof.starts_with('/') {
            Path::new(&self.proof).exists()
        } else {
            process::find(&self.proof).is_some()
        }
    }
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
    let missing: Vec<Need> = needs(purposes, rustup.as_ref())?
        .into_iter()
        .filter(|need| !need.is_met())
        .collect();
    let wants_linker = purposes.contains(&Purpose::Bpf) && toolchain::bpf_linker()?.is_none();
    if !missing.is_empty() || wants_linker {
        if process::find("apt-get").is_none() || process::find("dpkg-deb").is_none() {
            bail!("{}", advice(&missing, wants_linker));
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
    let toolchain = ensure(&[Purpose::Bpf, Purpose::BpfLints, Purpose::Guests])?;
    println!(
        "BPF compiler  {} ({})",
        toolchain.name,
        toolchain.bin.join("rustc").display()
    );
    let linker = toolchain::bpf_linker()?.unwrap_or_default();
    println!("BPF linker    {} ({BPF_LINKER_VERSION})", linker.display());
    let qemu = process::find("qemu-system-x86_64").unwrap_or_default();
    println!("emulator      {}", qemu.display());
    println!("cache         {}", paths::cache()?.display());
    println!("nothing is missing");
    Ok(())
}

/// What `purposes` need, with the packages that bring it.
fn needs(purposes: &[Purpose], rustup: Option<&Toolchain>) -> Result<Vec<Need>> {
    let mut needs = Vec::new();
    if purposes.contains(&Purpose::Bpf) && rustup.is_none() {
        let purpose = "compile the BPF objects";
        needs.push(Need::new("/usr/bin/rustc", "rustc-web", purpose));
        needs.push(Need::new("/usr/bin/cargo", "cargo-web", purpose));
        needs.push(Need::new(
            "/usr/lib/rustlib/src/rust/library/core",
            "rust-web-src",
            purpose,
        ));
    }
    if purposes.contains(&Purpose::Bpf) && toolchain::bpf_linker()?.is_none() {
        let config = llvm_prefix().join("bin/llvm-config");
        let package = format!("llvm-{LLVM_MAJOR}-dev");
        needs.push(Need::new(
            &config.to_string_lossy(),
            &package,
            "build bpf-linker",
        ));
    }
    if purposes.contains(&Purpose::BpfLints) && rustup.is_none() {
        needs.push(Need::new(
            "/usr/bin/clippy-driver",
            "rust-web-clippy",
            "lint the BPF objects",
        ));
    }
    if purposes.contains(&Purpose::Guests) {
        needs.push(Need::new(
            "qemu-system-x86_64",
            "qemu-system-x86",
            "boot guests",
        ));
        needs.push(Need::new("dpkg-deb", "dpkg", "unpack kernels"));
        needs.push(Need::new("xz", "xz-utils", "unpack kernel modules"));
        let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
        needs.push(Need::new(
            keyring,
            "debian-archive-keyring",
            "verify kernels",
        ));
    }
    Ok(needs)
}

/// Where Debian puts the LLVM that bpf-linker links with.
fn llvm_prefix() -> PathBuf {
    PathBuf::from(format!("/usr/lib/llvm-{LLVM_MAJOR}"))
}

/// What to install by hand where apt-get and dpkg are not.
fn advice(missing: &[Need], wants_linker: bool) -> String {
    let mut text = String::from(
        "this is not a Debian system, so nothing can be installed for you. Please install:\n",
    );
    for need in missing {
        text += &format!(
            "  {} (Debian: {}), to {}\n",
            need.proof, need.package, need.purpose
        );
    }
    if wants_linker {
        text += &format!(
            "  bpf-linker {BPF_LINKER_VERSION} in PATH: cargo install bpf-linker --version \
             {BPF_LINKER_VERSION}\n"
        );
    }
    text += "Instead of Debian's compiler a rustup toolchain serves: rustup component add rust-src";
    text
}

fn install_packages(missing: &[Need]) -> Result<()> {
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package.as_str()).collect();
    packages.dedup();
    println!("setup: installing {}", packages.join(" "));
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
    println!(
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
    println!("setup: building bpf-linker {BPF_LINKER_VERSION} (a few minutes, once)");
    let started = Instant::now();
    let version = format!("--version={BPF_LINKER_VERSION}");
    let feature = format!("--features=llvm-{LLVM_MAJOR}");
    let mut install = process::cargo();
    install
        .current_dir("/")
        .env_remove("CARGO_TARGET_DIR")
        .env("LLVM_PREFIX", llvm_prefix())
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
    println!(
        "setup: built bpf-linker in {} s",
        started.elapsed().as_secs()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_each_thing_its_package_and_its_use() {
        let need = Need::new("qemu-system-x86_64", "qemu-system-x86", "boot guests");
        let text = advice(&[need], true);
        assert!(text.contains("  qemu-system-x86_64 (Debian: qemu-system-x86), to boot guests\n"));
        assert!(text.contains("bpf-linker 0.13.0 in PATH"));
    }

    #[test]
    fn a_rustup_toolchain_spares_the_packaged_compiler() {
        let toolchain = Toolchain {
            name: "nightly".into(),
            bin: "/opt/bin".into(),
        };
        let packages = |rustup| -> Vec<String> {
            let needs = needs(&[Purpose::Bpf, Purpose::BpfLints], rustup).unwrap();
            needs.into_iter().map(|need| need.package).collect()
        };
        assert!(packages(None).contains(&"rust-web-src".to_string()));
        assert!(
            !packages(Some(&toolchain))
                .iter()
                .any(|package| package.contains("web"))
        );
    }
}
