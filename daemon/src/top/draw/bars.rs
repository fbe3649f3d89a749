//! A histogram as horizontal bars.

use ratatui::text::{Line, Span};

use super::Theme;
use crate::{
    api::{Bucket, Histogram},
    maps::columns::quantile,
    units,
};

/// Buckets in an octave: bars are of whole octaves where quarters would not fit.
const OCTAVE: u8 = 4;
/// Columns left of a bar.
const WORDS: usize = 24;

/// Lines, the shortest durations first; quarter octaves, or whole ones where there is less room, or only the
/// longest of these.
pub(super) fn lines(
    histogram: &Histogram,
    theme: Theme,
    width: usize,
    height: usize,
) -> Vec<Line<'static>> {
    let mut bars = histogram.buckets.clone();
    if bars.len() > height {
        bars = octaves(&bars);
    }
    let hidden = bars.len().saturating_sub(height);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let room = width.saturating_sub(WORDS + 1);
    let line = |bar: &Bucket| {
        let bound = match bar.le {
            Some(_) => format!("≤ {}", quantile(bar.le)),
            None => quantile(None),
        };
        let count = units::count(bar.count as f64);
        // What is there has a bar, however short.
        let length = (bar.count as f64 / most as f64 * room as f64).ceil() as usize;
        Line::from(vec![
            Span::raw(format!("{bound:>12} {count:>10} ")),
            Span::styled("█".repeat(length.min(room)), theme.bar()),
        ])
    };
    bars[hidden..].iter().map(line).collect()
}

/// Buckets of whole octaves.
fn octaves(buckets: &[Bucket]) -> Vec<Bucket> {
    let mut bars: Vec<Bucket> = Vec::new();
    for bucket in buckets {
        // The first bucket is all that is shorter, the last all that is longer; bounds are inclusive.
        let index = bucket.index.next_multiple_of(OCTAVE);
        let le = bucket
            .le
            .map(|_| f64::exp2(f64::from(index / OCTAVE) - 24.0));
        match bars.last_mut() {
            Some(bar) if (bar.index, bar.le.is_some()) == (index, le.is_some()) => {
                bar.count += bucket.count;
            }
            _ => bars.push(Bucket {
                index,
                le,
                count: bucket.count,
            }),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::examples;

    fn text(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn bars_are_buckets_or_octaves_where_those_do_not_fit() {
        let histogram = examples::histogram();
        let theme = Theme { colour: false };
        let lines = super::lines(&histogram, theme, 35, 10);
        assert_eq!(
            text(&lines),
            [
                "    ≤ 954 ns          1 ███",
                "    ≤ 1.1 µs          4 ██████████",
                "    ≤ 1.3 µs          2 █████",
                "       >64 s          1 ███",
            ]
        );
        let lines = super::lines(&histogram, theme, 35, 3);
        assert_eq!(
            text(&lines),
            [
                "    ≤ 954 ns          1 ██",
                "    ≤ 1.9 µs          6 ██████████",
                "       >64 s          1 ██",
            ]
        );
        let lines = super::lines(&histogram, theme, 35, 1);
        assert_eq!(text(&lines), ["       >64 s          1 ██"]);
    }
}
