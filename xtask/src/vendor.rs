//! `cargo xtask vendor`: the files of others that are built into the page, from their registry.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{paths, process};

/// The chart library, and what npm says its package must be.
const UPLOT: &str = "uplot@1.6.32";
const INTEGRITY: &str = "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==";
/// What of it is used, and what it is called here.
const FILES: [(&str, &str); 3] = [
    ("LICENSE", "LICENSE"),
    ("dist/uPlot.iife.min.js", "uPlot.iife.min.js"),
    ("dist/uPlot.min.css", "uPlot.min.css"),
];

/// Fetches, compares, and writes the files and their checksums.
///
/// # Errors
/// npm is not there, the package is not what it was, or a file cannot be written.
pub fn run() -> Result<()> {
    if process::find("npm").is_none() {
        bail!("npm is not in PATH: it fetches the package (Debian: npm)");
    }
    let place = paths::target().join("vendor");
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let mut pack = Command::new("npm");
    pack.current_dir(&place).args(["pack", "--json", UPLOT]);
    let told: serde_json::Value = serde_json::from_str(&process::capture(&mut pack)?)
        .context("npm pack did not answer in JSON")?;
    let package = &told[0];
    if package["integrity"] != INTEGRITY {
        let is = &package["integrity"];
        bail!("{UPLOT} is not the package that was chosen: {is}, not {INTEGRITY}");
    }
    let archive = package["filename"].as_str();
    let archive = archive.context("npm pack does not name its file")?;
    process::capture(
        Command::new("tar")
            .current_dir(&place)
            .args(["xzf", archive]),
    )?;
    let vendored = paths::workspace().join("daemon/src/http/assets/vendor");
    for (from, to) in FILES {
        copy(
            &place.join("package").join(from),
            &vendored.join("uplot").join(to),
        )?;
    }
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&vendored);
    sums.args(FILES.map(|(_, name)| format!("uplot/{name}")));
    let sums = process::capture(&mut sums)?;
    let list = vendored.join("SHA256SUMS");
    fs::write(&list, sums).with_context(|| format!("cannot write {}", list.display()))?;
    println!("{UPLOT} is in {}", vendored.join("uplot").display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
