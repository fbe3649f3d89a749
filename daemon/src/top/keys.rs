//! Which key does what.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::app::Action;

/// The keys, for people.
pub(super) const HELP: [(&str, &str); 9] = [
    (
        "↑ ↓ PgUp PgDn Home End, k j g G",
        "select a map; in a map, a histogram",
    ),
    ("Enter", "open the map"),
    ("Esc, Backspace", "back; at the table, without the filter"),
    ("s S", "sort by the next column, by the one before"),
    ("r", "turn the order"),
    ("/", "show only names that contain what is typed"),
    ("?", "this list"),
    ("q, Ctrl-C", "end"),
    ("-", "in a cell: not known, which is not zero"),
];

/// What a key does; `typing` a filter, most are characters.
pub(super) fn action(key: KeyEvent, typing: bool) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'd') if control => Action::Quit,
        KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Esc => Action::Back,
        KeyCode::Enter => Action::Open,
        KeyCode::Up => Action::Up,
        KeyCode::Down => Action::Down,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::PageDown => Action::PageDown,
        KeyCode::Backspace if typing => Action::Erase,
        KeyCode::Char(character) if typing => Action::Type(character),
        KeyCode::Backspace | KeyCode::Left | KeyCode::Char('h') => Action::Back,
        KeyCode::Right | KeyCode::Char('l') => Action::Open,
        KeyCode::Home | KeyCode::Char('g') => Action::First,
        KeyCode::End | KeyCode::Char('G') => Action::Last,
        KeyCode::Char('k') => Action::Up,
        KeyCode::Char('j') => Action::Down,
        KeyCode::Char('s') => Action::NextSort,
        KeyCode::Char('S') => Action::LastSort,
        KeyCode::Char('r') => Action::Reverse,
        KeyCode::Char('/') => Action::Filter,
        KeyCode::Char('?') | KeyCode::F(1) => Action::Help,
        KeyCode::Char('q') => Action::Quit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_keys_unless_they_are_typed() {
        let of = |code, typing| action(KeyEvent::from(code), typing);
        assert_eq!(of(KeyCode::Char('q'), false), Some(Action::Quit));
        assert_eq!(of(KeyCode::Char('q'), true), Some(Action::Type('q')));
        assert_eq!(of(KeyCode::Backspace, false), Some(Action::Back));
        assert_eq!(of(KeyCode::Backspace, true), Some(Action::Erase));
        assert_eq!(of(KeyCode::Char('x'), false), None);
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(action(interrupt, true), Some(Action::Quit));
    }
}
