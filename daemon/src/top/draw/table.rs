//! The maps, as many columns as there is room for.

use ratatui::{
    buffer::Buffer,
    layout::{Alignment, Constraint, Rect},
    style::{Modifier, Style},
    text::{Line, Text},
    widgets::{Cell, Row, StatefulWidget, Table, TableState, Widget as _},
};

use super::Theme;
use crate::{
    api::{MapList, SortOrder},
    maps::columns::Column,
    top::app::App,
};

/// Columns of a name at most; names are of 15 bytes, longer only where some are escaped.
const NAME: usize = 24;
/// Between two columns.
const SPACE: usize = 2;

/// Draws the table; the selected map is always in sight.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let Some(reading) = &app.reading else {
        return;
    };
    let maps: Vec<_> = app.maps().collect();
    if maps.is_empty() {
        let words = match &app.question.name {
            Some(name) => format!("no map's name contains \"{name}\""),
            None => "no maps".to_owned(),
        };
        return Line::styled(words, theme.quiet()).render(area, buffer);
    }
    let cells: Vec<_> = maps
        .iter()
        .map(|map| Column::ALL.map(|column| column.cell(map)))
        .collect();
    let headers = Column::ALL.map(|column| header(column, &reading.maps));
    let widths = Column::ALL.map(|column| {
        let cells = cells.iter().map(|cells| &cells[column as usize]);
        let widest = cells
            .chain([&headers[column as usize]])
            .map(|text| width(text));
        let widest = widest.max().unwrap_or(0);
        match column {
            Column::Name => widest.min(NAME),
            _ => widest,
        }
    });
    let columns = fitting(&widths, usize::from(area.width));
    let cell = |column: Column, text: &str| {
        let alignment = match column.is_words() {
            true => Alignment::Left,
            false => Alignment::Right,
        };
        Cell::from(Text::raw(text.to_owned()).alignment(alignment))
    };
    let rows = maps.iter().zip(&cells).map(|(map, cells)| {
        let style = match map.storms.is_empty() {
            true => Style::default(),
            false => theme.bad(),
        };
        let cells = columns.iter().map(|&c| cell(c, &cells[c as usize]));
        Row::new(cells).style(style)
    });
    let header = columns.iter().map(|&c| cell(c, &headers[c as usize]));
    let constraints = columns
        .iter()
        .map(|&column| Constraint::Length(widths[column as usize] as u16));
    let table = Table::new(rows, constraints)
        .header(Row::new(header).style(theme.strong().add_modifier(Modifier::UNDERLINED)))
        .column_spacing(SPACE as u16)
        .row_highlight_style(Style::default().add_modifier(Modifier::REVERSED));
    let selected = maps.iter().position(|map| Some(map.id) == app.selected);
    let mut state = TableState::new().with_selected(selected);
    StatefulWidget::render(table, area, buffer, &mut state);
}

/// A header says by what the list is sorted, and which way.
fn header(column: Column, list: &MapList) -> String {
    let arrow = match list.order {
        SortOrder::Asc => "▲",
        SortOrder::Desc => "▼",
    };
    match column.sort() == Some(list.sort) {
        true => format!("{}{arrow}", column.header()),
        false => column.header().to_owned(),
    }
}

/// The columns that fit, in their order.
fn fitting(widths: &[usize; Column::ALL.len()], room: usize) -> Vec<Column> {
    let mut columns = Column::ALL.to_vec();
    for spared in Column::SPARED {
        let taken: usize = columns.iter().map(|&c| widths[c as usize] + SPACE).sum();
        if taken <= room + SPACE {
            break;
        }
        columns.retain(|column| *column != spared);
    }
    columns
}

fn width(text: &str) -> usize {
    text.chars().count()
}
