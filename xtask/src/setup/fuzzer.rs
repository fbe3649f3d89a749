//! schemathesis, which asks the API whatever its OpenAPI file allows and more.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Purpose;
use crate::{paths, process};

/// Every package of it, pinned.
const PACKAGES: &str = include_str!("fuzzer.txt");

/// The fuzzer's program, installed into an environment of its own in the cache unless it is there.
///
/// # Errors
/// Python is not there and cannot be installed, or the packages cannot be.
pub fn fuzzer() -> Result<PathBuf> {
    super::ensure(&[Purpose::Fuzzer])?;
    let home = paths::cache()?.join("schemathesis");
    let program = home.join("bin/schemathesis");
    let installed = home.join("packages.txt");
    // Written last: an installation that was interrupted is done again.
    if fs::read_to_string(&installed).is_ok_and(|packages| packages == PACKAGES) {
        return Ok(program);
    }
    eprintln!("setup: installing schemathesis");
    let python = process::find("python3").context("python3 is not in PATH")?;
    let mut environment = Command::new(python);
    environment.args(["-m", "venv", "--clear"]).arg(&home);
    process::capture(&mut environment).context("no environment for Python packages can be made")?;
    let wanted = home.join("wanted.txt");
    fs::write(&wanted, PACKAGES).with_context(|| format!("cannot write {}", wanted.display()))?;
    let mut pip = Command::new(home.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"])
        .arg("--requirement")
        .arg(&wanted);
    process::capture(&mut pip).context("schemathesis cannot be installed")?;
    fs::rename(&wanted, &installed)
        .with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(program)
}
