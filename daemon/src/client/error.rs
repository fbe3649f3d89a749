//! Why a request came to nothing.

use std::io;

/// A request that came to nothing: where it went, and why.
#[derive(Debug, thiserror::Error)]
#[error("{target}: {reason}")]
pub struct ClientError {
    /// What was asked, without a password.
    pub target: String,
    /// Why.
    pub reason: Reason,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Nobody listens there.
    #[error("nobody listens there (connection refused)")]
    Refused,
    /// The name is not known.
    #[error("no such host")]
    NoHost,
    /// It took too long.
    #[error("no answer in time")]
    Timeout,
    /// It answered with another status than was hoped for.
    #[error("the answer's status is {0}")]
    Status(u16),
    /// It answered with another status, and said why.
    #[error("the answer's status is {status}: {detail}")]
    Problem {
        /// The status.
        status: u16,
        /// Why, in its words.
        detail: String,
    },
    /// It answers, but has no such page (404).
    #[error("no mapstorm of this version serves there (status 404); is it the URL of the daemon?")]
    NoDaemon,
    /// What it answered is not what was asked for.
    #[error("the answer is not what mapstorm serves: {0}")]
    Shape(serde_json::Error),
    /// Anything else, in the words of the client.
    #[error("{0}")]
    Other(ureq::Error),
}

impl Reason {
    /// Would asking again be in vain? The server has understood, and will not have it.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Status(status) | Self::Problem { status, .. } => {
                matches!(status, 300..=499) && !matches!(status, 408 | 429)
            }
            Self::Shape(_) | Self::NoDaemon => true,
            _ => false,
        }
    }
}

impl From<ureq::Error> for Reason {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Self::Refused
            }
            ureq::Error::Timeout(_) => Self::Timeout,
            ureq::Error::HostNotFound => Self::NoHost,
            error => Self::Other(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
        for (status, is_final) in [
            (301, true),
            (400, true),
            (404, true),
            (408, false),
            (429, false),
            (500, false),
            (503, false),
        ] {
            assert_eq!(Reason::Status(status).is_final(), is_final, "{status}");
        }
        assert!(!Reason::Timeout.is_final() && !Reason::Refused.is_final());
    }
}
