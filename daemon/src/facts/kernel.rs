//! Which kernel runs here, and what follows from its release alone.

use std::fmt;

use nix::sys::utsname;
use serde::Serialize;

/// Why mapstorm cannot work on this machine at all.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The probes are built for another architecture.
    #[error(
        "this machine is {found}, mapstorm's probes know the calling convention of x86_64 only: \
         run it on an x86-64 host"
    )]
    Architecture {
        /// The machine as `uname -m` prints it.
        found: String,
    },
    /// `uname` failed.
    #[error("cannot learn the kernel's release: uname: {errno}; a seccomp filter may forbid it")]
    Uname {
        /// What the system said.
        errno: nix::Error,
    },
}

/// A kernel's version as far as features depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Version {
    /// 6 of 6.12.117.
    pub major: u32,
    /// 12 of 6.12.117.
    pub minor: u32,
}

impl Version {
    /// `Version::new(6, 12)` is 6.12.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The version that a release starts with; `None` when it starts otherwise.
    fn of(release: &str) -> Option<Self> {
        let (major, rest) = release.split_once('.')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let minor = &rest[..digits.unwrap_or(rest.len())];
        Some(Self::new(major.parse().ok()?, minor.parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// How an update on a full preallocated hash map looks for a free element; the label `freelist`.
///
/// Told by the release, so only likely: distribution kernels carry backports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FreelistGeneration {
    /// Before 6.0: it takes the lock of every possible CPU's list, empty or not.
    LocksEveryList,
    /// Since 6.0 (commit 54a9c3a42d92): it looks whether a list is empty before it locks.
    LooksFirst,
    /// The release names no version.
    Unknown,
}

impl FreelistGeneration {
    /// Value of the label `freelist`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::LocksEveryList => "locks_every_list",
            Self::LooksFirst => "looks_first",
            Self::Unknown => "unknown",
        }
    }
}

/// A kernel function that came with safe trampolines. It is called by its address: it cannot have
/// been inlined.
pub const TRAMPOLINE_FIX: &str = "__bpf_tramp_image_put_rcu";

/// The running kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// As `uname -r` prints it.
    pub release: String,
    /// The version in it; `None` when it names none.
    pub version: Option<Version>,
    /// How a full map looks for a free element, by release.
    pub generation: FreelistGeneration,
    /// Can a tracing program run inside itself on one CPU? The kernel prevents it since 5.12; true
    /// when the version is unknown, because that is the safe side.
    pub self_nesting: bool,
    /// Can trampolines crash the kernel when they come and go? Before 5.12 one could be freed while a
    /// task slept in it (fixed by commit e21aa341785c); stable kernels of 5.10 and 5.11 have the
    /// fix, so a function of it says more: [`TRAMPOLINE_FIX`]. True when the version is unknown.
    pub unsafe_trampolines: bool,
    /// Does the kernel count the runs of kprobe programs that it skips? Since 6.7 (commit
    /// dd8657894c11); false when the version is unknown.
    pub counts_kprobe_misses: bool,
    /// Is BPF memory charged to `RLIMIT_MEMLOCK`? Since 5.11 it is charged to the control group;
    /// true when the version is unknown.
    pub charges_memlock: bool,
}

impl Kernel {
    /// The kernel that runs this program.
    ///
    /// # Errors
    /// See [`KernelError`]; both end the program.
    pub fn running() -> Result<Self, KernelError> {
        let name = utsname::uname().map_err(|errno| KernelError::Uname { errno })?;
        Self::new(
            &name.release().to_string_lossy(),
            &name.machine().to_string_lossy(),
        )
    }

    /// The kernel that `uname` would describe with this release and machine.
    ///
    /// # Errors
    /// [`KernelError::Architecture`] for a machine other than `x86_64`.
    pub fn new(release: &str, machine: &str) -> Result<Self, KernelError> {
        if machine != "x86_64" {
            return Err(KernelError::Architecture {
                found: machine.into(),
            });
        }
        let version = Version::of(release);
        let before =
            |major, minor| version.is_none_or(|version| version < Version::new(major, minor));
        Ok(Self {
            release: release.into(),
            version,
            generation: match version {
                None => FreelistGeneration::Unknown,
                Some(version) if version < Version::new(6, 0) => FreelistGeneration::LocksEveryList,
                Some(_) => FreelistGeneration::LooksFirst,
            },
            self_nesting: before(5, 12),
            unsafe_trampolines: before(5, 12),
            counts_kprobe_misses: !before(6, 7),
            charges_memlock: before(5, 11),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(release: &str) -> Kernel {
        Kernel::new(release, "x86_64").unwrap()
    }

    #[test]
    fn a_release_tells_version_generation_nesting_and_memlock() {
        use FreelistGeneration::{LocksEveryList, LooksFirst, Unknown};
        for (release, version, generation, nesting, memlock) in [
            (
                "5.10.0-46-cloud-amd64",
                Some((5, 10)),
                LocksEveryList,
                true,
                true,
            ),
            ("5.11.0", Some((5, 11)), LocksEveryList, true, false),
            ("5.12", Some((5, 12)), LocksEveryList, false, false),
            ("5.19.17", Some((5, 19)), LocksEveryList, false, false),
            ("6.0-rc1", Some((6, 0)), LooksFirst, false, false),
            (
                "6.12.117+deb12-rt-amd64",
                Some((6, 12)),
                LooksFirst,
                false,
                false,
            ),
            ("10.2.1", Some((10, 2)), LooksFirst, false, false),
            ("custom", None, Unknown, true, true),
            ("6.", None, Unknown, true, true),
            ("", None, Unknown, true, true),
        ] {
            let kernel = kernel(release);
            let version = version.map(|(major, minor)| Version::new(major, minor));
            assert_eq!(kernel.version, version, "{release}");
            assert_eq!(kernel.generation, generation, "{release}");
            assert_eq!(kernel.self_nesting, nesting, "{release}");
            assert_eq!(kernel.charges_memlock, memlock, "{release}");
            // Both came with 5.12.
            assert_eq!(kernel.unsafe_trampolines, nesting, "{release}");
        }
    }

    #[test]
    fn skipped_runs_of_kprobes_are_counted_since_6_7() {
        for (release, counts) in [("6.6.9", false), ("6.7.0", true), ("vendor", false)] {
            assert_eq!(kernel(release).counts_kprobe_misses, counts, "{release}");
        }
    }

    #[test]
    fn another_architecture_is_one_clear_error() {
        let text = Kernel::new("6.12.0", "aarch64").unwrap_err().to_string();
        assert!(text.starts_with("this machine is aarch64"), "{text}");
        assert!(text.ends_with("run it on an x86-64 host"), "{text}");
    }

    #[test]
    fn the_generation_is_written_as_its_label() {
        for generation in [
            FreelistGeneration::LocksEveryList,
            FreelistGeneration::LooksFirst,
            FreelistGeneration::Unknown,
        ] {
            let written = serde_json::to_value(generation).unwrap();
            assert_eq!(written, generation.label());
        }
    }
}
