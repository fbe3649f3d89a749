//! What the supervisor says about the course of the demo, one line each.

use std::fmt;

/// A step of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The daemon answers that it is ready.
    Ready,
    /// This drill begins.
    DrillStarts(u32),
    /// This drill is over.
    DrillEnds(u32),
}

const PREFIX: &str = "demo: ";

impl Phase {
    /// The step that a line of the supervisor tells of, if it does.
    pub fn parse(line: &str) -> Option<Self> {
        let text = line.strip_prefix(PREFIX)?;
        if text == "the daemon is ready" {
            return Some(Self::Ready);
        }
        let (number, what) = text.strip_prefix("drill ")?.split_once(' ')?;
        let number = number.parse().ok()?;
        match what {
            "starts" => Some(Self::DrillStarts(number)),
            "ends" => Some(Self::DrillEnds(number)),
            _ => None,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => write!(f, "{PREFIX}the daemon is ready"),
            Self::DrillStarts(number) => write!(f, "{PREFIX}drill {number} starts"),
            Self::DrillEnds(number) => write!(f, "{PREFIX}drill {number} ends"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_the_line() {
        for phase in [Phase::Ready, Phase::DrillStarts(1), Phase::DrillEnds(12)] {
            assert_eq!(Phase::parse(&phase.to_string()), Some(phase));
        }
        for line in [
            "",
            "demo: ",
            "demo: drill x starts",
            "drill 1 starts",
            "demo: drill 1",
        ] {
            assert_eq!(Phase::parse(line), None, "{line:?}");
        }
    }
}
