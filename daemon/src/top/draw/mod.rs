//! The state, drawn: title, trouble, storms, rates, then the table or one map, and the keys.

mod banner;
mod bars;
mod detail;
mod rates;
mod table;
mod title;

use std::time::SystemTime;

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span, Text},
    widgets::{Block, Clear, Paragraph, Widget as _},
};

use super::{app::App, keys};

/// How things stand out: by colour or, without, by weight alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    /// With colours?
    pub(super) colour: bool,
}

impl Theme {
    fn style(self, colour: Color, modifier: Modifier) -> Style {
        let style = Style::default().add_modifier(modifier);
        match self.colour {
            true => style.fg(colour),
            false => style,
        }
    }

    fn alarm(self) -> Style {
        match self.colour {
            true => Style::default().fg(Color::White).bg(Color::Red).bold(),
            false => Style::default().add_modifier(Modifier::BOLD | Modifier::REVERSED),
        }
    }

    fn bad(self) -> Style {
        self.style(Color::Red, Modifier::BOLD)
    }

    fn warn(self) -> Style {
        self.style(Color::Yellow, Modifier::BOLD)
    }

    fn calm(self) -> Style {
        self.style(Color::Green, Modifier::empty())
    }

    fn bar(self) -> Style {
        self.style(Color::Cyan, Modifier::empty())
    }

    fn strong(self) -> Style {
        Style::default().add_modifier(Modifier::BOLD)
    }

    fn quiet(self) -> Style {
        Style::default().add_modifier(Modifier::DIM)
    }
}

/// The whole screen, keys included.
pub(super) fn screen(app: &App, theme: Theme, now: SystemTime, area: Rect, buffer: &mut Buffer) {
    let [body, foot] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(area);
    page(app, theme, now, body, buffer);
    footer(app, theme).render(foot, buffer);
    if app.help {
        help(area, buffer);
    }
}

/// What there is to read.
pub(super) fn page(app: &App, theme: Theme, now: SystemTime, area: Rect, buffer: &mut Buffer) {
    let mut lines = title::lines(app, theme, now);
    lines.extend(banner::lines(app, theme, usize::from(area.width)));
    let head = lines.len().min(usize::from(area.height)) as u16;
    let sections = [
        Constraint::Length(head),
        Constraint::Length(3),
        Constraint::Min(0),
    ];
    let [head, strip, body] = Layout::vertical(sections).areas(area);
    Text::from(lines).render(head, buffer);
    rates::render(app, theme, strip, buffer);
    match &app.close {
        Some(close) => detail::render(close, theme, body, buffer),
        None => table::render(app, theme, body, buffer),
    }
}

fn footer<'a>(app: &'a App, theme: Theme) -> Line<'a> {
    let name = app.question.name.as_deref().unwrap_or_default();
    if app.typing {
        let words = "   Enter keeps it, Esc takes it away";
        return Line::from(vec![
            Span::styled(format!("/{name}▏"), theme.strong()),
            Span::styled(words, theme.quiet()),
        ]);
    }
    let keys = match app.close {
        Some(_) => "↑↓ histogram  Esc back  ? keys  q end",
        None => "↑↓ select  Enter open  s sort  r turn  / filter  ? keys  q end",
    };
    let mut spans = vec![Span::styled(keys, theme.quiet())];
    if !name.is_empty() {
        spans.insert(0, Span::styled(format!("/{name}  "), theme.strong()));
    }
    Line::from(spans)
}

/// The keys, over everything else.
fn help(area: Rect, buffer: &mut Buffer) {
    let lines: Vec<_> = keys::HELP
        .iter()
        .map(|(key, words)| Line::from(format!(" {key:<32} {words} ")))
        .collect();
    let height = lines.len() as u16 + 2;
    let width = lines.iter().map(Line::width).max().unwrap_or(0) as u16 + 2;
    let place = area.centered(Constraint::Length(width), Constraint::Length(height));
    Clear.render(place, buffer);
    let paragraph = Paragraph::new(lines).block(Block::bordered().title(" keys "));
    paragraph.render(place, buffer);
}

#[cfg(test)]
mod tests;
