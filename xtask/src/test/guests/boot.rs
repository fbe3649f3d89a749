//! One boot of one suite: the guest, the conversation with it, and what came of it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};

use super::Plan;
use super::pool::Voice;
use super::suites::Suite;
use super::tally::Tally;
use crate::interrupt;
use crate::kernels;
use crate::paths;
use crate::test::speech::Said;
use crate::test::table::Verdict;
use crate::vm::{Guest, GuestFile, Line, qemu};

/// A suite on a kernel.
pub(super) struct Boot {
    pub(super) era: &'static str,
    pub(super) suite: &'static Suite,
    /// How many tests it has.
    pub(super) tests: usize,
}

/// What came of a boot.
pub(super) struct Outcome {
    /// What the suite said.
    pub(super) said: Tally,
    /// That the boot ran to its end is a result, too.
    pub(super) verdict: Verdict,
    /// How long it took, seconds.
    pub(super) seconds: f64,
}

impl Boot {
    /// How people call it.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.era, self.suite.name)
    }

    /// Where its console is kept.
    fn log(&self) -> PathBuf {
        let file = format!("{}-{}.log", self.era, self.suite.name);
        paths::target().join("guest-logs").join(file)
    }

    /// Boots, listens, and says how it goes.
    pub(super) fn run(&self, plan: &Plan<'_>, voice: &Voice, progress: &str) -> Outcome {
        let log = self.log();
        let (count, file) = (self.tests, log.display());
        voice.say(format!("{progress}, {count} tests, console in {file}"));
        let started = Instant::now();
        let mut said = Tally::default();
        let verdict = match self.converse(plan, voice, &log, &mut said) {
            Ok(()) => Verdict::Passed,
            Err(error) => {
                let text = format!("{error:#}");
                voice.say(format!("FAILED: {text}"));
                Verdict::Failed(text.lines().next().unwrap_or_default().to_owned())
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        voice.say(format!("ended after {seconds:.0} s"));
        Outcome {
            said,
            verdict,
            seconds,
        }
    }

    /// Boots the guest and notes what the suite says.
    fn converse(
        &self,
        plan: &Plan<'_>,
        voice: &Voice,
        log: &Path,
        tally: &mut Tally,
    ) -> Result<()> {
        if interrupt::requested() {
            bail!("interrupted");
        }
        let (guest, command) = (self.guest(plan, log)?, self.command(plan));
        let mut since = Instant::now();
        let ending = guest.run(&command, |line| {
            let Line::Command(text) = line else { return };
            let Some(said) = Said::parse(text) else {
                return;
            };
            if let Said::Test { name, verdict } = &said {
                let (nth, seconds) = (tally.results.len() + 1, since.elapsed().as_secs_f64());
                since = Instant::now();
                let (word, of) = (word(verdict), self.tests);
                voice.say(format!("{nth:2}/{of} {word:7} {name} ({seconds:.1} s)"));
            }
            tally.hear(said);
        })?;
        tally.check(ending, self.tests)
    }

    fn guest(&self, plan: &Plan<'_>, log: &Path) -> Result<Guest> {
        let append = self.suite.append.iter();
        Ok(Guest {
            cpus: self.suite.cpus,
            cpu: self.suite.cpu.into(),
            accel: qemu::DEFAULT_ACCEL.into(),
            append: append.map(|parameter| (*parameter).to_owned()).collect(),
            files: vec![
                GuestFile::program(plan.binaries.mapstorm(), "mapstorm"),
                GuestFile::program(plan.program.clone(), "guest-suite"),
            ],
            log: Some(log.to_path_buf()),
            ..Guest::new(kernels::resolve(self.era)?, plan.binaries.guest_init())
        })
    }

    fn command(&self, plan: &Plan<'_>) -> Vec<String> {
        let words = ["/bin/guest-suite", "--mapstorm", "/bin/mapstorm"];
        let mut command: Vec<String> = words.map(str::to_owned).to_vec();
        command.extend(plan.choice(self.suite));
        command
    }
}

/// A verdict as one word.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "ok",
        Verdict::Failed(_) => "FAILED",
        Verdict::Skipped(_) => "skipped",
    }
}
