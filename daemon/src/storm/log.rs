//! One structured line in the log for each storm's start and one for its end.

use super::StormEvent;

/// Logs a storm's start (warning) or end (information).
pub fn log_event(event: &StormEvent) {
    let storm = event.storm();
    match event {
        StormEvent::Opened(_) => tracing::warn!(
            event = "storm_opened",
            kind = storm.kind.label(),
            severity = storm.severity.label(),
            map_id = storm.map_id,
            map_name = storm.map_name,
            map_type = %storm.map_type.label(),
            window = storm.opened.window,
            since_window = storm.since_window,
            time = storm.opened.rfc3339(),
            rejects_per_second = storm.rejects_per_second.round(),
            cpus = storm.cpus,
            cpu_seconds_per_second = storm.cpu_seconds_text(),
            fill = storm.fill_text(),
            freelist = storm.freelist.label(),
            evidence = storm.evidence.text,
            callers = storm.callers_text(),
            advice = format!("{}: {}", storm.advice.action, storm.advice.reason),
            "storm opened"
        ),
        StormEvent::Closed(_) => tracing::info!(
            event = "storm_closed",
            kind = storm.kind.label(),
            severity = storm.severity.label(),
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
            peak_cpu_seconds_per_second = storm.peak_cpu_seconds_text(),
            rejects = storm.rejects,
            fill = storm.fill_text(),
            freelist = storm.freelist.label(),
            evidence = storm.evidence.text,
            callers = storm.callers_text(),
            "storm closed"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::super::examples::{STORM, detector, run};
    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_start_and_an_end_are_one_line_each_with_the_evidence() {
        let events = run(&mut detector(), &[0, STORM, 2 * STORM, STORM, 0, 0]);
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let lines = tracing_subscriber::fmt().json().flatten_event(true);
        let subscriber = lines.with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            events.iter().for_each(|(_, event)| log_event(event));
        });
        let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        let [opened, closed] = &lines[..] else {
            panic!("{text}");
        };
        for (line, key, value) in [
            (opened, "level", json!("WARN")),
            (opened, "event", json!("storm_opened")),
            (opened, "kind", json!("full")),
            (opened, "severity", json!("minor")),
            (opened, "cpu_seconds_per_second", json!("unknown")),
            (opened, "map_id", json!(7)),
            (opened, "map_name", json!("flows")),
            (opened, "map_type", json!("hash")),
            (opened, "since_window", json!(2)),
            (opened, "window", json!(3)),
            (opened, "rejects_per_second", json!(2000.0)),
            (opened, "cpus", json!(1)),
            (opened, "fill", json!("unknown")),
            (opened, "freelist", json!("every_list_locked")),
            (opened, "callers", json!("unknown")),
            (closed, "level", json!("INFO")),
            (closed, "event", json!("storm_closed")),
            (closed, "end", json!("calm")),
            (closed, "since_window", json!(2)),
            (closed, "window", json!(6)),
            (closed, "duration_windows", json!(3)),
            (closed, "peak_rejects_per_second", json!(2000.0)),
            (closed, "rejects", json!(4 * STORM)),
        ] {
            assert_eq!(line[key], value, "{key} of {line}");
        }
        let evidence = "1 CPU had 2000 updates a second refused: the map is full, and each locks every \
                        CPU's free list; fill unknown";
        assert_eq!(opened["evidence"], evidence);
        assert!(
            opened["advice"]
                .as_str()
                .is_some_and(|advice| advice.contains("Linux 6.0"))
        );
    }
}
