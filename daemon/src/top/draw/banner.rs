//! Is there a storm? On which map, since when, how bad, by whom, and what to do.

use std::time::Duration;

use ratatui::text::Line;

use super::Theme;
use crate::{
    api::{Caller, CallerSource, Storm},
    top::app::App,
    units,
};

/// Storms that are told in full; of more only the number.
const TOLD: usize = 3;

/// A few lines for each open storm, or one that says that there is none.
pub(super) fn lines<'a>(app: &'a App, theme: Theme, width: usize) -> Vec<Line<'a>> {
    let Some(reading) = &app.reading else {
        return Vec::new();
    };
    let (storms, probes) = (&reading.storms, &reading.probes);
    let mut open: Vec<_> = storms.active.iter().collect();
    if open.is_empty() {
        return vec![Line::styled(calm(&storms.closed), theme.calm())];
    }
    open.sort_by_key(|storm| std::cmp::Reverse(rank(storm)));
    let mut lines = Vec::new();
    for storm in open.iter().take(TOLD) {
        let windows = storms.window.saturating_sub(storm.opened.window);
        let seconds = windows as f64 * probes.sample_seconds.clamp(0.0, 60.0);
        let first = headline(storm, Duration::from_secs(seconds as u64));
        // To the edge: a banner is a bar.
        lines.push(Line::styled(format!("{first:<width$}"), theme.alarm()));
        let evidence = storm.evidence.as_deref().unwrap_or_default();
        if !evidence.is_empty() {
            lines.push(Line::raw(format!("  evidence  {evidence}")));
        }
        lines.push(Line::raw(format!(
            "  callers   {}",
            callers(&storm.callers)
        )));
        let advice = &storm.advice;
        let text = format!("  advice    {}: {}", advice.action, advice.reason);
        lines.push(Line::styled(text, theme.strong()));
    }
    if open.len() > TOLD {
        let more = open.len() - TOLD;
        lines.push(Line::styled(format!("and {more} more storms"), theme.bad()));
    }
    lines
}

/// The worst first; of the same severity, who burns more CPUs.
fn rank(storm: &Storm) -> (u8, u32) {
    let severity = match storm.severity.as_deref() {
        Some("critical") => 2,
        Some("major") => 1,
        _ => 0,
    };
    (severity, storm.cpus)
}

fn headline(storm: &Storm, open: Duration) -> String {
    let severity = storm.severity.as_deref().unwrap_or_default();
    let name = &storm.map_name;
    let (kind, id) = (&storm.kind, storm.map_id);
    let head = format!(" STORM {kind} {severity}").trim_end().to_owned();
    let cpus = match storm.cpus {
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let time = storm.opened.time.as_deref().unwrap_or_default();
    let since = time.get(11..19).unwrap_or("?");
    let fill = storm.fill.map(units::percent);
    format!(
        "{head}: map {id} \"{name}\", since {since}Z ({}), {} refused/s on {cpus}, fill {}",
        humantime::format_duration(open),
        units::count(storm.rejects_per_second),
        fill.as_deref().unwrap_or("unknown"),
    )
}

fn calm(closed: &[Storm]) -> String {
    let Some(last) = closed.first() else {
        return "calm".to_owned();
    };
    let end = last.closed.as_ref().and_then(|end| end.time.as_deref());
    let (kind, id, name) = (&last.kind, last.map_id, &last.map_name);
    let end = end.unwrap_or("an unknown time");
    format!("calm; the last storm, {kind} on map {id} \"{name}\", ended {end}")
}

/// Who called, the heaviest first.
pub(super) fn callers(callers: &[Caller]) -> String {
    if callers.is_empty() {
        return "not sampled".to_owned();
    }
    let told = callers.iter().map(|caller| {
        let (who, share) = (who(caller), units::percent(caller.share));
        format!("{who} {share}")
    });
    told.collect::<Vec<_>>().join(", ")
}

/// A caller in words.
pub(super) fn who(caller: &Caller) -> String {
    let number = |id: Option<u32>| id.map_or_else(|| "?".to_owned(), |id| id.to_string());
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    match caller.source {
        CallerSource::Program => {
            let (id, name) = (number(caller.prog_id), name(&caller.prog_name));
            format!("program {id} \"{name}\"")
        }
        CallerSource::Process => {
            let (id, name) = (number(caller.pid), name(&caller.comm));
            format!("process {id} \"{name}\"")
        }
        CallerSource::Unknown => "unknown".to_owned(),
    }
}
