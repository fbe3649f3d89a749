//! Settings of this host that take something from a BPF program, or from who loads one.

use std::path::Path;

use serde::Serialize;

use super::{
    answer,
    read::{self, FactError},
};

/// How far the kernel is locked down against its own root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lockdown {
    /// Not at all.
    None,
    /// The kernel cannot be modified; BPF programs load.
    Integrity,
    /// Its memory cannot be read either: programs that use `bpf_probe_read` are refused with EPERM.
    Confidentiality,
}

impl Lockdown {
    /// As the kernel names it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
        }
    }

    /// The state in brackets: `none [integrity] confidentiality`.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once('[')?;
        let (state, _) = rest.split_once(']')?;
        [Self::None, Self::Integrity, Self::Confidentiality]
            .into_iter()
            .find(|candidate| candidate.label() == state)
    }
}

/// What restricts BPF on this host; each setting may be unknown on its own.
#[derive(Debug, Serialize)]
pub struct Security {
    /// Lockdown; unknown where the kernel is built without it or securityfs is not mounted.
    #[serde(serialize_with = "answer")]
    pub lockdown: Result<Lockdown, FactError>,
    /// `kernel.unprivileged_bpf_disabled`: 0 anyone may use bpf(2), 1 and 2 the privileged only.
    #[serde(serialize_with = "answer")]
    pub unprivileged_bpf_disabled: Result<i32, FactError>,
    /// `kernel.kptr_restrict`: with 2 kernel addresses read as zero, even for root.
    #[serde(serialize_with = "answer")]
    pub kptr_restrict: Result<i32, FactError>,
    /// `kernel.perf_event_paranoid`: from 3 on some distributions refuse perf events altogether.
    #[serde(serialize_with = "answer")]
    pub perf_event_paranoid: Result<i32, FactError>,
}

impl Security {
    /// Reads `sys/kernel/…` below `proc` and `kernel/security/lockdown` below `sys`.
    pub fn read(proc: &Path, sys: &Path) -> Self {
        let sysctl = |name| read::number(&proc.join("sys/kernel").join(name));
        Self {
            lockdown: lockdown(&sys.join("kernel/security/lockdown")),
            unprivileged_bpf_disabled: sysctl("unprivileged_bpf_disabled"),
            kptr_restrict: sysctl("kptr_restrict"),
            perf_event_paranoid: sysctl("perf_event_paranoid"),
        }
    }
}

fn lockdown(path: &Path) -> Result<Lockdown, FactError> {
    let text = read::text(path)?;
    let expected = "expected none, integrity or confidentiality in brackets";
    Lockdown::parse(&text).ok_or_else(|| FactError::malformed(path, &text, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o27_the_state_of_lockdown_is_the_one_in_brackets() {
        for (text, state) in [
            ("[none] integrity confidentiality\n", Some(Lockdown::None)),
            (
                "none [integrity] confidentiality\n",
                Some(Lockdown::Integrity),
            ),
            (
                "none integrity [confidentiality]\n",
                Some(Lockdown::Confidentiality),
            ),
            ("none integrity confidentiality\n", None),
            ("none [total] integrity", None),
            ("[none", None),
            ("", None),
        ] {
            assert_eq!(Lockdown::parse(text), state, "{text:?}");
        }
    }

    #[test]
    fn a_host_without_any_of_the_files_knows_nothing_and_says_which() {
        let security = Security::read(Path::new("/nonexistent"), Path::new("/nonexistent"));
        let text = security.lockdown.unwrap_err().to_string();
        assert!(
            text.contains("/nonexistent/kernel/security/lockdown: No such file"),
            "{text}"
        );
        assert!(security.kptr_restrict.is_err());
    }
}
