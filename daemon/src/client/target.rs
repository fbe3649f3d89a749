//! Addresses of HTTP servers, as people write them on a command line.

use std::{fmt, str::FromStr};

use ureq::http::{Uri, uri::PathAndQuery};

/// A URL that can be asked: `http` or `https`, and a host. It is shown, for debugging too, without what may be
/// secret in it: user, password and query.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    uri: Uri,
    text: String,
}

/// Not such a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// It cannot be read as one.
    #[error("not a URL; one looks like http://host:9093")]
    NotUrl,
    /// It is of another kind.
    #[error("only http:// and https:// are spoken here")]
    Scheme,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let uri: Uri = text.parse().map_err(|_| TargetError::NotUrl)?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(Self::of(uri)),
            (Some(_), Some(_)) => Err(TargetError::Scheme),
            _ => Err(TargetError::NotUrl),
        }
    }
}

impl Target {
    fn of(uri: Uri) -> Self {
        let text = uri.to_string();
        Self { uri, text }
    }

    /// The URL, with its password: for requests, not for eyes.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Does it name a host only?
    pub fn is_bare(&self) -> bool {
        matches!(self.uri.path(), "" | "/") && self.uri.query().is_none()
    }

    /// The same server at `path`, which begins with a slash and may hold a query; a path of its own is kept in
    /// front of it, as a proxy may want it.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        let whole = format!("{}{path}", self.uri.path().trim_end_matches('/'));
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = PathAndQuery::try_from(whole).ok();
        // Scheme and host are there already, so nothing can be missing.
        Self::of(Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.uri.authority().map_or("", |a| a.as_str());
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let scheme = self.uri.scheme_str().unwrap_or_default();
        write!(f, "{scheme}://{host}{}", self.uri.path())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_says_what_one_looks_like() {
        for text in ["", "nowhere", "host:9093", "/path", "http://", "http:/host"] {
            assert_eq!(text.parse::<Target>(), Err(TargetError::NotUrl), "{text}");
        }
        assert_eq!("ftp://host/x".parse::<Target>(), Err(TargetError::Scheme));
    }

    #[test]
    fn a_path_goes_behind_the_one_that_is_there() {
        let at = |text: &str| text.parse::<Target>().unwrap().at("/api?limit=5").text;
        assert_eq!(at("http://h:1"), "http://h:1/api?limit=5");
        assert_eq!(at("http://h:1/"), "http://h:1/api?limit=5");
        assert_eq!(at("https://[::1]/ms/"), "https://[::1]/ms/api?limit=5");
    }

    #[test]
    fn a_password_is_sent_but_not_shown() {
        let text = "https://me:secret@host:1/a?token=secret";
        let target: Target = text.parse().unwrap();
        assert_eq!(target.to_string(), "https://host:1/a");
        assert_eq!(format!("{target:?}"), "Target(https://host:1/a)");
        assert_eq!(target.as_str(), text);
    }
}
