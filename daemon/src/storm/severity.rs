//! How bad a storm is, in one word.

use serde::{Deserialize, Serialize};

use super::{Scale, SeverityThresholds};

/// How bad a storm is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is there.
    #[default]
    Minor,
    /// It costs a share of a CPU that someone should look at, or many CPUs are in it.
    Major,
    /// It costs CPUs.
    Critical,
}

impl Severity {
    /// How bad it is that so many CPUs burn this much time, seconds per second; `None` where no time
    /// is measured: then the CPUs alone decide.
    pub fn of(thresholds: &SeverityThresholds, cpus: u32, cpu_seconds: Option<f64>) -> Self {
        let reaches = |scale: &Scale| {
            let burns = cpu_seconds.is_some_and(|burnt| burnt >= scale.cpu_seconds_per_second);
            cpus >= scale.cpus || burns
        };
        if reaches(&thresholds.critical) {
            Self::Critical
        } else if reaches(&thresholds.major) {
            Self::Major
        } else {
            Self::Minor
        }
    }

    /// The word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }

    /// The number for it: 1, 2 or 3.
    pub const fn number(self) -> u64 {
        self as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_many_cpus_or_much_time_make_it_worse() {
        let of = |cpus, burnt| Severity::of(&SeverityThresholds::default(), cpus, burnt);
        assert_eq!(of(2, None), Severity::Minor);
        assert_eq!(of(7, Some(0.49)), Severity::Minor);
        assert_eq!(of(8, None), Severity::Major);
        assert_eq!(of(2, Some(0.5)), Severity::Major);
        assert_eq!(of(32, Some(0.0)), Severity::Critical);
        assert_eq!(of(4, Some(4.0)), Severity::Critical);
        assert!(Severity::Minor < Severity::Critical);
        assert_eq!(
            (Severity::Critical.number(), Severity::Critical.label()),
            (3, "critical")
        );
    }
}
