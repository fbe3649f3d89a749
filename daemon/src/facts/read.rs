//! Reading a small file of /proc or /sys, and the errors of doing so.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// Files of facts are one line or a page long; more than this, in bytes, is something else.
const MAX_BYTES: u64 = 1 << 20;

/// Why a fact about this host is not known.
#[derive(Debug, thiserror::Error)]
pub enum FactError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}; {}", path.display(), remedy(error))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file was read and does not say what it should.
    #[error("{} says {text:?}: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it says, at most its first 80 characters.
        text: String,
        /// What was expected instead.
        why: String,
    },
}

impl FactError {
    pub(super) fn malformed(path: &Path, text: &str, why: impl ToString) -> Self {
        Self::Malformed {
            path: path.into(),
            text: text.trim_end().chars().take(80).collect(),
            why: why.to_string(),
        }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "this kernel lacks it, or /proc or /sys is not mounted here",
        io::ErrorKind::PermissionDenied => "root may read it",
        _ => "this fact stays unknown",
    }
}

/// The text of a small file; bytes that are not UTF-8 are replaced.
pub(super) fn text(path: &Path) -> Result<String, FactError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
        .map_err(|error| FactError::Read {
            path: path.into(),
            error,
        })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number that is all a file says, as a sysctl's.
pub(super) fn number(path: &Path) -> Result<i32, FactError> {
    let text = text(path)?;
    text.trim()
        .parse()
        .map_err(|_| FactError::malformed(path, &text, "expected one whole number"))
}
