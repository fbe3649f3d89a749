//! Reading Prometheus's text exposition, as much of it as mapstorm writes.

use anyhow::{Context as _, Result, bail};

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    /// The metric's name, suffixes like `_bucket` included.
    pub(super) name: String,
    /// Labels as they stand.
    pub(super) labels: Vec<(String, String)>,
    /// The value.
    pub(super) value: f64,
}

impl Sample {
    /// The value of a label; empty where there is none, as in Prometheus.
    pub(super) fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(label, _)| label == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

/// All samples of one scrape.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Exposition {
    samples: Vec<Sample>,
}

impl Exposition {
    /// Reads a whole exposition.
    ///
    /// # Errors
    /// A line is not of the format; the error shows it.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with('#'));
        let samples =
            lines.map(|line| sample(line).with_context(|| format!("this is no sample: {line}")));
        Ok(Self {
            samples: samples.collect::<Result<_>>()?,
        })
    }

    /// The samples called `name`.
    pub(super) fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Sample> {
        self.samples
            .iter()
            .filter(move |sample| sample.name == name)
    }
}

/// `name{label="value",…} value [timestamp]`.
fn sample(line: &str) -> Result<Sample> {
    let end = line.find(['{', ' ', '\t']).context("no value")?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next().context("no value")?;
    let value = value
        .parse()
        .with_context(|| format!("{value} is no number"))?;
    Ok(Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// Labels up to the closing brace, and what follows it.
fn labels(mut text: &str) -> Result<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        text = text.trim_start_matches([' ', ',']);
        if let Some(rest) = text.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (name, rest) = text.split_once("=\"").context("a label has no value")?;
        let (value, rest) = quoted(rest)?;
        labels.push((name.trim().to_owned(), value));
        text = rest;
    }
}

/// A value up to its closing quote, unescaped, and what follows it.
fn quoted(text: &str) -> Result<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((value, text.get(at + 1..).unwrap_or_default())),
            '\\' => value.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, escaped)) => escaped,
                None => bail!("an escape at the end"),
            }),
            _ => value.push(character),
        }
    }
    bail!("a label's value has no end")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Sample {
        let mut samples = Exposition::parse(text).unwrap().samples;
        assert_eq!(samples.len(), 1);
        samples.remove(0)
    }

    #[test]
    fn names_labels_and_values_are_read() {
        let sample = only("# TYPE a counter\na_total{map_id=\"7\",map_name=\"x y\"} 12 1700000\n");
        assert_eq!((sample.name.as_str(), sample.value), ("a_total", 12.0));
        assert_eq!(
            (sample.label("map_id"), sample.label("map_name")),
            ("7", "x y")
        );
        assert_eq!(sample.label("absent"), "");
        assert_eq!(only("up 1").value, 1.0);
        assert_eq!(only("up{} 1e-3").value, 0.001);
        assert_eq!(only("b{le=\"+Inf\",} +Inf").value, f64::INFINITY);
    }

    #[test]
    fn values_of_labels_are_unescaped() {
        let sample = only(r#"a{b="q\"u\\o\nte",c="},= \"{"} 1"#);
        assert_eq!(sample.label("b"), "q\"u\\o\nte");
        assert_eq!(sample.label("c"), "},= \"{");
    }

    #[test]
    fn what_is_no_sample_is_an_error_that_shows_it() {
        for wrong in ["a", "a{b=\"c} 1", "a{b} 1", "a one", "a{b=\"c\"}"] {
            let error = Exposition::parse(wrong).unwrap_err().to_string();
            assert!(error.ends_with(wrong), "{error}");
        }
    }
}
