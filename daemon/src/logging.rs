//! The log: structured lines on standard error, set up once. Remarks of the BPF programs come
//! through the `log` facade and end up in the same place.

use std::{fmt, io, time::SystemTime};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_log::NormalizeEvent as _;
use tracing_subscriber::{
    Layer, Registry,
    filter::Targets,
    fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter, format::Writer},
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::{SubscriberInitExt as _, TryInitError},
};

use crate::config::{LogConfig, LogFormat, LogLevel};

/// Whose events `--log.level` is about: the daemon's, and those of its BPF programs.
const OURS: [&str; 2] = ["mapstorm", "probes"];

/// Sends everything that is logged from now on to standard error.
///
/// # Errors
/// When a log was set up before.
pub fn init(config: LogConfig) -> Result<(), TryInitError> {
    subscriber(config, io::stderr).try_init()
}

/// Where events go, with a writer of choice.
fn subscriber<W>(config: LogConfig, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match config.format {
        LogFormat::Logfmt => lines.event_format(Logfmt).boxed(),
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true);
            lines.with_current_span(false).with_span_list(false).boxed()
        }
    };
    tracing_subscriber::registry().with(lines.with_filter(filter(config.level)))
}

/// Libraries that never say more than a warning: they would dump what they send, passwords included.
const DISCREET: [&str; 2] = ["ureq", "ureq_proto"];

/// Our own events from `level` up. Libraries may warn; at `trace` they tell all but secrets.
fn filter(level: LogLevel) -> Targets {
    let (ours, others) = match level {
        LogLevel::Error => (LevelFilter::ERROR, LevelFilter::ERROR),
        LogLevel::Warn => (LevelFilter::WARN, LevelFilter::WARN),
        LogLevel::Info => (LevelFilter::INFO, LevelFilter::WARN),
        LogLevel::Debug => (LevelFilter::DEBUG, LevelFilter::WARN),
        LogLevel::Trace => (LevelFilter::TRACE, LevelFilter::TRACE),
    };
    let targets = OURS.map(|target| (target, ours));
    let discreet = DISCREET.map(|target| (target, others.min(LevelFilter::WARN)));
    Targets::new()
        .with_default(others)
        .with_targets(targets)
        .with_targets(discreet)
}

/// Lines of `key=value`: time, level, where from, the message, then the event's own fields.
struct Logfmt;

impl<S, N> FormatEvent<S, N> for Logfmt
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        // An event of the `log` facade carries its own target and level as fields.
        let normalized = event.normalized_metadata();
        let metadata = normalized.as_ref().unwrap_or_else(|| event.metadata());
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        let level = metadata.level().as_str().to_ascii_lowercase();
        write!(writer, "ts={time} level={level} target=")?;
        write_value(&mut writer, metadata.target())?;
        let mut pairs = Pairs {
            writer,
            result: Ok(()),
        };
        event.record(&mut pairs);
        pairs.result?;
        pairs.writer.write_char('\n')
    }
}

/// Writes fields as they come.
struct Pairs<'w> {
    writer: Writer<'w>,
    result: fmt::Result,
}

impl Visit for Pairs<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let name = match field.name() {
            "message" => "msg",
            // What `format_event` has read already.
            name if name.starts_with("log.") => return,
            name => name,
        };
        self.result = self.result.and_then(|()| {
            write!(self.writer, " {name}=")?;
            write_value(&mut self.writer, value)
        });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// A value, in quotes where a reader could lose its way without.
fn write_value(writer: &mut impl fmt::Write, value: &str) -> fmt::Result {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\');
    if !value.is_empty() && value.chars().all(plain) {
        return writer.write_str(value);
    }
    writer.write_char('"')?;
    for c in value.chars() {
        match c {
            '"' | '\\' => write!(writer, "\\{c}")?,
            '\n' => writer.write_str("\\n")?,
            '\t' => writer.write_str("\\t")?,
            c if c.is_control() => write!(writer, "\\u{:04x}", u32::from(c))?,
            c => writer.write_char(c)?,
        }
    }
    writer.write_char('"')
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(level: LogLevel, format: LogFormat, events: fn()) -> Vec<String> {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = subscriber(LogConfig { level, format }, move || writer.clone());
        tracing::subscriber::with_default(subscriber, events);
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_is_pairs_and_stays_one_line() {
        let lines = logged(LogLevel::Info, LogFormat::Logfmt, || {
            tracing::warn!(
                event = "storm_opened",
                map_id = 7,
                fill = 0.5,
                name = "a \"b\"\n\u{1b}",
                empty = "",
                "two words"
            );
            tracing::debug!("not written");
        });
        let [line] = &lines[..] else {
            panic!("{lines:?}");
        };
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(humantime::parse_rfc3339(time.strip_prefix("ts=").unwrap()).is_ok());
        assert_eq!(
            rest,
            r#"level=warn target=mapstorm::logging::tests msg="two words" event=storm_opened map_id=7 fill=0.5 name="a \"b\"\n\u001b" empty="""#
        );
    }

    #[test]
    fn json_is_one_object_per_line() {
        let lines = logged(LogLevel::Info, LogFormat::Json, || {
            tracing::info!(map_id = 7, "words");
        });
        let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(
            (&line["message"], &line["level"]),
            (&"words".into(), &"INFO".into())
        );
        assert_eq!(line["map_id"], 7);
    }

    #[test]
    fn libraries_only_warn_and_bpf_programs_speak_as_we_do() {
        let lines = logged(LogLevel::Debug, LogFormat::Logfmt, || {
            tracing::info!(target: "hyper::proto", "not written");
            tracing::warn!(target: "hyper::proto", "a");
            tracing::debug!(target: "probes::slots", "b");
            tracing::trace!("not written");
        });
        assert_eq!(lines.len(), 2, "{lines:?}");
    }

    #[test]
    fn what_is_sent_is_in_no_log() {
        let lines = logged(LogLevel::Trace, LogFormat::Logfmt, || {
            tracing::trace!(target: "ureq_proto::util", "authorization: Basic c2VjcmV0");
            tracing::debug!(target: "ureq::run", "https://me:secret@host");
            tracing::trace!(target: "hyper::proto", "written");
        });
        assert_eq!(lines.len(), 1, "{lines:?}");
    }

    #[test]
    fn the_log_facade_keeps_its_own_target_and_level() {
        let lines = logged(LogLevel::Info, LogFormat::Logfmt, || {
            let record = tracing_log::log::Record::builder()
                .target("probes::slots")
                .level(tracing_log::log::Level::Info)
                .args(format_args!("no slot"))
                .build();
            tracing_log::format_trace(&record).unwrap();
        });
        assert!(
            lines[0].ends_with("level=info target=probes::slots msg=\"no slot\""),
            "{lines:?}"
        );
    }
}
