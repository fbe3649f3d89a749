//! Maps as a table of text.

use super::columns::Column;
use crate::api::MapList;

/// Begins what stands out on a terminal (ECMA-48: bold, red), and ends it.
const STORM: [&str; 2] = ["\x1b[1;31m", "\x1b[0m"];

/// A line for the header and one for each map, and one that says how many are not told.
pub(super) fn table(list: &MapList, colour: bool) -> String {
    let header = Column::ALL.map(|column| column.header().to_owned());
    let rows = list.maps.iter();
    let rows = rows.map(|map| Column::ALL.map(|column| column.cell(map)));
    let lines: Vec<_> = std::iter::once(header).chain(rows).collect();
    let widths = Column::ALL.map(|column| {
        let cells = lines.iter().map(|line| width(&line[column as usize]));
        cells.max().unwrap_or(0)
    });
    let mut text = String::new();
    for (n, cells) in lines.iter().enumerate() {
        let padded = Column::ALL.iter().map(|&column| {
            let (cell, width) = (&cells[column as usize], widths[column as usize]);
            match column.is_words() {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            }
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        let stormy = n > 0 && !list.maps[n - 1].storms.is_empty();
        let [begin, end] = if stormy && colour { STORM } else { ["", ""] };
        text += &format!("{begin}{}{end}\n", line.trim_end());
    }
    let left_out = list.total.saturating_sub(list.maps.len());
    if left_out > 0 {
        let (told, total) = (list.maps.len(), list.total);
        text += &format!("{told} of {total} maps; --limit and --offset tell others\n");
    }
    text
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::examples;

    #[test]
    fn words_begin_on_the_left_and_numbers_end_on_the_right() {
        let text = table(&examples::list(), false);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "map  name   type         max  entries   fill  memory  upd/s  ref/s   cpu     p50    p99  storm",
                "  7  flows  hash        1000     1000  100 %  96 KiB   4.0k   3.0k  12 %  1.4 µs  >64 s  full,freelist",
                " 12  idle   lru_percpu    64        -      -       -      -      -     -       -      -",
            ]
        );
    }

    #[test]
    fn a_storm_stands_out_on_a_terminal_only() {
        let text = table(&examples::list(), true);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("\x1b[1;31m  7") && lines[1].ends_with("\x1b[0m"));
        assert!(!lines[0].contains('\x1b') && !lines[2].contains('\x1b'));
        assert!(!table(&examples::list(), false).contains('\x1b'));
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut list = examples::list();
        list.total = 12;
        let text = table(&list, false);
        assert!(text.ends_with("2 of 12 maps; --limit and --offset tell others\n"));
    }
}
