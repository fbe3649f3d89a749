//! Rows of a scrape: a family, label values, a value. From rows to the registry's own types.

use std::collections::BTreeMap;

use prometheus::proto::{self, MetricFamily, MetricType};

use super::{family::Family, histogram};

/// One metric: several series where it is a histogram.
#[derive(Clone, Debug)]
pub(super) struct Row {
    family: &'static Family,
    labels: Vec<String>,
    value: Value,
}

/// Name of the family, values of the labels.
pub(super) type Key = (&'static str, Vec<String>);

#[derive(Clone, Debug)]
enum Value {
    Number(f64),
    Histogram(proto::Histogram),
}

impl Row {
    /// A counter or a gauge.
    pub(super) fn number(family: &'static Family, labels: &[&str], value: f64) -> Self {
        Self::new(family, labels, Value::Number(value))
    }

    /// A counter or a gauge of whole events; exact up to 2^53.
    pub(super) fn count(family: &'static Family, labels: &[&str], value: u64) -> Self {
        Self::number(family, labels, value as f64)
    }

    /// A histogram.
    pub(super) fn histogram(
        family: &'static Family,
        labels: &[&str],
        histogram: proto::Histogram,
    ) -> Self {
        Self::new(family, labels, Value::Histogram(histogram))
    }

    fn new(family: &'static Family, labels: &[&str], value: Value) -> Self {
        debug_assert_eq!(family.labels.len(), labels.len(), "{}", family.name);
        Self {
            family,
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            value,
        }
    }

    /// What tells its series from all others.
    pub(super) fn key(&self) -> Key {
        (self.family.name, self.labels.clone())
    }

    /// Makes one of two rows of one key: counters and histograms are added, the larger gauge counts.
    pub(super) fn absorb(&mut self, other: &Self) {
        let counts = self.family.kind == MetricType::COUNTER;
        match (&mut self.value, &other.value) {
            (Value::Number(sum), Value::Number(n)) if counts => *sum += n,
            (Value::Number(most), Value::Number(n)) => *most = most.max(*n),
            (Value::Histogram(sum), Value::Histogram(more)) => histogram::add(sum, more),
            (Value::Number(_), Value::Histogram(_)) | (Value::Histogram(_), Value::Number(_)) => {}
        }
    }

    /// Series that this row becomes: a histogram's buckets, `+Inf` among them, its sum and its count.
    pub(super) fn series(&self) -> usize {
        match &self.value {
            Value::Number(_) => 1,
            Value::Histogram(histogram) => histogram.get_bucket().len() + 3,
        }
    }

    fn into_metric(self) -> proto::Metric {
        let mut metric = proto::Metric::default();
        let names = self.family.labels.iter();
        metric.set_label(
            names
                .zip(self.labels)
                .map(|(&name, value)| {
                    let mut pair = proto::LabelPair::default();
                    pair.set_name(name.to_owned());
                    pair.set_value(value);
                    pair
                })
                .collect(),
        );
        match self.value {
            Value::Number(value) if self.family.kind == MetricType::COUNTER => {
                let mut counter = proto::Counter::default();
                counter.set_value(value);
                metric.set_counter(counter);
            }
            Value::Number(value) => {
                let mut gauge = proto::Gauge::default();
                gauge.set_value(value);
                metric.set_gauge(gauge);
            }
            Value::Histogram(histogram) => metric.set_histogram(histogram),
        }
        metric
    }
}

/// Series that rows become.
pub(super) fn series(rows: &[Row]) -> usize {
    rows.iter().map(Row::series).sum()
}

/// Rows by family, as the registry takes them.
pub(super) fn families(rows: Vec<Row>) -> Vec<MetricFamily> {
    let mut families: BTreeMap<&str, (&Family, Vec<proto::Metric>)> = BTreeMap::new();
    for row in rows {
        let family = row.family;
        let entry = families.entry(family.name);
        entry
            .or_insert((family, Vec::new()))
            .1
            .push(row.into_metric());
    }
    let families = families.into_values().map(|(family, metrics)| {
        let mut filled = MetricFamily::default();
        filled.set_name(family.name.to_owned());
        filled.set_help(family.help.to_owned());
        filled.set_field_type(family.kind);
        filled.set_metric(metrics);
        filled
    });
    families.collect()
}
