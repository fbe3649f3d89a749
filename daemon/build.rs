//! Hands the BPF objects to the daemon: those that `cargo xtask build` made, or empty stubs, so
//! that a plain `cargo build` needs no BPF toolchain. A stub is refused at start, with the remedy.

use std::{env, fs, io, path::PathBuf};

/// Directory that holds the objects; set by `cargo xtask build`.
const OBJECTS: &str = "MAPSTORM_BPF_DIR";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={OBJECTS}");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let objects = env::var_os(OBJECTS).map(PathBuf::from);
    for name in ["probes", "workload"] {
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
