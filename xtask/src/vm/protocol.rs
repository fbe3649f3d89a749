//! What a guest and its host agree on: where the command is, and how its end is reported.
//!
//! The guest has two serial ports. The kernel owns the first. The second carries the command's
//! output, and among it lines that begin with a token that the host made up for this boot: no
//! command can know it by accident, so output is never taken for a report.

use std::fmt;

/// File in the guest: the words of the command, each followed by a zero byte.
pub const COMMAND_FILE: &str = "/etc/mapstorm/command";

/// File in the guest: paths of the modules to load, one a line, in order.
pub const MODULES_FILE: &str = "/etc/mapstorm/modules";

/// The serial port of command and reports.
pub const COMMAND_TTY: &str = "/dev/ttyS1";

/// The kernel parameter that carries the token. The dot keeps it out of init's environment.
const PARAMETER: &str = "mapstorm.token=";

/// The secret that marks reports of one boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token nobody else has: the kernel makes a new one for every read.
    ///
    /// # Errors
    /// /proc is not mounted.
    pub fn random() -> std::io::Result<Self> {
        let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
        Ok(Self(uuid.trim().to_owned()))
    }

    /// The token in a kernel command line.
    pub fn from_command_line(line: &str) -> Option<Self> {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(PARAMETER))
            .map(|token| Self(token.to_owned()))
    }

    /// The token as a kernel parameter.
    pub fn parameter(&self) -> String {
        format!("{PARAMETER}{}", self.0)
    }
}

/// A word from the guest's init about the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Init runs and is about to start the command.
    Started,
    /// The command ended with this status.
    Exited(i32),
    /// A signal ended the command.
    Signalled(i32),
    /// The command could not be run, for this reason.
    Failed(String),
}

impl Report {
    /// The report as a line, without its end.
    pub fn line(&self, token: &Token) -> String {
        format!("{} {self}", token.0)
    }

    /// The report in `line`, if it is one.
    pub fn parse(line: &str, token: &Token) -> Option<Self> {
        let text = line.strip_prefix(&token.0)?.strip_prefix(' ')?;
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "started" => Some(Self::Started),
            "exited" => rest.parse().ok().map(Self::Exited),
            "signalled" => rest.parse().ok().map(Self::Signalled),
            "failed" => Some(Self::Failed(rest.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => write!(f, "started"),
            Self::Exited(status) => write!(f, "exited {status}"),
            Self::Signalled(signal) => write!(f, "signalled {signal}"),
            Self::Failed(reason) => write!(f, "failed {}", reason.replace('\n', "; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_line() {
        let token = Token::random().unwrap();
        for report in [
            Report::Started,
            Report::Exited(64),
            Report::Signalled(9),
            Report::Failed("no such file".into()),
        ] {
            assert_eq!(Report::parse(&report.line(&token), &token), Some(report));
        }
    }

    #[test]
    fn output_is_not_a_report() {
        let token = Token::from_command_line("quiet mapstorm.token=abc panic=-1").unwrap();
        for line in [
            "",
            "exited 0",
            "abcd exited 0",
            "abc",
            "abc exited",
            "x abc exited 0",
        ] {
            assert_eq!(Report::parse(line, &token), None, "{line:?}");
        }
    }

    #[test]
    fn the_token_travels_on_the_kernel_command_line() {
        let token = Token::random().unwrap();
        let line = format!("console=ttyS0 {} quiet", token.parameter());
        assert_eq!(Token::from_command_line(&line), Some(token));
        assert_eq!(Token::from_command_line("console=ttyS0"), None);
    }
}
