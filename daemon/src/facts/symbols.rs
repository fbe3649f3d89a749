//! Which kernel functions exist, under which names, and which can be traced.
//!
//! Answers for a given set of names; each file is read once, line by line, and never held whole.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use serde::Serialize;

use super::read::FactError;

/// More than the largest kernel lists, in bytes (5.4 MB with 122,000 symbols on 6.18).
const MAX_BYTES: u64 = 64 << 20;

/// Suffixes under which a compiler keeps a whole function; `.cold` and `.part` are pieces of one.
const TWINS: [&str; 4] = ["isra", "constprop", "llvm", "lto_priv"];

/// One line of `/proc/kallsyms`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Symbol {
    /// The name as listed, with its suffix.
    pub name: String,
    /// Where it stands; `None` when the kernel hides addresses. Not written: reports get pasted,
    /// and an address gives the kernel's layout away.
    #[serde(skip)]
    pub address: Option<u64>,
    /// The module it belongs to, `None` for the kernel itself.
    pub module: Option<String>,
}

/// What a function's name stands for in this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// No symbol of that name, nor a twin of it: not in this kernel, or inlined everywhere.
    Absent,
    /// Exactly one function of that very name.
    Exact(&'a Symbol),
    /// Only one whole function under a suffixed name: good for counting, its arguments may differ.
    Twin(&'a Symbol),
    /// Several that it could be: the name alone does not say which.
    Ambiguous(Vec<&'a Symbol>),
}

/// Does the kernel list a function as one that ftrace can reach?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Traceable {
    /// It is listed. Attaching may still be refused.
    Yes,
    /// It is not: trampolines and kprobes that use ftrace will fail.
    No,
    /// The list cannot be read here: only attaching will tell.
    Unknown,
}

/// Answers for the names asked about.
#[derive(Debug, Default, Serialize)]
pub struct Symbols {
    /// Symbols by the name asked for: those of that very name and its twins.
    found: BTreeMap<String, Vec<Symbol>>,
    /// All addresses read as zero: `kernel.kptr_restrict`, or `CAP_SYSLOG` is missing.
    pub addresses_hidden: bool,
    /// Listed names among those asked for, their twins included; `None` when there is no list.
    traceable: Option<BTreeSet<String>>,
}

impl Symbols {
    /// Reads `kallsyms` below `proc`, and `available_filter_functions` in either place where
    /// tracefs may be mounted below `sys`; that one is root's and may be missing. Nothing is read
    /// where nothing is `wanted`: the files have some hundred thousand lines.
    ///
    /// # Errors
    /// When `kallsyms` cannot be read.
    pub fn read(proc: &Path, sys: &Path, wanted: &[&str]) -> Result<Self, FactError> {
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let path = proc.join("kallsyms");
        let mut symbols = File::open(&path)
            .and_then(|file| Self::parse(BufReader::new(file), wanted))
            .map_err(|error| FactError::Read { path, error })?;
        symbols.traceable = ["kernel/tracing", "kernel/debug/tracing"]
            .into_iter()
            .filter_map(|dir| File::open(sys.join(dir).join("available_filter_functions")).ok())
            .find_map(|file| parse_filter(BufReader::new(file), wanted).ok());
        Ok(symbols)
    }

    /// Parses the text of `/proc/kallsyms`: `address type name`, then a tab and `[module]` where
    /// there is one. Lines of another shape are passed over.
    ///
    /// # Errors
    /// Only those of `text` itself.
    pub fn parse(text: impl BufRead, wanted: &[&str]) -> io::Result<Self> {
        let mut found = BTreeMap::<String, Vec<Symbol>>::new();
        let (mut lines, mut shown) = (0u64, false);
        for_each_line(text, |line| {
            let mut fields = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (fields.next(), fields.next(), fields.next())
            else {
                return;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else {
                return;
            };
            lines += 1;
            shown |= address != 0;
            let base = whole_function(name);
            if matches!(kind, "t" | "T" | "w" | "W")
                && let Some(base) = base.filter(|base| wanted.contains(base))
            {
                found.entry(base.into()).or_default().push(Symbol {
                    name: name.into(),
                    address: (address != 0).then_some(address),
                    module: fields.next().map(|m| m.trim_matches(['[', ']']).into()),
                });
            }
        })?;
        Ok(Self {
            found,
            addresses_hidden: lines > 0 && !shown,
            traceable: None,
        })
    }

    /// What `name` stands for, if it is one of the names asked about.
    pub fn resolve(&self, name: &str) -> Resolution<'_> {
        let symbols = self.found.get(name).map_or(&[][..], Vec::as_slice);
        let (exact, twins): (Vec<_>, Vec<_>) = symbols.iter().partition(|s| s.name == name);
        match (exact.as_slice(), twins.as_slice()) {
            ([], []) => Resolution::Absent,
            ([one], _) => Resolution::Exact(one),
            ([], [one]) => Resolution::Twin(one),
            ([], _) => Resolution::Ambiguous(twins),
            _ => Resolution::Ambiguous(exact),
        }
    }

    /// Whole functions under suffixed names beside or instead of `name`: a probe on one of them
    /// sees only the calls that the compiler sent there.
    pub fn twins(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        let symbols = self.found.get(name).into_iter().flatten();
        symbols.filter(|symbol| symbol.name.contains('.'))
    }

    /// Does the kernel list `name`, one of the names asked about or a twin of one, as traceable?
    pub fn traceable(&self, name: &str) -> Traceable {
        match &self.traceable {
            None => Traceable::Unknown,
            Some(listed) if listed.contains(name) => Traceable::Yes,
            Some(_) => Traceable::No,
        }
    }
}

/// The names listed in `available_filter_functions`, as far as they were asked about: `name`, then
/// `[module]` where there is one.
fn parse_filter(text: impl BufRead, wanted: &[&str]) -> io::Result<BTreeSet<String>> {
    let mut listed = BTreeSet::new();
    for_each_line(text, |line| {
        let Some(name) = line.split_ascii_whitespace().next() else {
            return;
        };
        if whole_function(name).is_some_and(|base| wanted.contains(&base)) {
            listed.insert(name.into());
        }
    })?;
    Ok(listed)
}

/// The name in the source of a symbol that is a whole function: itself, or without the suffixes
/// that a compiler appended. `None` for a piece of a function.
fn whole_function(symbol: &str) -> Option<&str> {
    let Some((base, suffixes)) = symbol.split_once('.') else {
        return Some(symbol);
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    suffixes
        .split('.')
        .all(|part| TWINS.contains(&part) || is_number(part))
        .then_some(base)
}

/// Calls `each` with every line; bytes that are not UTF-8 are replaced.
fn for_each_line(text: impl BufRead, mut each: impl FnMut(&str)) -> io::Result<()> {
    let mut text = text.take(MAX_BYTES);
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line)? != 0 {
        each(&String::from_utf8_lossy(&line));
        line.clear();
    }
    if text.limit() == 0 {
        let error = format!("it is longer than {MAX_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
