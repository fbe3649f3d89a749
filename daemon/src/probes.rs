//! What became of each probe: the record that the log, `doctor`, the metrics and the API share.

use std::fmt;

use serde::Serialize;

/// How a probe is attached; the label `mechanism`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// A trampoline at the function's entry.
    Fentry,
    /// A trampoline at the function's exit.
    Fexit,
    /// A breakpoint or ftrace call at the function's entry: blind while bpf(2) works on a map.
    Kprobe,
    /// The same at its return, in a pair with a [`Kprobe`](Self::Kprobe) that knows the map.
    #[serde(rename = "kretprobe")]
    PairedKretprobe,
    /// A return probe alone: it knows no map, and counts for the whole host.
    Kretprobe,
    /// A raw tracepoint.
    #[serde(rename = "raw_tp")]
    RawTp,
    /// An iterator over kernel objects.
    Iter,
    /// No probe of its own: computed from another probe's counts.
    Derived,
}

impl Mechanism {
    /// Does it count operations by map?
    pub const fn counts_by_map(self) -> bool {
        matches!(self, Self::Fexit | Self::PairedKretprobe)
    }

    /// Is it put into a function by a trampoline?
    pub const fn is_trampoline(self) -> bool {
        matches!(self, Self::Fentry | Self::Fexit)
    }

    /// Is it kept quiet while bpf(2) works on a map, and inside of programs of its own kind: those of
    /// kprobes, tracepoints and perf events?
    pub const fn is_suppressed(self) -> bool {
        matches!(self, Self::Kprobe | Self::PairedKretprobe | Self::Kretprobe)
    }

    /// Value of the label `mechanism`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fentry => "fentry",
            Self::Fexit => "fexit",
            Self::Kprobe => "kprobe",
            Self::PairedKretprobe | Self::Kretprobe => "kretprobe",
            Self::RawTp => "raw_tp",
            Self::Iter => "iter",
            Self::Derived => "derived",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// Why a probe is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Short and of few values: the label `reason`, for example `notrace` or `eperm`.
    pub reason: &'static str,
    /// What failed, on what, the errno in words.
    pub detail: String,
    /// What a person can do about it.
    pub remedy: String,
}

/// One probe of the plan and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeStatus {
    /// The probe's name: that of its BPF program, and the label `probe`.
    pub probe: &'static str,
    /// What it measures: `pop`, `update`, …
    pub signal: &'static str,
    /// Kernel function or tracepoint it sits on.
    pub hook: String,
    /// How it is attached, or would have been.
    pub mechanism: Mechanism,
    /// `None` when attached, else why not.
    pub refusal: Option<Refusal>,
}

/// Is any of these probes attached?
pub fn any_attached(probes: &[ProbeStatus], of: impl Fn(&ProbeStatus) -> bool) -> bool {
    probes.iter().any(|probe| probe.attached() && of(probe))
}

impl ProbeStatus {
    /// Is the probe attached?
    pub fn attached(&self) -> bool {
        self.refusal.is_none()
    }
}
