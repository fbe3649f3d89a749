//! How exact the counts are: what the guests found, what was found before, and the README's table of it.

pub mod readme;
mod record;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::table::Verdict;
use crate::paths;
pub use record::{Cell, Record};

/// What was found when somebody last looked and agreed.
fn data_file() -> PathBuf {
    paths::workspace().join("deploy/docs/exactness.json")
}

fn readme_file() -> PathBuf {
    paths::workspace().join("README.md")
}

fn read(file: &PathBuf) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn write(file: &PathBuf, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// The committed record.
///
/// # Errors
/// The file cannot be read, or is no record.
pub fn committed() -> Result<Record> {
    let file = data_file();
    Record::parse(&read(&file)?).with_context(|| format!("{} is no record", file.display()))
}

/// `cargo xtask docs`: writes the README's table from the committed record.
///
/// # Errors
/// A file cannot be read or written, or the README has no place for the table.
pub fn write_readme() -> Result<()> {
    let text = readme::with_table(&read(&readme_file())?, &committed()?)?;
    write(&readme_file(), &text)
}

/// Whether the README shows what the committed record says.
///
/// # Errors
/// It does not, or a file cannot be read.
pub fn check_readme() -> Result<Verdict> {
    let text = read(&readme_file())?;
    if readme::with_table(&text, &committed()?)? != text {
        bail!("README.md does not show deploy/docs/exactness.json: run `cargo xtask docs`");
    }
    Ok(Verdict::Passed)
}

/// Compares what guests found on `eras` with the committed record; with `bless` it becomes the record,
/// and the README shows it.
///
/// # Errors
/// They differ, or a file cannot be read or written.
pub fn conclude(found: &Record, eras: &[&str], bless: bool) -> Result<Verdict> {
    if found.has_wrong() {
        bail!("a count is wrong and nothing admits it; see the test `exactness`");
    }
    if bless {
        let mut record = committed().unwrap_or_default();
        record.replace(found, eras);
        write(&data_file(), &record.text())?;
        return write_readme().map(|()| Verdict::Passed);
    }
    let differences = committed()?.differences(found, eras);
    if !differences.is_empty() {
        bail!(
            "not what deploy/docs/exactness.json says (`cargo xtask test --bless` to accept it):\n   {}",
            differences.join("\n   ")
        );
    }
    Ok(Verdict::Passed)
}
