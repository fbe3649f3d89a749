//! What the daemon says of one map against the books, cell by cell.

use std::fmt;

use anyhow::Result;
use mapstorm::identity::MapType;
use mapstorm_abi::Outcome;

use super::drive::Driven;
use crate::tools::{
    bench::Source,
    check::{
        BATCH_ELEMENTS, COVERAGE, Comparison, LOST, MISSES, OPERATION_COUNT, OPERATIONS, POP_COUNT,
        POPS,
    },
    guest::Guest,
    ledger::{Counts, Operation},
    scrape::Scrape,
};

/// The word for pops in the table: they happen inside of updates.
const POP: &str = "pop";

/// What is admitted to be lost, by whatever reason.
const LOSS: &str = "lost or missed";

/// How exact a count is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Every number is what was done.
    Exact,
    /// This kernel has no such thing.
    Absent,
    /// Something is missing, and this metric says so.
    Admitted(String),
    /// Something is wrong, and nothing says so.
    Wrong(String),
}

impl Verdict {
    /// Is something missing that the same work need not miss another time? A program that is
    /// interrupted inside itself misses a run, which is counted.
    pub(super) fn is_by_chance(&self) -> bool {
        matches!(self, Self::Admitted(metric) if metric == LOSS)
    }
}

/// A verdict and what it is about.
pub(super) struct Cell {
    kind: &'static str,
    operation: &'static str,
    source: Source,
    pub(super) verdict: Verdict,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = label(self.source);
        write!(f, "{} {} {source} ", self.kind, self.operation)?;
        match &self.verdict {
            Verdict::Exact => f.write_str("exact"),
            Verdict::Absent => f.write_str("absent"),
            Verdict::Admitted(metric) => write!(f, "admitted: {metric}"),
            Verdict::Wrong(why) => write!(f, "wrong: {why}"),
        }
    }
}

/// The label `source`.
const fn label(source: Source) -> &'static str {
    match source {
        Source::Program => "program",
        Source::Syscall => "syscall",
    }
}

/// The cells of one map.
pub(super) fn judge(guest: &Guest, scrape: &Scrape, driven: &Driven) -> Result<Vec<Cell>> {
    let cell = |operation, verdict| Cell {
        kind: driven.subject.word,
        operation,
        source: driven.source,
        verdict,
    };
    let absent = driven.absent.iter();
    let mut cells: Vec<_> = absent
        .map(|operation| cell(operation.word(), Verdict::Absent))
        .collect();
    for (operation, counts) in driven.ledger.operations() {
        let compared = one(scrape, driven, operation, counts)?;
        let verdict = compared.verdict(scrape, driven.signal(operation), driven.source)?;
        cells.push(cell(operation.word(), verdict));
    }
    // Pops inside batches are no row of their own: they are those of the updates.
    let one_by_one = driven
        .ledger
        .operations()
        .any(|(operation, _)| operation == Operation::Update);
    if driven.subject.has_freelist && one_by_one {
        let compared = pops(guest, scrape, driven)?;
        cells.push(cell(POP, compared.verdict(scrape, POP, driven.source)?));
    }
    Ok(cells)
}

/// Counts of one operation that were compared.
#[derive(Default)]
struct Compared {
    comparison: Comparison,
    /// Is more seen than is true anywhere? Nothing admits that.
    too_many: bool,
    /// The most that is missing anywhere.
    missing: u64,
}

impl Compared {
    fn is(&mut self, what: &str, seen: Option<u64>, truth: Option<u64>) {
        let (is, should) = (seen.unwrap_or(0), truth.unwrap_or(0));
        self.too_many |= is > should;
        self.missing = self.missing.max(should.saturating_sub(is));
        self.comparison.is(what, seen, truth);
    }

    fn verdict(self, scrape: &Scrape, signal: &str, source: Source) -> Result<Verdict> {
        let (too_many, missing) = (self.too_many, self.missing);
        let Err(difference) = self.comparison.finish() else {
            return Ok(Verdict::Exact);
        };
        let admitted = if too_many {
            None
        } else {
            admits(scrape, signal, source, missing)?
        };
        let wrong = || Verdict::Wrong(format!("{difference:#}"));
        Ok(admitted.map_or_else(wrong, Verdict::Admitted))
    }
}

/// The metric that admits that so much of a signal is not seen, if one does.
fn admits(scrape: &Scrape, signal: &str, source: Source, missing: u64) -> Result<Option<String>> {
    let labels = [("signal", signal), ("source", label(source))];
    let covered = scrape.samples(COVERAGE, &labels).next();
    if covered.is_none_or(|sample| sample.value < 1.0) {
        let [(_, signal), (_, source)] = labels;
        let what = covered.map_or("not watched", |_| "coverage");
        return Ok(Some(format!("{what}, {signal}, {source}")));
    }
    let lost = scrape.sum(LOST, &[])? + scrape.sum(MISSES, &[])?;
    Ok((lost >= missing).then(|| LOSS.to_owned()))
}

/// One operation: its outcomes, how many were timed, and its elements.
fn one(
    scrape: &Scrape,
    driven: &Driven,
    operation: Operation,
    counts: &Counts,
) -> Result<Compared> {
    let mut compared = Compared::default();
    let map = map_labels(driven);
    let op = ("op", operation.op());
    for outcome in Outcome::ALL {
        let labels = [&labels(&map)[..], &[op, ("outcome", outcome.label())]].concat();
        let (seen, truth) = (
            scrape.find(OPERATIONS, &labels)?,
            counts.outcomes[outcome as usize],
        );
        compared.is(outcome.label(), seen, Some(truth));
    }
    let labels = [&labels(&map)[..], &[op]].concat();
    let timed = scrape.find(OPERATION_COUNT, &labels)?;
    compared.is("timed", timed, Some(counts.calls()));
    let elements = operation.counts_elements().then_some(counts.elements);
    let seen = scrape.find(BATCH_ELEMENTS, &labels)?;
    compared.is("elements", seen, elements);
    Ok(compared)
}

/// The pops of a map that was drained: every element that came off the freelist went back by a delete
/// of some kind; an update that was refused as too big popped nothing.
fn pops(guest: &Guest, scrape: &Scrape, driven: &Driven) -> Result<Compared> {
    let mut compared = Compared::default();
    let map = map_labels(driven);
    let map = labels(&map);
    let (ok, empty) = (
        driven.ledger.removed(),
        driven.ledger.count(Operation::Update, Outcome::E2big),
    );
    for (outcome, truth) in [("ok", ok), ("empty", empty)] {
        let labels = [&map[..], &[("outcome", outcome)]].concat();
        let seen = scrape.find(POPS, &labels)?;
        compared.is(outcome, seen, Some(truth));
    }
    let pops = Some(ok + empty);
    let (timed, around) = if guest.pops_are_timed() {
        (pops, None)
    } else {
        (None, pops)
    };
    compared.is("timed", scrape.find(POP_COUNT, &map)?, timed);
    let alloc = [&map[..], &[("op", "alloc")]].concat();
    compared.is("allocations", scrape.find(OPERATION_COUNT, &alloc)?, around);
    Ok(compared)
}

/// Id, name and type of a map, as its labels have them.
fn map_labels(driven: &Driven) -> [String; 3] {
    let id = driven.map.as_ref().map_or(0, |map| map.id);
    let kind = MapType(driven.subject.number).label().into_owned();
    [id.to_string(), driven.subject.name.to_owned(), kind]
}

fn labels([id, name, kind]: &[String; 3]) -> [(&str, &str); 3] {
    [("map_id", id), ("map_name", name), ("map_type", kind)]
}
