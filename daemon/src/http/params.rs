//! Parameters of a request: known ones only, each once, each within its limits.

use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

use axum::http::Uri;

use super::problem::Refused;

/// The parameters of one request.
#[derive(Debug)]
pub(super) struct Params<'a> {
    uri: &'a Uri,
    pairs: Vec<(String, String)>,
}

impl<'a> Params<'a> {
    /// The parameters of `uri`, all of which are among `known`.
    pub(super) fn of(uri: &'a Uri, known: &[&str]) -> Result<Self, Refused> {
        let query = uri.query().unwrap_or_default();
        let pairs: Vec<(String, String)> =
            { form_urlencoded::parse(query.as_bytes()).into_owned() }.collect();
        for (at, (name, value)) in pairs.iter().enumerate() {
            let refuse = |why: &str| Err(Refused::parameter(uri, name, value, why));
            if !known.contains(&name.as_str()) {
                return refuse(&match known {
                    [] => "there are no parameters here".to_owned(),
                    _ => format!("parameters here are {}", known.join(", ")),
                });
            }
            if pairs[..at].iter().any(|(earlier, _)| earlier == name) {
                return refuse("each parameter may be given once");
            }
        }
        Ok(Self { uri, pairs })
    }

    fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter();
        let (_, value) = pairs.find(|(given, _)| given == name)?;
        Some(value)
    }

    /// A whole number within `range`.
    pub(super) fn number<T>(
        &self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, Refused>
    where
        T: FromStr + PartialOrd + Display,
    {
        let read = |value| number(self.uri, name, value, &range);
        self.get(name).map(read).transpose()
    }

    /// One of some words, and what it stands for.
    pub(super) fn word<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Refused> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let known = words.iter().find(|(word, _)| *word == value);
        let known = known.ok_or_else(|| {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let allowed = format!("it is one of {}", words.join(", "));
            Refused::parameter(self.uri, name, value, &allowed)
        })?;
        Ok(Some(known.1))
    }

    /// Text of 1 to `longest` characters.
    pub(super) fn text(&self, name: &str, longest: usize) -> Result<Option<&str>, Refused> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        if value.is_empty() || value.chars().count() > longest {
            let allowed = format!("it has 1 to {longest} characters");
            return Err(Refused::parameter(self.uri, name, value, &allowed));
        }
        Ok(Some(value))
    }
}

/// A whole number within `range`, written in digits only.
pub(super) fn number<T>(
    uri: &Uri,
    name: &str,
    value: &str,
    range: &RangeInclusive<T>,
) -> Result<T, Refused>
where
    T: FromStr + PartialOrd + Display,
{
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| digits);
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let allowed = format!(
                "it is a whole number from {} to {}",
                range.start(),
                range.end()
            );
            Refused::parameter(uri, name, value, &allowed)
        })
}
