//! The first lines: who is asked, and whether what is shown is true now.

use std::time::{Duration, SystemTime};

use ratatui::text::{Line, Span};

use super::Theme;
use crate::{api::Phase, top::app::App};

/// Title, then what is not seen, then what is wrong with the connection, if anything is.
pub(super) fn lines<'a>(app: &'a App, theme: Theme, now: SystemTime) -> Vec<Line<'a>> {
    let mut lines = vec![title(app, theme)];
    lines.extend(blind(app, theme));
    lines.extend(trouble(app, theme, now));
    lines
}

fn title<'a>(app: &'a App, theme: Theme) -> Line<'a> {
    let name = format!("mapstorm  {}", app.url);
    let mut spans = vec![Span::styled(name, theme.strong())];
    let Some(reading) = &app.reading else {
        return Line::from(spans);
    };
    let (maps, probes) = (&reading.maps, &reading.probes);
    let maps_told = match (app.maps().count(), maps.total) {
        (told, total) if told == total => format!("{total} maps"),
        (told, total) => format!("{told} of {total} maps"),
    };
    let (release, window) = (&probes.kernel.release, maps.window);
    spans.push(Span::raw(format!(
        "  Linux {release}  {maps_told}  window {window}"
    )));
    let phase = match probes.phase {
        Phase::Armed | Phase::Degraded => None,
        Phase::Starting => Some("  starting: nothing is counted yet"),
        Phase::Stopping => Some("  stopping"),
    };
    spans.extend(phase.map(|phase| Span::styled(phase, theme.warn())));
    Line::from(spans)
}

/// What of the host the daemon does not see, or not all of it.
fn blind<'a>(app: &'a App, theme: Theme) -> Option<Line<'a>> {
    let rows = app
        .reading
        .iter()
        .flat_map(|reading| &reading.probes.coverage);
    let mut signals: Vec<_> = rows
        .filter(|row| row.ratio < 1.0)
        .map(|row| row.signal.as_str())
        .collect();
    signals.dedup();
    let words = signals.join(", ");
    let text = format!("not seen in full: {words}; mapstorm doctor says why");
    (!signals.is_empty()).then(|| Line::styled(text, theme.warn()))
}

/// Data that is old says so, and since when.
fn trouble<'a>(app: &'a App, theme: Theme, now: SystemTime) -> Option<Line<'a>> {
    let age = |since: SystemTime| {
        let age = now.duration_since(since).unwrap_or_default();
        humantime::format_duration(Duration::from_secs(age.as_secs()))
    };
    if let Some(trouble) = &app.trouble {
        let old = match app.read_at {
            Some(at) => format!("what is shown is of {} ({} ago)", clock(at), age(at)),
            None => "nothing was heard yet".to_owned(),
        };
        let since = format!(
            "NO ANSWER since {}, trying again; {old}",
            clock(trouble.since)
        );
        return Some(Line::styled(
            format!("{since}: {}", trouble.why),
            theme.alarm(),
        ));
    }
    if let Some(stalled) = app.stalled(now) {
        let seconds = stalled.as_secs();
        let text = format!("STALLED: the daemon answers, but has not sampled for {seconds} s");
        return Some(Line::styled(text, theme.alarm()));
    }
    app.reading
        .is_none()
        .then(|| Line::styled("asking …", theme.quiet()))
}

/// The time of day, UTC.
fn clock(time: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.get(11..).unwrap_or(&text).to_owned()
}
