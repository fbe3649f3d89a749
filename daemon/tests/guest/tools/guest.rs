//! The machine under test: its kernel, its processors, the program.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result};
use mapstorm::facts::{CpuList, Cpus, Kernel, kernel::Version};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};

use super::{
    child::{self, Finished},
    kernel_log::KernelLog,
};

/// Where processors are described and switched.
const SYS: &str = "/sys";

/// Everything the tests share. Nothing in it changes while they run.
pub(crate) struct Guest {
    pub(crate) kernel: Kernel,
    /// What the kernel has said since the suite began.
    pub(crate) log: KernelLog,
    mapstorm: PathBuf,
}

impl Guest {
    /// Looks at the machine and removes the limit on locked memory, which BPF maps counted against
    /// before 5.11.
    pub(crate) fn new(mapstorm: &str) -> Result<Self> {
        setrlimit(Resource::RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY)
            .context("the suite must be root: it cannot raise RLIMIT_MEMLOCK")?;
        Ok(Self {
            kernel: Kernel::running()?,
            log: KernelLog::from_now_on()?,
            mapstorm: mapstorm.into(),
        })
    }

    /// The processors as they are now.
    pub(crate) fn cpus(&self) -> Result<Cpus> {
        Ok(Cpus::read(Path::new(SYS))?)
    }

    /// Those that are online now.
    pub(crate) fn online(&self) -> Result<CpuList> {
        Ok(self.cpus()?.online)
    }

    /// Is the kernel at least this version?
    pub(crate) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        let least = Version::new(major, minor);
        self.kernel.version.is_some_and(|version| version >= least)
    }

    /// Can freelist pops be hooked and timed? `percpu_freelist.o` is built without ftrace since 6.13
    /// (commit c83508da5620).
    pub(crate) fn pops_are_timed(&self) -> bool {
        !self.is_at_least(6, 13)
    }

    /// Can waits for locks be seen? The tracepoints came with 5.19.
    pub(crate) fn reports_lock_waits(&self) -> bool {
        self.is_at_least(5, 19)
    }

    /// The program with these arguments, nothing on its standard input, and an environment of its
    /// own: `MAPSTORM_…` variables are flags.
    pub(crate) fn mapstorm(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Command {
        let mut command = Command::new(&self.mapstorm);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .env_clear()
            .env("RUST_BACKTRACE", "1");
        command
    }

    /// Runs the program with these arguments to its end.
    pub(crate) fn finish<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Finished> {
        child::finish(self.mapstorm(arguments))
    }
}
