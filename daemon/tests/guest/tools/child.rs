//! Programs that run to their end.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// What a program left behind.
pub(crate) struct Finished {
    /// Its exit status; `None` when a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `command` to its end.
pub(crate) fn finish(mut command: Command) -> Result<Finished> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    Ok(Finished {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

impl Finished {
    /// Fails unless the program ended with `status`.
    pub(crate) fn ended_with(&self, status: i32) -> Result<()> {
        let (found, stderr) = (self.status, self.stderr.trim());
        ensure!(
            found == Some(status),
            "exit status {found:?}, expected {status}; it said: {stderr}"
        );
        Ok(())
    }

    /// Fails unless the program ended with `status` and one error on standard error, which has all
    /// of `words` in it. Details of the error may follow, indented.
    pub(crate) fn refused_with(&self, status: i32, words: &[&str]) -> Result<()> {
        self.ended_with(status)?;
        let errors = self.stderr.lines().filter(|line| line.starts_with("error"));
        ensure!(
            errors.count() == 1,
            "expected one error, found: {}",
            self.stderr
        );
        for word in words {
            ensure!(
                self.stderr.contains(word),
                "`{word}` is not in: {}",
                self.stderr
            );
        }
        Ok(())
    }

    /// Its standard output as JSON.
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("no JSON: {}", self.stdout))
    }
}
