//! A small strict reader of the Prometheus text format 0.0.4, for tests: what it accepts, any
//! scraper does.

use std::collections::{BTreeMap, BTreeSet};

/// One metric family as it was written.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) samples: Vec<Sample>,
}

/// One line of it. Labels are unescaped, `le` among them.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// Families by name, or what is wrong with the text.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, Family>, String> {
    let mut families = BTreeMap::<String, Family>::new();
    let mut series = BTreeSet::new();
    let mut current = String::new();
    if !text.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').ok_or("HELP without words")?;
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let kind = kind
                .and_then(|line| line.strip_prefix(name))
                .ok_or("no TYPE")?;
            let family = Family {
                kind: kind.trim_start().to_owned(),
                ..Family::default()
            };
            if words.is_empty() || families.insert(name.to_owned(), family).is_some() {
                return Err(format!("{name}: said twice, or no help"));
            }
            current = name.to_owned();
            continue;
        }
        let sample = sample(line).map_err(|error| format!("{error}: {line}"))?;
        let family = families
            .get_mut(&current)
            .ok_or("a sample before any HELP")?;
        let rest = sample.name.strip_prefix(&current);
        let belongs = match family.kind.as_str() {
            "histogram" => matches!(rest, Some("_bucket" | "_sum" | "_count")),
            "counter" | "gauge" => rest == Some(""),
            kind => return Err(format!("{current}: type {kind:?}")),
        };
        if !belongs {
            return Err(format!("{current}: does not own {line}"));
        }
        if !series.insert((sample.name.clone(), sample.labels.clone())) {
            return Err(format!("twice: {line}"));
        }
        family.samples.push(sample);
    }
    families
        .iter()
        .try_for_each(|(name, family)| check(name, family))?;
    Ok(families)
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, value) = rest.split_once("=\"").ok_or("no label value")?;
            let (value, after) = unescape(value)?;
            if !valid_name(label, false) || labels.insert(label.to_owned(), value).is_some() {
                return Err(format!("label {label:?} is no name, or is there twice"));
            }
            let next = after.strip_prefix(',');
            rest = next.unwrap_or(after);
            if next.is_none() {
                break;
            }
        }
        rest = rest.strip_prefix('}').ok_or("labels do not end")?;
    }
    let value = rest.strip_prefix(' ').ok_or("no space before the value")?;
    let value = value
        .parse()
        .map_err(|_| format!("{value:?} is no number"))?;
    if !valid_name(name, true) {
        return Err(format!("{name:?} is no name"));
    }
    let name = name.to_owned();
    Ok(Sample {
        name,
        labels,
        value,
    })
}

/// The text up to the closing quote, and what follows it.
fn unescape(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok((value, chars.as_str())),
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some(c @ ('\\' | '"')) => value.push(c),
                other => return Err(format!("\\ before {other:?}")),
            },
            c => value.push(c),
        }
    }
    Err("a label value does not end".to_owned())
}

fn valid_name(name: &str, colon: bool) -> bool {
    let ok = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colon && c == ':');
    name.chars().all(ok) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// What a family's values must keep to.
fn check(name: &str, family: &Family) -> Result<(), String> {
    if family.samples.is_empty() {
        return Err(format!("{name}: no samples"));
    }
    if (family.kind == "counter") != name.ends_with("_total") {
        return Err(format!(
            "{name}: `_total` is for counters, for all of them and no others"
        ));
    }
    for sample in &family.samples {
        if family.kind != "gauge" && (sample.value.is_nan() || sample.value < 0.0) {
            return Err(format!(
                "{name}: {} counts down to {}",
                sample.name, sample.value
            ));
        }
    }
    if family.kind == "histogram" {
        check_histogram(name, family)
    } else {
        Ok(())
    }
}

fn check_histogram(name: &str, family: &Family) -> Result<(), String> {
    let mut buckets = BTreeMap::<_, Vec<(f64, f64)>>::new();
    for sample in family
        .samples
        .iter()
        .filter(|s| s.name.ends_with("_bucket"))
    {
        let mut labels = sample.labels.clone();
        let le = labels
            .remove("le")
            .ok_or(format!("{name}: a bucket without `le`"))?;
        let le = le.parse().map_err(|_| format!("{name}: le={le:?}"))?;
        buckets.entry(labels).or_default().push((le, sample.value));
    }
    for (labels, buckets) in buckets {
        let one = |suffix| {
            let full = format!("{name}{suffix}");
            let mut all = family.samples.iter();
            all.find(|s| s.name == full && s.labels == labels)
                .map(|s| s.value)
        };
        let (Some(count), Some(_)) = (one("_count"), one("_sum")) else {
            return Err(format!("{name}{labels:?}: no count or no sum"));
        };
        let up = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        if !buckets.windows(2).all(up) {
            return Err(format!("{name}{labels:?}: buckets are not cumulative"));
        }
        if buckets.last() != Some(&(f64::INFINITY, count)) {
            return Err(format!("{name}{labels:?}: +Inf is not the count"));
        }
    }
    Ok(())
}
