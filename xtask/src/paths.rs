//! Where things are: the workspace, its target directory and the per-user cache.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The root of the workspace, the directory above this package.
pub fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Cargo's target directory: `CARGO_TARGET_DIR` when set, else `target` in the workspace.
pub fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => workspace().join(dir),
        None => workspace().join("target"),
    }
}

/// The target directory of the BPF build, apart from the host's: another compiler writes it.
pub fn bpf_target() -> PathBuf {
    target().join("bpf")
}

/// What outlives a clone and `cargo clean`: `$XDG_CACHE_HOME/mapstorm`, else `~/.cache/mapstorm`.
///
/// # Errors
/// Neither `XDG_CACHE_HOME` nor `HOME` is set.
pub fn cache() -> Result<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|dir| dir.join("mapstorm"))
        .context("no place for the cache: set HOME or XDG_CACHE_HOME to an absolute path")
}
