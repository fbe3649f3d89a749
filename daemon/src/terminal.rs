//! What the terminal is good for.

use std::{
    env,
    ffi::OsStr,
    io::{self, IsTerminal as _},
};

/// Are colours wanted on standard output? On a terminal only, and not where somebody said no
/// (`NO_COLOR`, see no-color.org) or where the terminal has none.
pub fn colours() -> bool {
    wanted(
        io::stdout().is_terminal(),
        env::var_os("NO_COLOR").as_deref(),
        env::var_os("TERM").as_deref(),
    )
}

/// Columns of the terminal on standard output; `None` where there is no terminal.
pub fn width() -> Option<u16> {
    let size = ratatui::crossterm::terminal::size().ok();
    size.filter(|_| io::stdout().is_terminal())
        .map(|(columns, _)| columns)
}

fn wanted(is_terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    let refused = no_color.is_some_and(|value| !value.is_empty());
    is_terminal && !refused && term.is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_and_nobody_is_forced() {
        let of = |is_terminal, no_color: Option<&str>, term: &str| {
            wanted(
                is_terminal,
                no_color.map(OsStr::new),
                Some(OsStr::new(term)),
            )
        };
        assert!(of(true, None, "xterm"));
        assert!(of(true, Some(""), "xterm"));
        assert!(!of(true, Some("1"), "xterm"));
        assert!(!of(true, None, "dumb"));
        assert!(!of(false, None, "xterm"));
    }
}
