//! An apt of our own: the machine's mirrors and settings, but other suites and private state, so
//! nothing that the machine has installed or listed is touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::catalog::{ARCHIVE_SUITES, SECURITY_SUITES};
use super::sources;
use crate::process;

/// The key ring that every suite is verified against.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// apt with private state in one directory.
pub(super) struct Apt {
    dir: PathBuf,
}

impl Apt {
    /// Prepares the state in `dir` and refreshes the lists; apt verifies them by signature.
    ///
    /// # Errors
    /// The machine's sources name no Debian mirror, or apt cannot reach it.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        for part in ["lists/partial", "cache/archives/partial"] {
            let part = dir.join(part);
            fs::create_dir_all(&part)
                .with_context(|| format!("cannot create {}", part.display()))?;
        }
        let apt = Self {
            dir: dir.to_path_buf(),
        };
        fs::write(apt.sources(), own_sources()?)
            .with_context(|| format!("cannot write {}", apt.sources().display()))?;
        process::capture(apt.command("apt-get").arg("update"))
            .context("the package lists of the test kernels cannot be read")?;
        Ok(apt)
    }

    /// Names of all packages that begin with `prefix`.
    ///
    /// # Errors
    /// apt-cache fails.
    pub(super) fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let names = process::capture(self.command("apt-cache").args(["pkgnames", prefix]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Downloads the newest version of each package into `dir` and returns the files.
    ///
    /// # Errors
    /// apt cannot fetch or verify a package, or `dir` cannot be read.
    pub(super) fn download(&self, packages: &[String], dir: &Path) -> Result<Vec<PathBuf>> {
        process::capture(
            self.command("apt-get")
                .current_dir(dir)
                .arg("download")
                .args(packages),
        )
        .with_context(|| format!("cannot download {}", packages.join(", ")))?;
        let mut files = Vec::new();
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "deb") {
                files.push(path);
            }
        }
        if files.len() != packages.len() {
            bail!(
                "asked apt for {} packages and got {} files",
                packages.len(),
                files.len()
            );
        }
        Ok(files)
    }

    fn sources(&self) -> PathBuf {
        self.dir.join("sources.list")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let option = |name: &str, value: &Path| format!("-o{name}={}", value.display());
        command
            .arg(option("Dir::Etc::SourceList", &self.sources()))
            .arg("-oDir::Etc::SourceParts=/dev/null")
            .arg(option("Dir::State::Lists", &self.dir.join("lists")))
            .arg(option("Dir::Cache", &self.dir.join("cache")))
            .arg("-oAPT::Architecture=amd64")
            .arg("-oAPT::Architectures=amd64")
            .arg("-oAcquire::Languages=none");
        if nix::unistd::geteuid().is_root() {
            // The user _apt cannot write into a home directory.
            command.arg("-oAPT::Sandbox::User=root");
        }
        command
    }
}

/// The text of our sources.list: the suites of the catalogue on the machine's own mirrors.
fn own_sources() -> Result<String> {
    let files = machine_sources(Path::new("/etc/apt"))?;
    let mirrors = sources::mirrors(
        files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    );
    let Some(archive) = mirrors.archive else {
        bail!(
            "no Debian mirror in /etc/apt/sources.list or /etc/apt/sources.list.d: add one, the \
             test kernels are Debian packages"
        );
    };
    let line = |uri: &str, suite: &str| format!("deb [signed-by={KEYRING}] {uri} {suite} main\n");
    let mut text: String = ARCHIVE_SUITES
        .iter()
        .map(|suite| line(&archive, suite))
        .collect();
    if let Some(security) = mirrors.security {
        text.extend(SECURITY_SUITES.iter().map(|suite| line(&security, suite)));
    }
    Ok(text)
}

/// apt's source files below `etc`, in the order in which apt reads them.
fn machine_sources(etc: &Path) -> Result<Vec<(String, String)>> {
    let mut files = vec![etc.join("sources.list")];
    if let Ok(parts) = fs::read_dir(etc.join("sources.list.d")) {
        let mut parts: Vec<PathBuf> = parts.flatten().map(|entry| entry.path()).collect();
        parts.retain(|part| {
            part.extension()
                .is_some_and(|e| e == "list" || e == "sources")
        });
        parts.sort();
        files.extend(parts);
    }
    files.retain(|file| file.is_file());
    let read = |file: PathBuf| {
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok((file.to_string_lossy().into_owned(), text))
    };
    files.into_iter().map(read).collect()
}
