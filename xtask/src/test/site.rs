//! What the daemon serves, met by tools of others: the page in Chromium, the API under a fuzzer.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::steps::Checks;
use super::table::Verdict;
use crate::setup::{self, Purpose};
use crate::{paths, process};

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
        clippy.args(["--test", "page", "--test", "fuzz"]);
        clippy.env_remove("MAPSTORM_BPF_DIR");
        process::run(clippy.args(["--", "--deny", "warnings"])).map(|()| Verdict::Passed)
    });
    checks.step("the page in Chromium", || {
        setup::ensure(&[Purpose::Browser])?;
        test("page", None)
    });
    checks.step("the API under schemathesis", || {
        test("fuzz", Some(&setup::fuzzer()?))
    });
}

/// Runs a test of the daemon that `cargo test` leaves out, one of it at a time. What it prints appears
/// only when it fails.
fn test(name: &str, fuzzer: Option<&Path>) -> Result<Verdict> {
    let mut test = process::cargo();
    test.args(["test", "--quiet", "--package", "mapstorm", "--test", name]);
    test.env_remove("MAPSTORM_BPF_DIR").stderr(Stdio::inherit());
    if let Some(fuzzer) = fuzzer {
        test.env("MAPSTORM_SCHEMATHESIS", fuzzer);
    }
    let output = { test.args(["--", "--test-threads=1"]) }
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        bail!("{}\n{}", process::line(&test), said.trim());
    }
    Ok(Verdict::Passed)
}
