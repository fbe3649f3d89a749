//! The file system of a guest: static binaries, modules, the command, empty mount points.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::cpio::Archive;
use super::modules::Module;
use super::protocol::{COMMAND_FILE, MODULES_FILE};

/// A file of the host to put into the guest, with its permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestFile {
    /// Where it is on the host.
    pub host: PathBuf,
    /// Where it goes: an absolute path.
    pub guest: String,
}

impl GuestFile {
    /// A program that goes to /bin.
    pub fn program(host: PathBuf, name: &str) -> Self {
        Self {
            host,
            guest: format!("/bin/{name}"),
        }
    }
}

impl std::str::FromStr for GuestFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((host, guest)) if guest.len() > 1 && guest.starts_with('/') => Ok(Self {
                host: host.into(),
                guest: guest.into(),
            }),
            _ => Err("expected HOST:GUEST, where GUEST is an absolute path".into()),
        }
    }
}

/// Directories that every guest has.
const DIRECTORIES: [&str; 13] = [
    "/bin",
    "/dev",
    "/etc",
    "/etc/mapstorm",
    "/modules",
    "/proc",
    "/root",
    "/run",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/var/lib",
];

/// Builds the archive. Nothing is compressed: emulated processors unpack more slowly than memory
/// is copied.
///
/// # Errors
/// A file cannot be read, or the command holds a zero byte.
pub(super) fn build(
    init: &Path,
    files: &[GuestFile],
    modules: &[Module],
    command: &[String],
) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    let mut directories: Vec<String> = DIRECTORIES.map(str::to_owned).to_vec();
    for directory in &directories {
        archive.directory(directory);
    }
    // The kernel opens it for init's standard streams before anything is mounted.
    archive.device("/dev/console", 5, 1);
    archive.file("/init", 0o755, &read(init)?);
    archive.file("/etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\n");
    archive.file("/etc/group", 0o644, b"root:x:0:\n");
    archive.file("/etc/hosts", 0o644, b"127.0.0.1 localhost\n");
    archive.file(COMMAND_FILE, 0o644, &command_words(command)?);
    let mut order = String::new();
    for module in modules {
        let path = format!("/modules/{}.ko", module.name);
        archive.file(&path, 0o644, &module.object);
        order += &format!("{path}\n");
    }
    archive.file(MODULES_FILE, 0o644, order.as_bytes());
    for file in files {
        add_parents(&file.guest, &mut directories, &mut archive);
        archive.file(&file.guest, permissions(&file.host)?, &read(&file.host)?);
    }
    Ok(archive.finish())
}

/// Adds the directories above `path` that are not there yet.
fn add_parents(path: &str, directories: &mut Vec<String>, archive: &mut Archive) {
    for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0) {
        let parent = &path[..at];
        if !directories.iter().any(|directory| directory == parent) {
            archive.directory(parent);
            directories.push(parent.to_owned());
        }
    }
}

/// The command as [`COMMAND_FILE`] holds it.
fn command_words(command: &[String]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for word in command {
        if word.contains('\0') {
            bail!("the command holds a zero byte: {word:?}");
        }
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    Ok(bytes)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn permissions(file: &Path) -> Result<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let meta = file
        .metadata()
        .with_context(|| format!("cannot read {}", file.display()))?;
    Ok(meta.permissions().mode())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_host_and_guest() {
        let file: GuestFile = "/tmp/x:/opt/y".parse().unwrap();
        assert_eq!(
            file,
            GuestFile {
                host: "/tmp/x".into(),
                guest: "/opt/y".into()
            }
        );
        for wrong in ["/tmp/x", "/tmp/x:", "/tmp/x:y", "/tmp/x:/"] {
            assert!(wrong.parse::<GuestFile>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn missing_parents_are_added_once() {
        let mut directories = vec!["/opt".to_owned()];
        let mut archive = Archive::default();
        add_parents("/opt/a/b/c", &mut directories, &mut archive);
        add_parents("/opt/a/d", &mut directories, &mut archive);
        assert_eq!(directories, ["/opt", "/opt/a", "/opt/a/b"]);
    }

    #[test]
    fn words_of_the_command_keep_their_spaces() {
        let words = command_words(&["sh".into(), "a b".into()]).unwrap();
        assert_eq!(words, b"sh\0a b\0");
        assert!(command_words(&["a\0b".into()]).is_err());
    }
}
