//! What this process may do: its capabilities, and whether they count outside a user namespace.

pub mod memlock;

use std::path::Path;

use serde::Serialize;

use super::{
    answer,
    read::{self, FactError},
};

/// The capabilities that matter here, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[repr(u8)]
pub enum Capability {
    /// Stands for `Bpf` and `Perfmon` too, and alone allows looking objects up by id.
    #[serde(rename = "CAP_SYS_ADMIN")]
    SysAdmin = 21,
    /// Raising a hard limit, needed before 5.11 only.
    #[serde(rename = "CAP_SYS_RESOURCE")]
    SysResource = 24,
    /// Reading kernel addresses.
    #[serde(rename = "CAP_SYSLOG")]
    Syslog = 34,
    /// With `Bpf`: loading and attaching tracing programs.
    #[serde(rename = "CAP_PERFMON")]
    Perfmon = 38,
    /// Using bpf(2).
    #[serde(rename = "CAP_BPF")]
    Bpf = 39,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::SysAdmin,
        Self::SysResource,
        Self::Syslog,
        Self::Perfmon,
        Self::Bpf,
    ];

    /// As capabilities(7) spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysResource => "CAP_SYS_RESOURCE",
            Self::Syslog => "CAP_SYSLOG",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }
}

/// The effective capabilities of the thread that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    effective: u64,
}

impl Capabilities {
    /// From the line `CapEff:` of `/proc/thread-self/status`; `None` when there is none.
    pub fn parse(status: &str) -> Option<Self> {
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))?;
        let effective = u64::from_str_radix(mask.trim(), 16).ok()?;
        Some(Self { effective })
    }

    /// Is this very capability effective?
    pub const fn has(self, capability: Capability) -> bool {
        self.effective >> capability as u8 & 1 == 1
    }

    /// Which capabilities are missing to load and attach tracing programs; none when there are
    /// `CAP_BPF` and `CAP_PERFMON`, or `CAP_SYS_ADMIN`, which stands for both.
    pub fn missing_to_trace(self) -> Vec<Capability> {
        if self.has(Capability::SysAdmin) {
            return Vec::new();
        }
        [Capability::Bpf, Capability::Perfmon]
            .into_iter()
            .filter(|&capability| !self.has(capability))
            .collect()
    }
}

impl Serialize for Capabilities {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let held = Capability::ALL.into_iter().filter(|&one| self.has(one));
        serializer.collect_seq(held)
    }
}

/// What this process may do.
#[derive(Debug, Serialize)]
pub struct Privilege {
    /// Effective capabilities of the reading thread.
    #[serde(serialize_with = "answer")]
    pub capabilities: Result<Capabilities, FactError>,
    /// Is this a user namespace of its own? Its capabilities do not count for bpf(2) tracing.
    #[serde(serialize_with = "answer")]
    pub user_namespace: Result<bool, FactError>,
}

impl Privilege {
    /// Reads `thread-self/status` and `self/uid_map` below `proc`.
    pub fn read(proc: &Path) -> Self {
        Self {
            capabilities: capabilities(&proc.join("thread-self/status")),
            user_namespace: read::text(&proc.join("self/uid_map")).map(|map| !is_initial(&map)),
        }
    }
}

fn capabilities(path: &Path) -> Result<Capabilities, FactError> {
    let text = read::text(path)?;
    Capabilities::parse(&text)
        .ok_or_else(|| FactError::malformed(path, &text, "expected a line CapEff: with a mask"))
}

/// The initial user namespace maps every id to itself; a hint only, since another may do so too.
fn is_initial(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(mask: &str) -> Capabilities {
        let status = format!("Name:\tx\nCapPrm:\t0\nCapEff:\t{mask}\nCapBnd:\tffff\n");
        Capabilities::parse(&status).unwrap()
    }

    #[test]
    fn o02_what_is_missing_to_trace_is_named() {
        use Capability::{Bpf, Perfmon};
        for (mask, missing) in [
            ("000001ffffffffff", &[][..]),
            ("0000000000200000", &[]),
            ("000000c000000000", &[]),
            ("0000008000000000", &[Perfmon]),
            ("0000004000000000", &[Bpf]),
            ("0000000000000000", &[Bpf, Perfmon]),
        ] {
            assert_eq!(with(mask).missing_to_trace(), missing, "{mask}");
        }
        assert!(with("0000000401000000").has(Capability::Syslog));
        assert!(with("0000000401000000").has(Capability::SysResource));
        assert!(!with("0000000401000000").has(Capability::SysAdmin));
    }

    #[test]
    fn capabilities_are_written_by_name() {
        let written = serde_json::to_string(&with("000000c000000000")).unwrap();
        assert_eq!(written, r#"["CAP_PERFMON","CAP_BPF"]"#);
    }

    #[test]
    fn a_status_without_the_line_or_the_mask_is_no_answer() {
        for status in ["", "CapEff:", "CapEff:\txyz", "CapPrm:\t0"] {
            assert_eq!(Capabilities::parse(status), None, "{status:?}");
        }
    }

    #[test]
    fn only_the_whole_identity_map_is_the_initial_user_namespace() {
        assert!(is_initial("         0          0 4294967295\n"));
        assert!(!is_initial("         0       1000          1\n"));
        assert!(!is_initial("0 100000 65536\n65536 1000 1\n"));
        assert!(!is_initial(""));
    }
}
