//! Numbers and lines as a terminal wants them: short.

/// A rate, short enough for a column.
pub(super) fn count(value: f64) -> String {
    match value {
        v if v >= 10_000_000.0 => format!("{:.0}M", v / 1e6),
        v if v >= 10_000.0 => format!("{:.0}k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

/// A duration in the unit that suits it.
pub(super) fn duration(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".into(),
        Some(s) if s >= 1.0 => format!("{s:.1} s"),
        Some(s) if s >= 1e-3 => short(s * 1e3, "ms"),
        Some(s) if s >= 1e-6 => short(s * 1e6, "µs"),
        Some(s) => format!("{:.0} ns", s * 1e9),
    }
}

/// Three digits or so.
fn short(value: f64, unit: &str) -> String {
    let digits = usize::from(value < 100.0);
    format!("{value:.digits$} {unit}")
}

/// At most `width` characters of `text`.
pub(super) fn cut(text: &str, width: usize) -> String {
    let clean = text.chars().filter(|character| !character.is_control());
    clean.take(width).collect()
}

/// `text` in a colour of the terminal (ECMA-48, "Select Graphic Rendition").
pub(super) fn sgr(code: &str, text: &str) -> String {
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_units() {
        assert_eq!(duration(Some(1.5e-7)), "150 ns");
        assert_eq!(duration(Some(2.25e-3)), "2.2 ms");
        assert_eq!(duration(Some(0.25)), "250 ms");
        assert_eq!(duration(None), "-");
        assert_eq!(
            (count(9_999.0), count(123_456.0)),
            ("9999".into(), "123k".into())
        );
    }

    #[test]
    fn what_is_cut_holds_no_control_character() {
        assert_eq!(cut("a\x1b[31mbc", 3), "a[3");
    }
}
