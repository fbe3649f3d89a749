//! The compiler for BPF: a rustup toolchain with rust-src when there is one, else Debian's.
//!
//! `core` is built for `bpfel-unknown-none` from source, which a stable compiler does only under
//! `RUSTC_BOOTSTRAP=1`, and only with the sources at hand.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

use crate::{paths, process};

/// The LLVM that bpf-linker is built on; it reads bitcode of this major version and older ones.
pub const LLVM_MAJOR: u32 = 22;

/// The pinned bpf-linker.
pub const BPF_LINKER_VERSION: &str = "0.13.0";

/// A compiler that can build `core` for the BPF target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// What to call it when talking to a person.
    pub name: String,
    /// Directory of its `rustc` and `cargo`.
    pub bin: PathBuf,
}

impl Toolchain {
    /// The rustup toolchain in use, else rustup's nightly, if it has rust-src and a fitting LLVM.
    pub fn rustup() -> Option<Self> {
        // Asking takes a tenth of a second each time, and the answer stays the same.
        static FOUND: OnceLock<Option<Toolchain>> = OnceLock::new();
        FOUND.get_or_init(Self::look_for_rustup).clone()
    }

    fn look_for_rustup() -> Option<Self> {
        let default = ("the toolchain in use", vec!["rustc"]);
        let nightly = ("nightly", vec!["rustup", "run", "nightly", "rustc"]);
        [default, nightly]
            .into_iter()
            .find_map(|(name, rustc)| Self::usable(name, &rustc))
    }

    /// Debian's packaged compiler (rustc-web, cargo-web, rust-web-src).
    pub fn debian() -> Self {
        Self {
            name: "Debian's rustc".into(),
            bin: "/usr/bin".into(),
        }
    }

    fn usable(name: &str, rustc: &[&str]) -> Option<Self> {
        let ask = |question| {
            let mut command = Command::new(rustc.first()?);
            process::capture(command.args(rustc.get(1..)?).arg(question)).ok()
        };
        let sysroot = PathBuf::from(ask("--print=sysroot")?.trim());
        // Debian's sysroot is /usr: it is the other choice, with packages of its own.
        if sysroot == Path::new("/usr") || !sysroot.join(SOURCES).is_dir() {
            return None;
        }
        (llvm_major(&ask("-vV")?)? <= LLVM_MAJOR).then(|| Self {
            name: name.into(),
            bin: sysroot.join("bin"),
        })
    }

    /// `cargo SUBCOMMAND` of this toolchain for the BPF target, in the workspace, with nothing
    /// left of the cargo and the rustup proxy that run us.
    ///
    /// # Errors
    /// bpf-linker is not there, or `PATH` cannot be extended.
    pub fn cargo(&self, subcommand: &str) -> Result<Command> {
        let linker = bpf_linker()?.context("bpf-linker is missing: run `cargo xtask setup`")?;
        let linker_dir = linker.parent().context("bpf-linker has no directory")?;
        let mut command = Command::new(self.bin.join("cargo"));
        command.current_dir(paths::workspace());
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_the_outer_build(name)) {
            command.env_remove(name);
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let front = [self.bin.clone(), linker_dir.to_path_buf()];
        command
            .env(
                "PATH",
                env::join_paths(front.into_iter().chain(env::split_paths(&path)))?,
            )
            .env("RUSTC", self.bin.join("rustc"))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\u{1f}"))
            .args([subcommand, "--release", "--package", "mapstorm-ebpf"])
            .args(["-Zbuild-std=core", "--target", TARGET, "--target-dir"])
            .arg(paths::bpf_target());
        Ok(command)
    }

    /// Whether this toolchain brings clippy.
    pub fn has_clippy(&self) -> bool {
        self.bin.join("cargo-clippy").is_file() && self.bin.join("clippy-driver").is_file()
    }
}

/// The BPF target: little-endian, as x86-64 is.
pub const TARGET: &str = "bpfel-unknown-none";

/// `bpf_target_arch` chooses the registers of aya's `PtRegs`; `--btf` makes the linker keep the
/// types that `-Cdebuginfo=2` describes.
const RUSTFLAGS: [&str; 4] = [
    "--cfg=bpf_target_arch=\"x86_64\"",
    "-Cdebuginfo=2",
    "-Clink-arg=--btf",
    // Jumps that compare by "less" came with 4.14; newer instruction sets give worse code here.
    "-Ctarget-cpu=v2",
];

/// Where the library sources lie in a sysroot.
const SOURCES: &str = "lib/rustlib/src/rust/library/core";

/// Variables that the outer cargo, the rustup proxy or a developer's shell set for another build.
fn is_of_the_outer_build(name: &OsString) -> bool {
    const NAMES: [&str; 9] = [
        "CARGO",
        "CARGO_PRIMARY_PACKAGE",
        "CARGO_TARGET_DIR",
        "LD_LIBRARY_PATH",
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTUP_TOOLCHAIN",
        "RUST_RECURSION_COUNT",
    ];
    const PREFIXES: [&str; 5] = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
        "CARGO_BUILD_",
    ];
    name.to_str().is_some_and(|name| {
        NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

/// The major version in the `LLVM version: 22.1.2` line of `rustc -vV`.
fn llvm_major(verbose_version: &str) -> Option<u32> {
    let version = verbose_version
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "))?;
    version.split('.').next()?.parse().ok()
}

/// Root of our own bpf-linker in the cache, as `cargo install --root` takes it.
///
/// # Errors
/// There is no place for a cache.
pub fn bpf_linker_root() -> Result<PathBuf> {
    Ok(paths::cache()?.join(format!("bpf-linker-{BPF_LINKER_VERSION}")))
}

/// The bpf-linker to use: our own, else one of the same version in `PATH`.
///
/// # Errors
/// There is no place for a cache.
pub fn bpf_linker() -> Result<Option<PathBuf>> {
    let ours = bpf_linker_root()?.join("bin/bpf-linker");
    if ours.is_file() {
        return Ok(Some(ours));
    }
    Ok(process::find("bpf-linker").filter(|linker| {
        process::capture(Command::new(linker).arg("--version"))
            .is_ok_and(|version| version.split_whitespace().nth(1) == Some(BPF_LINKER_VERSION))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_llvm_version() {
        let text = "rustc 1.96.0\nbinary: rustc\nLLVM version: 22.1.2\n";
        assert_eq!(llvm_major(text), Some(22));
        assert_eq!(llvm_major("rustc 1.96.0\n"), None);
    }

    #[test]
    fn the_outer_build_leaves_nothing_but_the_registry_settings() {
        assert!(is_of_the_outer_build(&"RUSTUP_TOOLCHAIN".into()));
        assert!(is_of_the_outer_build(&"CARGO_PKG_NAME".into()));
        assert!(!is_of_the_outer_build(&"CARGO_HOME".into()));
        assert!(!is_of_the_outer_build(&"CARGO_REGISTRIES_X_INDEX".into()));
    }
}
