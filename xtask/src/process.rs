//! Running other programs: one way to call them, one way to say that they failed.

use std::env;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Context as _, Result, bail};
use nix::sys::{prctl, signal::Signal};

/// The cargo that started us, without the variables that it set for us alone.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::paths::workspace());
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_leak) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether `cargo run` sets this variable for its child: it describes this package, and a build
/// script of another package must not see it.
fn is_leak(name: &str) -> bool {
    const PREFIXES: [&str; 4] = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
    ];
    name == "CARGO_PRIMARY_PACKAGE" || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Runs `command` with our own standard streams.
///
/// # Errors
/// It cannot be started, or ends with a status other than 0.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("{}: {status}", line(command));
    }
    Ok(())
}

/// Runs `command` quietly and returns its standard output; its errors appear only in ours.
///
/// # Errors
/// It cannot be started, ends with a status other than 0, or prints what is not UTF-8.
pub fn capture(command: &mut Command) -> Result<String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| cannot_start(command))?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        bail!("{}: {status}\n{}", line(command), said.trim_end());
    }
    String::from_utf8(stdout).with_context(|| format!("{}: output is not UTF-8", line(command)))
}

/// Makes `command` die with the thread that starts it, even when we are killed and cannot tell it.
pub fn end_with_us(command: &mut Command) {
    let ask = || prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from);
    // SAFETY: between fork and exec `ask` makes one system call; it takes no lock and no memory.
    unsafe { command.pre_exec(ask) };
}

/// Sends each line of `stream`, wrapped, until the stream or the receiver ends. Bytes that are not
/// UTF-8 are replaced.
pub fn forward<T: Send + 'static>(
    stream: impl Read + Send + 'static,
    wrap: fn(String) -> T,
    lines: Sender<T>,
) {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        while stream
            .read_until(b'\n', &mut bytes)
            .is_ok_and(|length| length > 0)
        {
            let text = String::from_utf8_lossy(&bytes);
            if lines
                .send(wrap(text.trim_end_matches(['\r', '\n']).to_owned()))
                .is_err()
            {
                return;
            }
            bytes.clear();
        }
    });
}

/// The first file called `program` in `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| is_program(file))
}

/// Whether `file` exists and may be executed by somebody.
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// `command` as a person would type it, without its environment.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", command.get_program().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command_and_what_it_said() {
        let error = capture(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]));
        let text = error.unwrap_err().to_string();
        assert!(text.starts_with("sh -c") && text.contains("3") && text.ends_with("broken"));
    }

    #[test]
    fn only_what_describes_this_package_is_a_leak() {
        assert!(is_leak("CARGO_PKG_NAME") && is_leak("CARGO_MANIFEST_DIR"));
        assert!(!is_leak("CARGO_HOME") && !is_leak("CARGO_TARGET_DIR"));
    }

    #[test]
    fn programs_are_found_in_path() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-of-mapstorm").is_none());
    }
}
