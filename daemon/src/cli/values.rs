//! Values of flags: how each is written, and what is wrong with it when it is not one.

use std::{ffi::OsStr, time::Duration};

use clap::{
    builder::{PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};

use crate::{
    build_info::BuildInfo,
    client::{Target, TargetError},
    config::{ServeConfig, TopConfig},
    facts::CpuList,
    notify::NotifyConfig,
    plan,
};

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

/// The URL of a server. What is none is refused without being shown: it may hold a password.
#[derive(Clone, Copy)]
pub(super) struct Url;

impl TypedValueParser for Url {
    type Value = Target;

    fn parse_ref(
        &self,
        command: &clap::Command,
        flag: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Target, clap::Error> {
        let text = value.to_str().ok_or(TargetError::NotUrl);
        text.and_then(str::parse).map_err(|error| {
            let flag = flag.map(ToString::to_string).unwrap_or_default();
            let text = format!("invalid value for '{flag}': {error}\n");
            clap::Error::raw(ErrorKind::ValueValidation, text).with_cmd(command)
        })
    }
}

/// A time within the limits of a sample window.
pub(super) fn sample_interval(text: &str) -> Result<Duration, String> {
    time_within(text, ServeConfig::SAMPLE_INTERVALS)
}

/// A time within the limits of how often storms are told again.
pub(super) fn notify_interval(text: &str) -> Result<Duration, String> {
    time_within(text, NotifyConfig::INTERVALS)
}

/// A time within the limits of how often a daemon is asked.
pub(super) fn top_interval(text: &str) -> Result<Duration, String> {
    time_within(text, TopConfig::INTERVALS)
}

/// A daemon on this host, where it listens when nothing is said.
pub(super) fn daemon_url() -> String {
    format!("http://127.0.0.1:{}", ServeConfig::PORT)
}

/// Text that a daemon looks for: 1 to 64 characters.
pub(super) fn short_text(text: &str) -> Result<String, String> {
    match text.chars().count() {
        1..=64 => Ok(text.to_owned()),
        _ => Err("not 1 to 64 characters".to_owned()),
    }
}

fn time_within(text: &str, [least, most]: [Duration; 2]) -> Result<Duration, String> {
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

/// A factor: above one.
pub(super) fn above_one(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if factor > 1.0 && factor.is_finite() {
        Ok(factor)
    } else {
        Err("not above 1".to_owned())
    }
}

/// A time of a millisecond at least.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time >= Duration::from_millis(1) {
        Ok(time)
    } else {
        Err("shorter than 1ms".to_owned())
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
