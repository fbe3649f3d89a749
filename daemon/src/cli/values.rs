//! Values of flags: how each is written, and what is wrong with it when it is not one.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::{build_info::BuildInfo, config::ServeConfig, facts::CpuList, plan};

/// The text of `--version`.
pub(super) fn version() -> String {
    let BuildInfo {
        version,
        revision,
        rustversion,
    } = BuildInfo::THIS;
    format!("{version} (revision {revision}, rustc {rustversion})")
}

/// A time as a person would write it.
pub(super) fn time_text(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

/// A size as a person would write it; whole KiB.
pub(super) fn bytes_text(bytes: usize) -> String {
    const MIB: usize = 1 << 20;
    if bytes.is_multiple_of(MIB) {
        format!("{}MiB", bytes / MIB)
    } else {
        format!("{}KiB", bytes / 1024)
    }
}

/// One of a few words.
pub(super) fn choice<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    label: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(all.iter().map(|&value| label(value)));
    words.try_map(move |word| {
        let value = all.iter().find(|&&value| label(value) == word);
        value.copied().ok_or("no such word")
    })
}

/// The name of a signal or a probe.
pub(super) fn probe() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(plan::names())
}

/// A time within the limits of a sample window.
pub(super) fn sample_interval(text: &str) -> Result<Duration, String> {
    let [least, most] = ServeConfig::SAMPLE_INTERVALS;
    let time = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; a time looks like 250ms"))?;
    if (least..=most).contains(&time) {
        Ok(time)
    } else {
        Err(format!(
            "not within {} to {}",
            time_text(least),
            time_text(most)
        ))
    }
}

/// A size within the limits of the probes' tables: a number, with `KiB` or `MiB` if need be.
pub(super) fn probe_memory(text: &str) -> Result<usize, String> {
    let [least, most] = ServeConfig::PROBE_MEMORY;
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("", 1)];
    let parts = units
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let bytes = parts
        .and_then(|(number, size)| number.trim_end().parse::<usize>().ok()?.checked_mul(*size));
    let bytes = bytes.ok_or("not a size; one looks like 512KiB or 2MiB")?;
    if (least..=most).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!(
            "not within {} to {}",
            bytes_text(least),
            bytes_text(most)
        ))
    }
}

/// Events per second: above zero.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if rate > 0.0 && rate.is_finite() {
        Ok(rate)
    } else {
        Err("not above 0".to_owned())
    }
}

/// A share: above zero, up to one.
pub(super) fn ratio(text: &str) -> Result<f64, String> {
    let ratio: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if ratio > 0.0 && ratio <= 1.0 {
        Ok(ratio)
    } else {
        Err("not above 0 and up to 1".to_owned())
    }
}

/// At least one CPU.
pub(super) fn cpus(text: &str) -> Result<CpuList, String> {
    let cpus: CpuList = text.parse().map_err(|error| format!("{error}"))?;
    if cpus.is_empty() {
        return Err("no CPU; a list looks like 0-3,5".to_owned());
    }
    Ok(cpus)
}
