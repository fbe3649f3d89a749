//! The README's table of limits: the record, with rows that say the same as one.

use anyhow::{Context as _, Result};

use super::record::{Record, Row};
use crate::kernels::catalog::ERAS;

/// What the table stands between.
const BEGIN: &str = "<!-- exactness: written by `cargo xtask docs` -->";
const END: &str = "<!-- exactness ends -->";

/// Operations in the order in which people think of them; others follow.
const ORDER: [&str; 8] = [
    "update",
    "pop",
    "delete",
    "lookup_and_delete",
    "update_batch",
    "delete_batch",
    "lookup_batch",
    "lookup_and_delete_batch",
];

/// `text` with the table of `record` between the marks.
///
/// # Errors
/// The marks are not there.
pub fn with_table(text: &str, record: &Record) -> Result<String> {
    let missing = || format!("the README has no lines `{BEGIN}` and `{END}`");
    let (before, rest) = text.split_once(BEGIN).with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(missing)?;
    let table = table(record);
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// A row: what fares the same on every kernel.
#[derive(PartialEq)]
struct Line {
    operations: Vec<String>,
    maps: Vec<String>,
    verdicts: Vec<String>,
}

/// The table, then what its letters mean.
fn table(record: &Record) -> String {
    let mut notes: Vec<String> = Vec::new();
    let mut text = String::from("| operations | maps |");
    text.extend(ERAS.iter().map(|era| format!(" {} |", era.name)));
    text += "\n| --- | --- |";
    text.extend(ERAS.iter().map(|_| " --- |"));
    text += "\n";
    for line in lines(record) {
        let (operations, maps) = (line.operations.join(", "), line.maps.join(", "));
        text += &format!("| {operations} | {maps} |");
        for verdict in &line.verdicts {
            text += &format!(" {} |", mark(verdict, &mut notes));
        }
        text += "\n";
    }
    text += "\n✓ counted to the unit and timed, by programs and by bpf(2) where only one is not named; \
             – the kernel has none";
    for (letter, note) in ('a'..).zip(&notes) {
        text += &format!("; {letter} {note}");
    }
    text + "\n"
}

/// The sign for a verdict; one that says why not gets a letter.
fn mark(verdict: &str, notes: &mut Vec<String>) -> String {
    match verdict {
        "exact" => "✓".to_owned(),
        "absent" => "–".to_owned(),
        other => {
            let at = notes.iter().position(|note| note == other);
            let at = at.unwrap_or_else(|| {
                notes.push(other.to_owned());
                notes.len() - 1
            });
            ('a'..).nth(at).map(String::from).unwrap_or_default()
        }
    }
}

/// The rows: what no kernel has is left out, and what fares the same shares a row.
fn lines(record: &Record) -> Vec<Line> {
    let known: Vec<(&Row, Vec<String>)> = record
        .rows()
        .map(|row| {
            let verdict = |era| record.verdict(row, era).unwrap_or("absent").to_owned();
            (row, ERAS.iter().map(|era| verdict(era.name)).collect())
        })
        .filter(|(_, verdicts): &(_, Vec<String>)| verdicts.iter().any(|word| word != "absent"))
        .collect();
    let mut operations: Vec<&str> = known.iter().map(|(row, _)| &*row.operation).collect();
    operations.sort_by_key(|word| {
        (
            ORDER.iter().position(|known| known == word).unwrap_or(99),
            *word,
        )
    });
    operations.dedup();
    let mut lines: Vec<Line> = Vec::new();
    for operation in operations {
        let of_operation = known.iter().filter(|(row, _)| row.operation == operation);
        for line in of_one(operation, of_operation) {
            let same =
                |other: &&mut Line| (&other.maps, &other.verdicts) == (&line.maps, &line.verdicts);
            match lines.iter_mut().find(same) {
                Some(other) => other.operations.extend(line.operations),
                None => lines.push(line),
            }
        }
    }
    lines
}

/// The rows of one operation. A source is named where the other has none or fares otherwise.
fn of_one<'a>(
    operation: &str,
    rows: impl Iterator<Item = &'a (&'a Row, Vec<String>)> + Clone,
) -> Vec<Line> {
    let by_programs = rows.clone().any(|(row, _)| row.source == "program");
    let mut lines: Vec<Line> = Vec::new();
    for (row, verdicts) in rows.clone() {
        let twin = |(other, theirs): &&(&Row, Vec<String>)| {
            other.map == row.map && other.source != row.source && theirs == verdicts
        };
        let map = match (row.source.as_str(), rows.clone().any(|other| twin(&other))) {
            ("syscall", true) => continue,
            ("program", false) => format!("{} (programs)", row.map),
            ("syscall", false) if by_programs => format!("{} (bpf(2))", row.map),
            _ => row.map.clone(),
        };
        match lines.iter_mut().find(|line| line.verdicts == *verdicts) {
            Some(line) => line.maps.push(map),
            None => lines.push(Line {
                operations: vec![operation.to_owned()],
                maps: vec![map],
                verdicts: verdicts.clone(),
            }),
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.maps.len()));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::record::Cell;
    use super::*;

    fn record(cells: &[(&str, &str)]) -> Record {
        let mut record = Record::default();
        for (name, verdicts) in cells {
            for (era, verdict) in ERAS.iter().zip(verdicts.split('/')) {
                record.add(era.name, Cell::parse(&format!("{name} {verdict}")).unwrap());
            }
        }
        record
    }

    #[test]
    fn rows_that_say_the_same_are_one_and_what_no_kernel_has_is_none() {
        let all = "exact/exact/exact/exact/exact";
        let none = "absent/absent/absent/absent/absent";
        let late = "absent/exact/exact/exact/admitted: lost, no_slot";
        let text = table(&record(&[
            ("hash delete program", all),
            ("hash delete syscall", all),
            ("hash update program", all),
            ("hash update syscall", all),
            ("lru delete program", all),
            ("lru delete syscall", late),
            ("lru update program", all),
            ("lru update syscall", all),
            ("lru take program", none),
            ("lru take syscall", late),
            ("of_maps insert syscall", all),
            ("of_maps remove syscall", all),
        ]));
        let expected = "\
| operations | maps | 5.10 | 6.1 | 6.12 | 6.12-rt | 7.3 |
| --- | --- | --- | --- | --- | --- | --- |
| update | hash, lru | ✓ | ✓ | ✓ | ✓ | ✓ |
| delete | hash, lru (programs) | ✓ | ✓ | ✓ | ✓ | ✓ |
| delete | lru (bpf(2)) | – | ✓ | ✓ | ✓ | a |
| insert, remove | of_maps | ✓ | ✓ | ✓ | ✓ | ✓ |
| take | lru | – | ✓ | ✓ | ✓ | a |
";
        let (grid, notes) = text.split_once("\n\n").unwrap();
        assert_eq!(grid.to_owned() + "\n", expected);
        assert!(notes.ends_with("; a admitted: lost, no_slot\n"), "{notes}");
    }

    #[test]
    fn the_table_stands_between_its_marks_and_writing_it_twice_changes_nothing() {
        let record = record(&[("hash update program", "exact/exact/exact/exact/exact")]);
        let bare = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let text = with_table(&bare, &record).unwrap();
        assert!(text.starts_with("a\n") && text.ends_with("\nb\n") && !text.contains("old"));
        assert_eq!(with_table(&text, &record).unwrap(), text);
        assert!(with_table("nothing", &record).is_err());
    }
}
