//! How fast things went lately: two lines of bars, for all maps or for the one that is open.

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::Line,
    widgets::{RenderDirection, Sparkline, Widget as _},
};

use super::Theme;
use crate::{
    maps::columns::UNKNOWN,
    top::{app::App, history::Track},
    units,
};

/// Columns of what stands beside the bars.
const WORDS: u16 = 24;

/// Draws an empty line, then updates, then refusals, the newest on the right.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let empty = Track::default();
    let track = match &app.close {
        Some(close) => app.history.of(close.id).unwrap_or(&empty),
        None => app.history.all(),
    };
    let [_, updates, rejects] = Layout::vertical([Constraint::Max(1); 3]).areas(area);
    let lines = [
        (updates, "updates/s", &track.updates, theme.bar()),
        (rejects, "refused/s", &track.rejects, theme.bad()),
    ];
    for (area, words, rates, style) in lines {
        let now = rates.back().copied().flatten();
        let now = now.map_or_else(|| UNKNOWN.to_owned(), |rate| units::count(rate as f64));
        let sections = [Constraint::Length(WORDS), Constraint::Min(0)];
        let [left, right] = Layout::horizontal(sections).areas(area);
        Line::raw(format!("{words:<12}{now:>9}")).render(left, buffer);
        line(rates.iter().rev().copied(), style, right, buffer);
    }
}

/// The newest first, on the right. What was not known is a dot, not a zero.
fn line(rates: impl Iterator<Item = Option<u64>>, style: Style, area: Rect, buffer: &mut Buffer) {
    let rates: Vec<_> = rates.take(usize::from(area.width)).collect();
    Sparkline::default()
        .data(rates)
        .direction(RenderDirection::RightToLeft)
        .absent_value_symbol("·")
        .style(style)
        .render(area, buffer);
}
