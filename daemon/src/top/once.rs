//! One screen as plain text, for scripts and for reports.

use std::time::SystemTime;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    app::App,
    draw::{self, Theme},
};

/// Columns where there is no terminal.
const WIDTH: u16 = 120;
/// Lines besides the maps': title, storms, rates, header.
const FRAME: usize = 40;

/// What the screen would show of every map that was told, without keys.
pub(super) fn text(app: &App, width: Option<u16>, now: SystemTime) -> String {
    let width = width.unwrap_or(WIDTH).max(40);
    let height = app.maps().count() + FRAME;
    // A buffer has at most so many cells.
    let height = height.min(usize::from(u16::MAX)) as u16;
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw::page(app, Theme { colour: false }, now, area, &mut buffer);
    lines(&buffer)
}

/// The buffer as lines, without what is empty at their ends and at its own.
pub(super) fn lines(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content().chunks(width.max(1));
    let lines = rows.map(|row| {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    format!("{}\n", text.trim_end())
}
