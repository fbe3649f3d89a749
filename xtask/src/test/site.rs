//! What the daemon serves, met by tools of others: the page in Chromium, the API under a fuzzer.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::steps::Checks;
use super::table::Verdict;
use crate::artifacts::Binaries;
use crate::demo::{Said, Stage, phase::Phase};
use crate::setup::{self, Purpose};
use crate::{kernels, paths, process};

/// Files of others within the page, and their checksums.
const VENDORED: &str = "daemon/src/http/assets/vendor";

/// Every check of them. Each runs whatever became of the others.
pub(super) fn run(checks: &mut Checks) {
    checks.step("files of others, by their checksums", || {
        let mut check = Command::new("sha256sum");
        check.args(["--check", "--strict", "--quiet", "SHA256SUMS"]);
        check.current_dir(paths::workspace().join(VENDORED));
        process::run(&mut check).map(|()| Verdict::Passed)
    });
    checks.step("lints, page and fuzzer tests", || {
        let mut clippy = process::cargo();
        clippy.args(["clippy", "--quiet", "--package", "mapstorm"]);
        clippy.args(["--test", "page", "--test", "guest_page", "--test", "fuzz"]);
        clippy.env_remove("MAPSTORM_BPF_DIR");
        process::run(clippy.args(["--", "--deny", "warnings"])).map(|()| Verdict::Passed)
    });
    checks.step("the page in Chromium", || {
        setup::ensure(&[Purpose::Browser])?;
        test("page", &[])
    });
    checks.step("the API under schemathesis", || {
        let fuzzer = setup::fuzzer()?;
        test("fuzz", &[("MAPSTORM_SCHEMATHESIS", fuzzer.as_os_str())])
    });
}

/// The page of a daemon that watches a real kernel, in a guest that makes one storm after the other.
pub(super) fn of_a_guest(binaries: &Binaries) -> Result<Verdict> {
    /// What takes longer has hung.
    const GUARD: Duration = Duration::from_secs(600);
    setup::ensure(&[Purpose::Browser])?;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let kernel = kernels::resolve(kernels::DEFAULT)?;
    let wishes = ["--seconds", "10", "--pause", "10"].map(str::to_owned);
    let mut stage = Stage::guest(kernel, binaries, port, &wishes)?;
    let started = Instant::now();
    while started.elapsed() < GUARD {
        match stage.next(Duration::from_secs(1))? {
            Said::Line(line) if Phase::parse(&line) == Some(Phase::Ready) => {
                let url = format!("http://127.0.0.1:{port}/");
                return test("guest_page", &[("MAPSTORM_GUEST", url.as_ref())]);
            }
            Said::Line(_) | Said::Nothing => {}
            Said::Ended(status) => bail!("the guest ended with status {status}"),
        }
    }
    bail!("the guest's daemon was not ready within {GUARD:?}")
}

/// Runs a test of the daemon that `cargo test` leaves out, one of it at a time. What it prints appears
/// only when it fails.
fn test(name: &str, variables: &[(&str, &OsStr)]) -> Result<Verdict> {
    let mut test = process::cargo();
    test.args(["test", "--quiet", "--package", "mapstorm", "--test", name]);
    test.env_remove("MAPSTORM_BPF_DIR").stderr(Stdio::inherit());
    test.envs(variables.iter().copied());
    let output = { test.args(["--", "--test-threads=1"]) }
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        bail!("{}\n{}", process::line(&test), said.trim());
    }
    Ok(Verdict::Passed)
}
