//! What we build: BPF objects, and the static host binaries that run anywhere, guests included.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::setup::{self, Purpose};
use crate::{paths, process, toolchain};

/// The host target. Naming it keeps build scripts and macros apart from what is linked statically.
const HOST_TARGET: &str = "x86_64-unknown-linux-gnu";

/// How far the host binaries are optimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Quick to build, with assertions: what the guests run by default.
    Guest,
    /// What is shipped.
    Release,
}

impl Profile {
    /// Cargo's name for the profile.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Release => "release",
        }
    }
}

/// The static binaries that guests are made of.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// Directory that holds all of them.
    dir: PathBuf,
}

impl Binaries {
    /// The daemon.
    pub fn mapstorm(&self) -> PathBuf {
        self.dir.join("mapstorm")
    }

    /// The first process of a guest.
    pub fn guest_init(&self) -> PathBuf {
        self.dir.join("guest-init")
    }

    /// The supervisor of the demo.
    pub fn demo_supervisor(&self) -> PathBuf {
        self.dir.join("demo-supervisor")
    }
}

/// Builds the BPF objects and returns the directory that holds `probes`, `workload` and `storage`.
///
/// # Errors
/// The compiler or bpf-linker refuses, or set-up fails.
pub fn build_objects() -> Result<PathBuf> {
    let toolchain = setup::ensure(&[Purpose::Bpf])?;
    process::run(toolchain.cargo("build")?.args(["--bins", "--quiet"]))
        .context("the BPF objects cannot be built")?;
    Ok(objects_dir())
}

/// Where [`build_objects`] puts its result.
pub fn objects_dir() -> PathBuf {
    paths::bpf_target().join(toolchain::TARGET).join("release")
}

/// Builds everything a guest or a host runs, the objects first.
///
/// # Errors
/// A compiler refuses, or set-up fails.
pub fn build_binaries(profile: Profile) -> Result<Binaries> {
    let mut build = static_cargo("build", profile)?;
    build.args(["--quiet", "--package", "mapstorm", "--package", "xtask"]);
    build.args([
        "--bin",
        "mapstorm",
        "--bin",
        "guest-init",
        "--bin",
        "demo-supervisor",
    ]);
    process::run(&mut build).context("the host binaries cannot be built")?;
    Ok(Binaries {
        dir: paths::target().join(HOST_TARGET).join(profile.name()),
    })
}

/// Builds the integration suite that runs inside guests, and returns the file.
///
/// # Errors
/// As [`build_test`].
pub fn build_guest_suite(profile: Profile) -> Result<PathBuf> {
    build_test("guest", profile)
}

/// Builds a test target of the daemon that runs inside guests, and returns the file.
///
/// # Errors
/// A compiler refuses, or the package has no such test target.
pub fn build_test(name: &str, profile: Profile) -> Result<PathBuf> {
    let mut build = static_cargo("test", profile)?;
    build.args([
        "--quiet",
        "--package",
        "mapstorm",
        "--test",
        name,
        "--no-run",
    ]);
    build
        .arg("--message-format=json")
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let output = build.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "the test target `{name}` cannot be built: {}",
            process::line(&build)
        );
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable_of(&messages, name)
        .with_context(|| format!("cargo built the test target `{name}` but named no file"))
}

/// `cargo xtask build`: builds, and prints where things are.
///
/// # Errors
/// As [`build_binaries`].
pub fn run(profile: Profile) -> Result<()> {
    let binaries = build_binaries(profile)?;
    for (what, file) in [
        ("probes", objects_dir().join("probes")),
        ("workload", objects_dir().join("workload")),
        ("storage", objects_dir().join("storage")),
        ("mapstorm", binaries.mapstorm()),
    ] {
        println!(
            "{what:9} {:>6} KiB  {}",
            size_in_kib(&file)?,
            file.display()
        );
    }
    Ok(())
}

fn size_in_kib(file: &Path) -> Result<u64> {
    let meta = file
        .metadata()
        .with_context(|| format!("{} was not built", file.display()))?;
    Ok(meta.len().div_ceil(1024))
}

/// Cargo for static host binaries that embed the objects, which are built first.
///
/// # Errors
/// As [`build_objects`].
pub fn static_cargo(subcommand: &str, profile: Profile) -> Result<Command> {
    let objects = build_objects()?;
    let mut command = process::cargo();
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
            "-Ctarget-feature=+crt-static",
        )
        .env("MAPSTORM_BPF_DIR", objects)
        .args([
            subcommand,
            "--target",
            HOST_TARGET,
            "--profile",
            profile.name(),
        ]);
    Ok(command)
}

/// One line of `cargo --message-format=json`, as far as we care.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// The executable that cargo's messages name for `target`.
fn executable_of(messages: &str, target: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .find_map(|message| {
            message
                .executable
                .filter(|_| message.target.is_some_and(|t| t.name == target))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_the_one_of_the_target() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"mapstorm"},"executable":"/t/m"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"guest"},"executable":null}"#,
            "\nnot json\n",
            r#"{"reason":"compiler-artifact","target":{"name":"guest"},"executable":"/t/g-1"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(
            executable_of(messages, "guest"),
            Some(PathBuf::from("/t/g-1"))
        );
        assert_eq!(executable_of(messages, "absent"), None);
    }
}
