//! What a bench has found: samples, counts, and what the probes saw of it. Written and read as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::stats::{Summary, summary};

/// One run of a bench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The bench, as the command line has it.
    pub bench: String,
    /// The command that made it.
    pub command: String,
    /// Version of mapstorm.
    pub version: String,
    /// Release of the kernel.
    pub kernel: String,
    /// CPUs that there can be: lists of free elements are per possible CPU.
    pub possible_cpus: usize,
    /// CPUs that worked.
    pub cpus: Vec<u32>,
    /// When it began, RFC 3339.
    pub started: String,
    /// Was it ended early, by a signal?
    pub interrupted: bool,
    /// What was measured.
    pub cases: Vec<Case>,
    /// What could not be, and why.
    pub notes: Vec<String>,
}

/// One case of a bench.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its name, the same in every run.
    pub name: String,
    /// What was measured, the most telling first.
    pub measures: Vec<Measure>,
    /// Operations on the case's maps from their creation on, as the bench counted them.
    pub operations: Vec<Operations>,
    /// What mapstorm's probes saw beside that, where they were attached.
    pub watched: Vec<Value>,
}

/// A number that was measured once in each interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// What it is.
    pub name: String,
    /// Its unit, as people write it.
    pub unit: String,
    /// Is a larger one better?
    pub better: Better,
    /// One number for each interval.
    pub samples: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, of a sample; 0 for a single one.
    pub stddev: f64,
}

/// Which way a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The larger.
    Higher,
    /// The smaller.
    Lower,
}

/// Operations of one kind on the maps of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// Name of the maps.
    pub map: String,
    /// The operation, as the label `op` has it.
    pub op: String,
    /// As the bench counted them, by outcome.
    pub done: BTreeMap<String, u64>,
    /// As the probes counted them; `None` where none was attached that sees them.
    pub seen: Option<BTreeMap<String, u64>>,
}

/// A number that the probes tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// What it is.
    pub name: String,
    /// Its unit, as people write it.
    pub unit: String,
    /// The number.
    pub value: f64,
}

impl Measure {
    /// A measure of these samples, at least one.
    pub fn new(name: impl Into<String>, unit: &str, better: Better, samples: Vec<f64>) -> Self {
        let Summary { mean, stddev } = summary(&samples);
        Self {
            name: name.into(),
            unit: unit.to_owned(),
            better,
            samples,
            mean,
            stddev,
        }
    }
}

impl Value {
    /// A number and what it is.
    pub fn new(name: &str, unit: &str, value: f64) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            value,
        }
    }
}

impl Case {
    /// The measure of this name.
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.name == name)
    }
}

impl Report {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.name == name)
    }
}
