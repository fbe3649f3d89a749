//! One scrape: every sample of it, looked up by name and labels.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::text_format::{self, Family, Sample};

/// A scrape that the strict parser has taken.
pub(crate) struct Scrape {
    families: BTreeMap<String, Family>,
}

impl Scrape {
    /// Parses the text; what any scraper might refuse is an error.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let families = text_format::parse(text).map_err(|error| anyhow!("exposition: {error}"))?;
        Ok(Self { families })
    }

    /// Is there a family of this name?
    pub(crate) fn has(&self, family: &str) -> bool {
        self.families.contains_key(family)
    }

    /// The samples of this name that have all of `labels` among theirs.
    pub(crate) fn samples<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&str, &str)],
    ) -> impl Iterator<Item = &'a Sample> {
        let families = self.families.iter();
        // `x_count` belongs to the family `x`.
        let families = families.filter(move |(family, _)| name.starts_with(family.as_str()));
        let samples = families.flat_map(|(_, family)| &family.samples);
        let matches = move |sample: &&Sample| {
            let has = |(label, value): &(&str, &str)| {
                sample
                    .labels
                    .get(*label)
                    .is_some_and(|found| found == value)
            };
            sample.name == name && labels.iter().all(has)
        };
        samples.filter(matches)
    }

    /// The one sample of this name that has all of `labels`; `None` when there is none.
    pub(crate) fn find(&self, name: &str, labels: &[(&str, &str)]) -> Result<Option<u64>> {
        let mut samples = self.samples(name, labels);
        let first = samples.next();
        if samples.next().is_some() {
            bail!("{name}{labels:?} is there more than once");
        }
        first.map(count).transpose()
    }

    /// As [`find`](Self::find), and it must be there.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Result<u64> {
        self.find(name, labels)?
            .with_context(|| format!("{name}{labels:?} is absent"))
    }

    /// The sum of all samples of this name that have all of `labels`; 0 when there is none.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Result<u64> {
        self.samples(name, labels).map(count).sum()
    }

    /// Samples taken so far.
    pub(crate) fn windows(&self) -> Result<u64> {
        self.get("mapstorm_sample_windows_total", &[])
    }
}

/// The value of a sample that counts.
fn count(sample: &Sample) -> Result<u64> {
    if sample.value.fract() != 0.0 || !(0.0..9e15).contains(&sample.value) {
        bail!("{} is {}, which is no count", sample.name, sample.value);
    }
    Ok(sample.value as u64)
}
