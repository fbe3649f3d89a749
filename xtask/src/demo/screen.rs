//! The summary as text: a screen for a terminal, a line for everything else.

use super::maps;
use super::summary::{Map, Storm, Summary};
use super::text::{count, cut, sgr};

/// What the screen is about, besides the summary.
pub(super) struct Frame<'a> {
    /// First line: what runs where, and where its metrics are.
    pub(super) title: &'a str,
    /// Where the demo is: `drill 2 runs`.
    pub(super) phase: &'a str,
    /// How long the storm has been on, as far as we saw.
    pub(super) storm_seconds: u64,
    /// The last lines of daemon and drill.
    pub(super) tail: &'a [String],
    /// Columns of the terminal.
    pub(super) width: usize,
    /// Lines of the terminal.
    pub(super) height: usize,
    /// Whether to use colour.
    pub(super) colour: bool,
}

impl Frame<'_> {
    /// The whole screen, line by line.
    pub(super) fn lines(&self, summary: &Summary) -> Vec<String> {
        let mut lines = vec![self.title.to_owned(), self.phase.to_owned(), String::new()];
        lines.extend(self.banner(summary));
        lines.push(String::new());
        lines.extend(maps::table(&summary.maps, self.width));
        lines.push(String::new());
        lines.extend(probes(summary));
        lines.push(String::new());
        lines.extend(self.tail.iter().map(|line| format!("  {line}")));
        lines.truncate(self.height.saturating_sub(1));
        for line in &mut lines {
            *line = cut(line, self.width);
        }
        if self.colour {
            self.paint(summary, &mut lines);
        }
        lines
    }

    /// A line for each storm, or one that says that there is none.
    fn banner(&self, summary: &Summary) -> Vec<String> {
        if summary.storms.is_empty() {
            return vec!["  calm".into()];
        }
        let line = |storm: &Storm| {
            format!(
                "  STORM {}: map {} {:?}, for {} s, {} rejects/s on {} CPUs",
                storm.kind,
                storm.map_id,
                storm.map_name,
                self.storm_seconds,
                count(storm.rejects_per_second),
                storm.cpus
            )
        };
        summary.storms.iter().map(line).collect()
    }

    /// Colours whole lines: cutting comes first, or it would cut an escape.
    fn paint(&self, summary: &Summary, lines: &mut [String]) {
        if let Some(title) = lines.first_mut() {
            *title = sgr("1", title);
        }
        let colour = if summary.storms.is_empty() {
            "32"
        } else {
            "1;37;41"
        };
        for line in lines.iter_mut().skip(3).take(summary.storms.len().max(1)) {
            *line = sgr(colour, line);
        }
    }
}

/// One line for logs.
pub(super) fn one_line(seconds: u64, summary: &Summary) -> String {
    // From a positive zero: the sum of nothing is a negative one.
    let sum = |of: fn(&Map) -> f64| summary.maps.values().map(of).fold(0.0, |a, b| a + b);
    let (updates, refusals) = (sum(|map| map.updates), sum(|map| map.refusals));
    let state = match summary.storms.first() {
        Some(storm) => {
            let cpus = storm.cpus;
            format!(
                "STORM {} on map {} {:?}, {cpus} CPUs",
                storm.kind, storm.map_id, storm.map_name
            )
        }
        None => "calm".into(),
    };
    format!(
        "{seconds:4} s  {state}: {} updates/s, {} refused/s",
        count(updates),
        count(refusals)
    )
}

fn probes(summary: &Summary) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if !summary.attached.is_empty() {
        lines.push(format!(
            "  {} probes: {}",
            summary.attached.len(),
            summary.attached.join(", ")
        ));
    }
    lines.extend(
        summary
            .unavailable
            .iter()
            .map(|probe| format!("  not available: {probe}")),
    );
    let lost = summary
        .lost
        .iter()
        .map(|(reason, events)| format!("{events} {reason}"));
    let lost: Vec<String> = lost.collect();
    lines.push(match lost.is_empty() {
        true => "  no event lost".into(),
        false => format!("  events lost: {}", lost.join(", ")),
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::super::summary::Map;
    use super::*;

    fn frame(width: usize, colour: bool) -> Frame<'static> {
        let phase = "drill 1 runs";
        Frame {
            title: "mapstorm",
            phase,
            storm_seconds: 3,
            tail: &[],
            width,
            height: 24,
            colour,
        }
    }

    fn stormy() -> Summary {
        let storm = Storm {
            map_id: "7".into(),
            map_name: "storm".into(),
            kind: "full".into(),
            rejects_per_second: 52_000.0,
            cpus: 4.0,
        };
        let map = Map {
            name: "storm".into(),
            updates: 52_000.0,
            ..Map::default()
        };
        Summary {
            storms: vec![storm],
            maps: [(7, map)].into(),
            ..Summary::default()
        }
    }

    #[test]
    fn a_storm_stands_out() {
        let lines = frame(100, false).lines(&stormy());
        assert_eq!(
            lines[3],
            "  STORM full: map 7 \"storm\", for 3 s, 52k rejects/s on 4 CPUs"
        );
        assert!(lines[6].contains("storm") && lines[6].contains("52k"));
        assert!(frame(100, true).lines(&stormy())[3].starts_with("\x1b[1;37;41m"));
        assert_eq!(frame(100, false).lines(&Summary::default())[3], "  calm");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let lines = frame(20, false).lines(&stormy());
        assert!(lines.iter().all(|line| line.chars().count() <= 20));
        let full = frame(80, false).lines(&stormy());
        assert!(
            full[5].ends_with("p99") && full[5].chars().count() <= 80,
            "{:?}",
            full[5]
        );
    }

    #[test]
    fn no_screen_is_higher_than_the_terminal() {
        let low = Frame {
            height: 5,
            ..frame(80, false)
        };
        assert_eq!(low.lines(&stormy()).len(), 4);
    }

    #[test]
    fn a_log_has_one_line_a_second() {
        let line = one_line(7, &stormy());
        assert_eq!(
            line,
            "   7 s  STORM full on map 7 \"storm\", 4 CPUs: 52k updates/s, 0 refused/s"
        );
    }
}
