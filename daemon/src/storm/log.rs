//! One structured line in the log for each storm's start and one for its end.

use super::StormEvent;

/// Logs a storm's start (warning) or end (information).
pub fn log_event(event: &StormEvent) {
    let storm = event.storm();
    match event {
        StormEvent::Opened(_) => tracing::warn!(
            event = "storm_opened",
            kind = storm.kind.label(),
            map_id = storm.map_id,
            map_name = storm.map_name,
            map_type = %storm.map_type.label(),
            window = storm.opened.window,
            since_window = storm.since_window,
            time = storm.opened.rfc3339(),
            rejects_per_second = storm.rejects_per_second.round(),
            cpus = storm.cpus,
            fill = storm.fill_text(),
            freelist = storm.freelist.label(),
            advice = format!("{}: {}", storm.advice.action, storm.advice.reason),
            "storm opened"
        ),
        StormEvent::Closed(_) => tracing::info!(
            event = "storm_closed",
            kind = storm.kind.label(),
            map_id = storm.map_id,
            map_name = storm.map_name,
            map_type = %storm.map_type.label(),
            window = storm.closed.map(|closed| closed.at.window),
            since_window = storm.since_window,
            time = storm.closed.map(|closed| closed.at.rfc3339()),
            end = storm.closed.map(|closed| closed.end.label()),
            duration_windows = storm.duration_windows(),
            rejects_per_second = storm.rejects_per_second.round(),
            cpus = storm.cpus,
            peak_rejects_per_second = storm.peak_rejects_per_second.round(),
            peak_cpus = storm.peak_cpus,
            rejects = storm.rejects,
            fill = storm.fill_text(),
            freelist = storm.freelist.label(),
            "storm closed"
        ),
    }
}
