//! One map: what it is, its durations, who calls, who uses it.

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::{Line, Span, Text},
    widgets::Widget as _,
};

use super::{Theme, banner, bars};
use crate::{
    api::{Caller, MapDetail, User},
    maps::columns::{Column, quantile},
    top::app::{Close, histograms},
    units,
};

/// Callers and users that are told.
const TOLD: usize = 5;
/// Lines of bars below which callers are left out.
const BARS: u16 = 6;

/// Draws the map that is open.
pub(super) fn render(close: &Close, theme: Theme, area: Rect, buffer: &mut Buffer) {
    let Some(detail) = &close.detail else {
        let words = match close.gone {
            true => format!("map {} is gone", close.id),
            false => "asking …".to_owned(),
        };
        return Line::styled(words, theme.quiet()).render(area, buffer);
    };
    let mut head = heading(close, detail, theme);
    head.push(Line::default());
    head.extend(quantiles(close, detail, theme));
    head.push(Line::default());
    let tail = [
        callers(&detail.map.callers, theme),
        users(&detail.map.users, theme),
    ]
    .concat();
    let (head_lines, tail_lines) = (head.len() as u16, tail.len() as u16);
    let room = area.height.saturating_sub(head_lines + BARS);
    let sections = [
        Constraint::Length(head_lines.min(area.height)),
        Constraint::Min(0),
        Constraint::Length(tail_lines.min(room)),
    ];
    let [top, middle, bottom] = Layout::vertical(sections).areas(area);
    Text::from(head).render(top, buffer);
    if let Some((_, histogram)) = histograms(detail).get(close.histogram) {
        let (width, height) = (usize::from(middle.width), usize::from(middle.height));
        let lines = bars::lines(histogram, theme, width, height);
        Text::from(lines).render(middle, buffer);
    }
    Text::from(tail).render(bottom, buffer);
}

fn heading<'a>(close: &Close, detail: &MapDetail, theme: Theme) -> Vec<Line<'a>> {
    let map = &detail.map;
    let mut name = vec![Span::styled(
        format!("map {} \"{}\"  {}", map.id, map.name, map.kind),
        theme.strong(),
    )];
    if close.gone {
        name.push(Span::styled(
            "  GONE: this was told of it last",
            theme.alarm(),
        ));
    }
    if !map.storms.is_empty() {
        let storms = map.storms.join(", ");
        name.push(Span::styled(format!("  in a storm: {storms}"), theme.bad()));
    }
    let size = |size: Option<u32>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
    let facts = [Column::Entries, Column::Fill, Column::Memory, Column::Cost]
        .map(|column| format!("{} {}", column.header(), column.cell(map)));
    let facts = format!(
        "max {}  {}  flags {:#x}  key {} B  value {} B",
        map.max_entries,
        facts.join("  "),
        map.flags,
        size(map.key_size),
        size(map.value_size)
    );
    vec![Line::from(name), Line::raw(facts)]
}

/// A line for each histogram; the one that is drawn stands out.
fn quantiles<'a>(close: &Close, detail: &MapDetail, theme: Theme) -> Vec<Line<'a>> {
    let histograms = histograms(detail);
    if histograms.is_empty() {
        let words = "no operation on it was timed";
        return vec![Line::styled(words, theme.quiet())];
    }
    let header = format!(
        "{:<26}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "durations of", "count", "mean", "p50", "p90", "p99"
    );
    let lines = histograms.iter().enumerate().map(|(at, (of, histogram))| {
        let mean = histogram.sum_seconds / histogram.count.max(1) as f64;
        let at_most = |of: fn(&crate::api::Quantiles) -> Option<f64>| {
            let quantiles = histogram.quantiles.as_ref();
            quantiles.map_or_else(|| "-".to_owned(), |q| quantile(of(q)))
        };
        let style = match at == close.histogram {
            true => Style::default().add_modifier(Modifier::REVERSED),
            false => Style::default(),
        };
        let text = format!(
            "{of:<26}{:>10}{:>10}{:>10}{:>10}{:>10}",
            units::count(histogram.count as f64),
            units::seconds(mean),
            at_most(|q| q.p50),
            at_most(|q| q.p90),
            at_most(|q| q.p99),
        );
        Line::styled(text, style)
    });
    std::iter::once(Line::styled(header, theme.strong()))
        .chain(lines)
        .collect()
}

fn callers<'a>(callers: &[Caller], theme: Theme) -> Vec<Line<'a>> {
    let told = callers.iter().take(TOLD).map(|caller| {
        let of = caller.prog_type.as_ref().or(caller.cgroup.as_ref());
        let of = of.map(|of| format!(" ({of})")).unwrap_or_default();
        Line::raw(format!(
            "  {:>6}  {}{of}: last {} {}, {}",
            units::percent(caller.share),
            banner::who(caller),
            caller.op,
            caller.outcome,
            match caller.duration_ns {
                0 => "time unknown".to_owned(),
                ns => units::seconds(ns as f64 / 1e9),
            },
        ))
    });
    section(
        "callers, by their share of samples of refused and slow calls",
        "none was sampled",
        told,
        theme,
    )
}

fn users<'a>(users: &[User], theme: Theme) -> Vec<Line<'a>> {
    let told = users.iter().take(TOLD).map(|user| {
        let (id, name, kind) = (user.prog_id, &user.prog_name, &user.prog_type);
        Line::raw(format!("  program {id} \"{name}\" ({kind})"))
    });
    let head = match users.len() {
        more if more > TOLD => format!("programs that use it, {TOLD} of {more}"),
        _ => "programs that use it".to_owned(),
    };
    section(&head, "none is known", told, theme)
}

fn section<'a>(
    head: &str,
    none: &str,
    lines: impl Iterator<Item = Line<'a>>,
    theme: Theme,
) -> Vec<Line<'a>> {
    let mut lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        lines.push(Line::styled(format!("  {none}"), theme.quiet()));
    }
    lines.insert(0, Line::styled(head.to_owned(), theme.strong()));
    lines
}
