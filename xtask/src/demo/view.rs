//! What the demo shows: one screen on a terminal, lines elsewhere. Keeps the last two scrapes.

use std::collections::VecDeque;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use terminal_size::{Height, Width, terminal_size};

use super::exposition::Exposition;
use super::phase::Phase;
use super::screen::{self, Frame};
use super::summary::Summary;

/// How many lines of daemon and drill the screen shows.
const TAIL: usize = 6;

/// The size of a terminal that does not say.
const SIZE: (Width, Height) = (Width(80), Height(24));

/// The state of the display.
pub(super) struct View {
    title: String,
    phase: String,
    is_terminal: bool,
    colour: bool,
    started: Instant,
    last: Option<(Instant, Exposition)>,
    summary: Summary,
    /// Something new to say in a log.
    fresh: bool,
    storm_since: Option<Instant>,
    tail: VecDeque<String>,
}

impl View {
    /// A view that has seen nothing yet.
    pub(super) fn new(title: String) -> Self {
        let is_terminal = io::stdout().is_terminal();
        // https://no-color.org: any value but the empty one.
        let colour = is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if is_terminal {
            print!("\x1b[2J");
        } else {
            println!("{title}");
        }
        Self {
            title,
            phase: "booting, or starting the daemon".into(),
            is_terminal,
            colour,
            started: Instant::now(),
            last: None,
            summary: Summary::default(),
            fresh: false,
            storm_since: None,
            tail: VecDeque::new(),
        }
    }

    /// Takes a line of the supervisor, the daemon or the drill.
    pub(super) fn hear(&mut self, line: &str, phase: Option<Phase>) {
        match phase {
            Some(Phase::Ready) => self.phase = "the daemon is ready".into(),
            Some(Phase::DrillStarts(number)) => self.phase = format!("drill {number} runs"),
            Some(Phase::DrillEnds(number)) => self.phase = format!("drill {number} is over"),
            None => {}
        }
        self.note(line);
    }

    /// Keeps a line to be shown.
    pub(super) fn note(&mut self, line: &str) {
        if !self.is_terminal {
            say(line);
        }
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(line.to_owned());
    }

    /// Takes a scrape and compares it with the one before.
    pub(super) fn see(&mut self, scrape: Exposition) {
        let now = Instant::now();
        if let Some((then, before)) = &self.last {
            let seconds = now.duration_since(*then).as_secs_f64().max(0.001);
            self.summary = Summary::between(before, &scrape, seconds);
            self.fresh = true;
        }
        self.last = Some((now, scrape));
        self.storm_since = match self.summary.storms.is_empty() {
            true => None,
            false => self.storm_since.or(Some(now)),
        };
    }

    /// Shows the present state.
    pub(super) fn draw(&mut self) {
        if !self.is_terminal {
            if std::mem::take(&mut self.fresh) {
                say(&screen::one_line(
                    self.started.elapsed().as_secs(),
                    &self.summary,
                ));
            }
            return;
        }
        let tail: Vec<String> = self.tail.iter().cloned().collect();
        let (Width(width), Height(height)) = terminal_size().unwrap_or(SIZE);
        let frame = Frame {
            title: &self.title,
            phase: &self.phase,
            storm_seconds: self
                .storm_since
                .map_or(0, |since| since.elapsed().as_secs()),
            tail: &tail,
            width: width.into(),
            height: height.into(),
            colour: self.colour,
        };
        // Home, each line to its end, then whatever an older screen left below.
        let lines = frame.lines(&self.summary);
        let text: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        print!("\x1b[H{text}\x1b[J");
        let _closed = io::stdout().flush();
    }

    /// The last lines heard, for an error.
    pub(super) fn tail(&self) -> String {
        self.tail
            .iter()
            .map(|line| format!("  {line}\n"))
            .collect::<String>()
            .trim_end()
            .to_owned()
    }

    /// Leaves the last screen standing.
    pub(super) fn close(&self) {
        if self.is_terminal {
            say("");
        }
    }
}

/// Prints a line. Somebody who closed our output has seen enough: that is no error.
fn say(line: &str) {
    let _closed = writeln!(io::stdout(), "{line}");
}
