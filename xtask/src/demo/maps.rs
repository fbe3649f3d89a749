//! The table of maps: the busiest first, as many columns as the terminal has room for.

use std::collections::BTreeMap;

use super::histogram::Buckets;
use super::summary::Map;
use super::text::{count, cut, duration};

/// How many maps are shown.
const ROWS: usize = 12;

/// A column of the table.
struct Column {
    title: &'static str,
    width: usize,
    /// Whether its cells are words, which stand to the left.
    is_word: bool,
    /// How wide a terminal must be to show it.
    from: usize,
    cell: fn(u64, &Map) -> String,
}

/// A column of numbers that every terminal shows.
const fn number(title: &'static str, width: usize, cell: fn(u64, &Map) -> String) -> Column {
    Column {
        title,
        width,
        is_word: false,
        from: 0,
        cell,
    }
}

/// A column of words.
const fn word(title: &'static str, width: usize, cell: fn(u64, &Map) -> String) -> Column {
    Column {
        is_word: true,
        ..number(title, width, cell)
    }
}

/// Every column.
const COLUMNS: [Column; 11] = [
    number("map", 6, |id, _| id.to_string()),
    word("name", 15, |_, map| map.name.clone()),
    Column {
        from: 102,
        ..word("type", 15, |_, map| map.kind.clone())
    },
    number("upd/s", 6, |_, map| count(map.updates)),
    number("refused", 7, |_, map| count(map.refusals)),
    Column {
        from: 86,
        ..number("pops/s", 6, |_, map| count(map.pops))
    },
    number("empty/s", 7, |_, map| count(map.empty_pops)),
    number("pop p50", 7, |_, map| quantile(&map.pop_time, 0.5)),
    number("p99", 7, |_, map| quantile(&map.pop_time, 0.99)),
    number("upd p50", 7, |_, map| quantile(&map.update_time, 0.5)),
    number("p99", 7, |_, map| quantile(&map.update_time, 0.99)),
];

/// The table for a terminal of `width` columns.
pub(super) fn table(maps: &BTreeMap<u64, Map>, width: usize) -> Vec<String> {
    let mut maps: Vec<(&u64, &Map)> = maps.iter().collect();
    maps.sort_by(|(_, left), (_, right)| right.updates.total_cmp(&left.updates));
    let mut lines = vec![row(width, |column| column.title.to_owned())];
    let shown = maps.iter().take(ROWS);
    lines.extend(shown.map(|(id, map)| row(width, |column| (column.cell)(**id, map))));
    if maps.len() > ROWS {
        lines.push(format!("  … and {} more", maps.len() - ROWS));
    }
    lines
}

/// One row, of the columns that a terminal of this width has room for.
fn row(terminal: usize, cell: impl Fn(&Column) -> String) -> String {
    let shown = COLUMNS.iter().filter(|column| terminal >= column.from);
    let cells = shown.map(|column| {
        let width = column.width;
        let text = cut(&cell(column), width);
        if column.is_word {
            format!(" {text:width$}")
        } else {
            format!(" {text:>width$}")
        }
    });
    cells.collect::<String>().trim_end().to_owned()
}

fn quantile(buckets: &Buckets, q: f64) -> String {
    duration(buckets.quantile(q))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(count: u32) -> BTreeMap<u64, Map> {
        let map = |id: u32| Map {
            updates: f64::from(id),
            kind: "hash".into(),
            ..Map::default()
        };
        (0..count).map(|id| (u64::from(id), map(id))).collect()
    }

    #[test]
    fn the_busiest_come_first_and_the_rest_is_counted() {
        let lines = table(&maps(15), 80);
        assert_eq!(lines.len(), 14);
        assert!(lines[1].starts_with("     14 "), "{:?}", lines[1]);
        assert_eq!(lines[13], "  … and 3 more");
    }

    #[test]
    fn columns_fit_the_terminals_that_show_them() {
        for (width, titles) in [(80, 9), (86, 10), (102, 11)] {
            let shown: Vec<_> = COLUMNS
                .iter()
                .filter(|column| width >= column.from)
                .collect();
            assert_eq!(shown.len(), titles);
            let wide: usize = shown.iter().map(|column| column.width + 1).sum();
            assert!(wide <= width, "{wide} columns on {width}");
        }
        assert!(table(&maps(1), 120)[1].contains("hash"));
    }
}
