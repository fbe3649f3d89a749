//! A verdict for every map kind, operation, source and kernel, as a file with one line for each row.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

/// One verdict of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// What it is about.
    pub row: Row,
    /// `exact`; `absent`, where the kernel has no such thing; `admitted: METRIC`; `wrong: …`.
    pub verdict: String,
}

/// What a verdict is about, whatever the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The kind of map.
    pub map: String,
    /// What was done to it.
    pub operation: String,
    /// `program` or `syscall`.
    pub source: String,
}

impl Cell {
    /// The cell in `MAP OPERATION SOURCE VERDICT`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(4, ' ').map(str::to_owned);
        let row = Row {
            map: words.next()?,
            operation: words.next()?,
            source: words.next()?,
        };
        let verdict = words.next().filter(|verdict| !verdict.is_empty())?;
        Some(Self { row, verdict })
    }
}

/// Verdicts by row and kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record(BTreeMap<Row, BTreeMap<String, String>>);

impl Record {
    /// Reads a file that [`text`](Self::text) wrote.
    ///
    /// # Errors
    /// It is no list of rows, or a row lacks its name.
    pub fn parse(text: &str) -> Result<Self> {
        let rows: Vec<BTreeMap<String, String>> = serde_json::from_str(text)?;
        let mut record = Self::default();
        for mut verdicts in rows {
            let mut take = |name: &str| {
                let word = verdicts.remove(name);
                word.with_context(|| format!("a row without `{name}`"))
            };
            let row = Row {
                map: take("map")?,
                operation: take("operation")?,
                source: take("source")?,
            };
            record.0.insert(row, verdicts);
        }
        Ok(record)
    }

    /// The record as a file: a list with a row on each line, so that a change is a line, too.
    pub fn text(&self) -> String {
        let line = |(row, verdicts): (&Row, &BTreeMap<String, String>)| {
            let Row {
                map,
                operation,
                source,
            } = row.clone();
            let names = [("map", map), ("operation", operation), ("source", source)];
            let names = names.map(|(name, word)| (name.to_owned(), Value::String(word)));
            let verdicts = verdicts.clone().into_iter();
            let verdicts = verdicts.map(|(era, verdict)| (era, Value::String(verdict)));
            let object: Map<_, _> = names.into_iter().chain(verdicts).collect();
            Value::Object(object).to_string()
        };
        let lines: Vec<_> = self.0.iter().map(line).collect();
        format!("[\n{}\n]\n", lines.join(",\n"))
    }

    /// Adds what was found on a kernel.
    pub fn add(&mut self, era: &str, cell: Cell) {
        let verdicts = self.0.entry(cell.row).or_default();
        verdicts.insert(era.to_owned(), cell.verdict);
    }

    /// Takes over all that was found on `eras`, and forgets what was known of them before.
    pub fn replace(&mut self, found: &Self, eras: &[&str]) {
        for verdicts in self.0.values_mut() {
            verdicts.retain(|era, _| !eras.contains(&era.as_str()));
        }
        for (row, verdicts) in &found.0 {
            let ours = self.0.entry(row.clone()).or_default();
            ours.extend(verdicts.clone());
        }
        self.0.retain(|_, verdicts| !verdicts.is_empty());
    }

    /// Where `found` is not what this says of `eras`, one line each.
    pub fn differences(&self, found: &Self, eras: &[&str]) -> Vec<String> {
        let mut differences = Vec::new();
        let rows: BTreeSet<_> = self.0.keys().chain(found.0.keys()).collect();
        for row in rows {
            for era in eras {
                let (was, is) = (self.verdict(row, era), found.verdict(row, era));
                if was != is {
                    let said = |verdict: Option<&str>| verdict.unwrap_or("nothing").to_owned();
                    let Row {
                        map,
                        operation,
                        source,
                    } = row;
                    let cell = format!("{era}: {operation} of {map} by {source}");
                    differences.push(format!("{cell} was {}, is {}", said(was), said(is)));
                }
            }
        }
        differences
    }

    /// What is known of a row on a kernel.
    pub fn verdict(&self, row: &Row, era: &str) -> Option<&str> {
        self.0.get(row)?.get(era).map(String::as_str)
    }

    /// All rows, by map, operation and source.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.0.keys()
    }

    /// Is there a verdict that nobody may put on record?
    pub fn has_wrong(&self) -> bool {
        let mut verdicts = self.0.values().flat_map(BTreeMap::values);
        verdicts.any(|verdict| verdict.starts_with("wrong"))
    }

    /// Is anything known of this kernel?
    pub fn knows(&self, era: &str) -> bool {
        self.0.values().any(|verdicts| verdicts.contains_key(era))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cells: &[(&str, &str)]) -> Record {
        let mut record = Record::default();
        for (era, cell) in cells {
            record.add(era, Cell::parse(cell).unwrap());
        }
        record
    }

    #[test]
    fn a_cell_is_three_words_and_a_verdict() {
        let cell = Cell::parse("hash update program admitted: coverage, update").unwrap();
        assert_eq!(cell.row.source, "program");
        assert_eq!(cell.verdict, "admitted: coverage, update");
        for wrong in ["", "hash update program", "hash update program "] {
            assert_eq!(Cell::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_record_survives_its_file_a_row_on_each_line() {
        let record = record(&[
            ("6.1", "hash update program exact"),
            ("7.3", "hash update program wrong: \"1\""),
            ("7.3", "rhash delete syscall absent"),
        ]);
        let text = record.text();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert_eq!(Record::parse(&text).unwrap(), record);
        assert!(Record::parse(r#"[{"map":"hash"}]"#).is_err());
    }

    #[test]
    fn only_the_kernels_that_ran_are_compared_and_replaced() {
        let was = record(&[
            ("6.1", "hash update program exact"),
            ("7.3", "hash update program exact"),
        ]);
        let is = record(&[
            ("7.3", "hash update program absent"),
            ("7.3", "rhash update program exact"),
        ]);
        assert_eq!(was.differences(&was, &["6.1", "7.3"]), [""; 0]);
        assert_eq!(
            was.differences(&is, &["7.3"]),
            [
                "7.3: update of hash by program was exact, is absent",
                "7.3: update of rhash by program was nothing, is exact",
            ]
        );
        // A kernel that said nothing is a difference, too.
        assert_eq!(was.differences(&Record::default(), &["6.1"]).len(), 1);
        let mut now = was.clone();
        now.replace(&is, &["7.3"]);
        assert!(now.differences(&is, &["7.3"]).is_empty());
        assert!(now.differences(&was, &["6.1"]).is_empty());
        assert!(now.knows("6.1") && !is.knows("6.1"));
        assert!(!now.has_wrong() && record(&[("6.1", "hash pop program wrong: 1")]).has_wrong());
    }
}
