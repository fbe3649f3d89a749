//! Hands the BPF objects to the daemon: those that `cargo xtask build` made, or empty stubs, so
//! that a plain `cargo build` needs no BPF toolchain. A stub is refused at start, with the remedy.
//! Also tells the daemon which revision it is built from, and by which compiler.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Directory that holds the objects; set by `cargo xtask build`.
const OBJECTS: &str = "MAPSTORM_BPF_DIR";
/// The revision, for who builds outside a checkout.
const REVISION: &str = "MAPSTORM_REVISION";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    objects()?;
    println!("cargo::rerun-if-env-changed={REVISION}");
    let revision = env::var(REVISION).ok().or_else(revision);
    set(REVISION, revision);
    set("MAPSTORM_RUSTVERSION", rust_version());
    Ok(())
}

fn objects() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={OBJECTS}");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let objects = env::var_os(OBJECTS).map(PathBuf::from);
    for name in ["probes", "workload", "storage"] {
        let bytes = match &objects {
            Some(directory) => {
                let path = directory.join(name);
                println!("cargo::rerun-if-changed={}", path.display());
                fs::read(&path)?
            }
            None => Vec::new(),
        };
        fs::write(out.join(name), bytes)?;
    }
    Ok(())
}

/// Sets a variable for the crate; what is not known stays unset and is told as `unknown`.
fn set(name: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo::rustc-env={name}={value}");
    }
}

/// The checkout's revision. Asked for again when HEAD moves: its log grows with each commit, which
/// the file HEAD does not.
fn revision() -> Option<String> {
    for name in ["HEAD", "logs/HEAD"] {
        let path = output("git", ["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    output("git", ["rev-parse", "--short", "HEAD"])
}

/// `1.95.0` of `rustc 1.95.0 (…)`.
fn rust_version() -> Option<String> {
    let text = output(env::var_os("RUSTC")?, ["--version"])?;
    text.split(' ').nth(1).map(str::to_owned)
}

/// The first line a program prints, if it succeeds.
fn output<const N: usize>(program: impl AsRef<OsStr>, args: [&str; N]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
