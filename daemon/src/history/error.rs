//! Why storms cannot be kept, and what to do about it.

use std::{io, path::PathBuf};

/// Why the history cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The directory is not there and cannot be made.
    #[error(
        "--state-dir: cannot make the directory {}: {error}; make it and give it to the user that mapstorm runs as, or \
         choose another", path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file cannot be opened, or made.
    #[error(
        "--state-dir: cannot open {} to read and write it: {error}; give it and its directory to the user that \
         mapstorm runs as, or choose another", path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Another process has it.
    #[error(
        "--state-dir: another process, probably another mapstorm, has {} open: give each a directory of its own",
        .0.display()
    )]
    InUse(PathBuf),
    /// A file that is no history stands in the way, and cannot be moved.
    #[error(
        "--state-dir: {} is no history of storms ({why}) and cannot be moved aside: {error}; move it away", path.display()
    )]
    InTheWay {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// Why it cannot be moved.
        error: io::Error,
    },
    /// Reading or writing failed.
    #[error("{}: {error}; is the disk full or failing?", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What redb said.
        error: Box<redb::Error>,
    },
}
