//! The state of the screen, and what answers and keys make of it. Pure: time is an argument.

use std::time::{Duration, SystemTime};

use super::{
    history::History,
    reading::{Reading, Request},
};
use crate::{
    api::{MapDetail, MapEntry, SortKey, SortOrder},
    client::Question,
    identity::MapId,
};

/// Rows that a page key goes.
const PAGE: usize = 10;
/// Longest filter, characters: what a daemon takes.
const FILTER: usize = 64;

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// End.
    Quit,
    /// Leave what is open; at the table, take the filter away.
    Back,
    /// One row up, or down.
    Up,
    /// One row down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// Open the selected map, or end the typing of a filter.
    Open,
    /// Sort by the next column.
    NextSort,
    /// Sort by the column before.
    LastSort,
    /// Sort the other way.
    Reverse,
    /// Begin to type a filter.
    Filter,
    /// A character of the filter.
    Type(char),
    /// Take the filter's last character away.
    Erase,
    /// Show the keys, or hide them.
    Help,
}

/// What follows from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The screen is drawn anew, no more.
    Draw,
    /// The daemon is asked at once: something else is wanted.
    Ask,
    /// The end.
    Quit,
}

/// A map that is looked at closely.
#[derive(Clone, Debug, PartialEq)]
pub struct Close {
    /// Its id.
    pub id: MapId,
    /// What was last told of it; `None` while nothing was.
    pub detail: Option<MapDetail>,
    /// Has it gone?
    pub gone: bool,
    /// Which of its histograms is drawn.
    pub histogram: usize,
}

/// Why there is no news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Since when.
    pub since: SystemTime,
    /// Why, in words.
    pub why: String,
}

/// All there is to draw.
#[derive(Clone, Debug)]
pub struct App {
    /// The daemon's address, without secrets.
    pub url: String,
    /// Which maps are asked for.
    pub question: Question,
    /// The newest answer.
    pub reading: Option<Reading>,
    /// When that came.
    pub read_at: Option<SystemTime>,
    /// When the daemon's newest sample was first seen.
    pub fresh_at: Option<SystemTime>,
    /// Why there is no newer one.
    pub trouble: Option<Trouble>,
    /// The selected map.
    pub selected: Option<MapId>,
    /// The map that is open.
    pub close: Option<Close>,
    /// Is a filter being typed?
    pub typing: bool,
    /// Are the keys shown?
    pub help: bool,
    pub(super) history: History,
}

impl App {
    /// Before the first answer.
    pub fn new(url: String, question: Question) -> Self {
        Self {
            url,
            question,
            reading: None,
            read_at: None,
            fresh_at: None,
            trouble: None,
            selected: None,
            close: None,
            typing: false,
            help: false,
            history: History::default(),
        }
    }

    /// What is to be asked.
    pub fn request(&self) -> Request {
        Request {
            question: self.question.clone(),
            map: self.close.as_ref().map(|close| close.id),
        }
    }

    /// Takes in the answer to a request.
    pub fn hear(&mut self, request: &Request, reading: Reading, now: SystemTime) {
        self.trouble = None;
        self.read_at = Some(now);
        let sample = |reading: &Reading| (reading.probes.started.clone(), reading.maps.window);
        if self.reading.as_ref().map(sample) != Some(sample(&reading)) {
            self.fresh_at = Some(now);
        }
        self.history.note(&reading);
        if let Some(close) = self.close.as_mut()
            && request.map == Some(close.id)
        {
            close.gone = reading.map.is_none();
            if let Some(detail) = &reading.map {
                close.detail = Some(detail.clone());
            }
        }
        self.reading = Some(reading);
        let is_there = self.maps().any(|map| Some(map.id) == self.selected);
        if !is_there {
            let first = self.maps().next().map(|map| map.id);
            self.selected = first;
        }
    }

    /// Notes that there was no answer.
    pub fn fail(&mut self, why: String, now: SystemTime) {
        let since = self.trouble.as_ref().map_or(now, |trouble| trouble.since);
        self.trouble = Some(Trouble { since, why });
        self.history.note_gap();
    }

    /// How long the daemon has answered with the same sample, where that is longer than it should be.
    pub fn stalled(&self, now: SystemTime) -> Option<Duration> {
        let sample = self.reading.as_ref()?.probes.sample_seconds;
        let since = now.duration_since(self.fresh_at?).ok()?;
        // A sample may be late, but not by many.
        let limit = Duration::from_secs_f64((20.0 * sample).clamp(5.0, 60.0));
        (self.trouble.is_none() && since > limit).then_some(since)
    }

    /// The maps on the screen, in order. A filter works at once; the daemon's answer to it follows.
    pub fn maps(&self) -> impl Iterator<Item = &MapEntry> {
        let name = self.question.name.as_ref().map(|name| name.to_lowercase());
        let maps = self.reading.iter().flat_map(|reading| &reading.maps.maps);
        maps.filter(move |map| {
            { name.as_ref() }.is_none_or(|name| map.name.to_lowercase().contains(name))
        })
    }

    /// What a key does.
    pub fn act(&mut self, action: Action) -> Next {
        match action {
            Action::Quit => return Next::Quit,
            Action::Help => self.help = !self.help,
            Action::Back => return self.back(),
            Action::Open => return self.open(),
            Action::Up => self.go(|at, _| at.saturating_sub(1)),
            Action::Down => self.go(|at, last| (at + 1).min(last)),
            Action::PageUp => self.go(|at, _| at.saturating_sub(PAGE)),
            Action::PageDown => self.go(|at, last| (at + PAGE).min(last)),
            Action::First => self.go(|_, _| 0),
            Action::Last => self.go(|_, last| last),
            Action::NextSort => return self.sort_by(1),
            Action::LastSort => return self.sort_by(SortKey::ALL.len() - 1),
            Action::Reverse => {
                let order = self.question.order.unwrap_or(self.question.sort.natural());
                self.question.order = Some(match order {
                    SortOrder::Asc => SortOrder::Desc,
                    SortOrder::Desc => SortOrder::Asc,
                });
                return Next::Ask;
            }
            Action::Filter => self.typing = true,
            Action::Type(character) => {
                return self.edit(|name| {
                    if name.chars().count() < FILTER {
                        name.push(character);
                    }
                });
            }
            Action::Erase => {
                return self.edit(|name| {
                    name.pop();
                });
            }
        }
        Next::Draw
    }

    /// Closes what is open: the keys, the typing, the map, the filter, in this order.
    fn back(&mut self) -> Next {
        if self.help {
            self.help = false;
        } else if self.typing {
            self.typing = false;
            return self.edit(String::clear);
        } else if self.close.take().is_none() && self.question.name.is_some() {
            return self.edit(String::clear);
        }
        Next::Draw
    }

    fn open(&mut self) -> Next {
        if self.help || std::mem::take(&mut self.typing) {
            self.help = false;
            return Next::Draw;
        }
        let Some(id) = self.selected.filter(|_| self.close.is_none()) else {
            return Next::Draw;
        };
        self.close = Some(Close {
            id,
            detail: None,
            gone: false,
            histogram: 0,
        });
        Next::Ask
    }

    /// Moves the selection: of maps or, in a map, of histograms.
    fn go(&mut self, to: impl Fn(usize, usize) -> usize) {
        if let Some(close) = &mut self.close {
            let histograms = close.detail.as_ref().map_or(0, |d| histograms(d).len());
            close.histogram = to(close.histogram, histograms.saturating_sub(1));
            return;
        }
        let ids: Vec<_> = self.maps().map(|map| map.id).collect();
        let at = ids.iter().position(|id| Some(*id) == self.selected);
        let next = to(at.unwrap_or(0), ids.len().saturating_sub(1));
        self.selected = ids.get(next).copied();
    }

    /// Sorts by the column so many further on, in its own order.
    fn sort_by(&mut self, further: usize) -> Next {
        let keys = SortKey::ALL;
        let at = keys.iter().position(|key| *key == self.question.sort);
        self.question.sort = keys[(at.unwrap_or(0) + further) % keys.len()];
        self.question.order = None;
        Next::Ask
    }

    fn edit(&mut self, edit: impl FnOnce(&mut String)) -> Next {
        let mut name = self.question.name.take().unwrap_or_default();
        edit(&mut name);
        self.question.name = Some(name).filter(|name| !name.is_empty());
        Next::Ask
    }
}

/// A map's histograms, each with what it is of.
pub(super) fn histograms(detail: &MapDetail) -> Vec<(String, &crate::api::Histogram)> {
    let operations = detail.durations.iter();
    let pops = detail.pop_durations.iter();
    let locks = detail.lock_durations.iter();
    operations
        .map(|(op, histogram)| (op.clone(), histogram))
        .chain(pops.map(|histogram| ("freelist pop".to_owned(), histogram)))
        .chain(locks.map(|(lock, histogram)| (format!("wait, {lock}"), histogram)))
        .collect()
}

#[cfg(test)]
mod tests;
