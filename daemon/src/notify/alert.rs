//! One storm as Alertmanager's v2 API wants it: labels that stay the same from its start to its end, annotations for
//! people. Pure.

use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use crate::{
    identity::MapId,
    storm::{Severity, Storm},
};

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The label `instance`: this host's name.
    pub instance: String,
    /// Where a person can look: the daemon's page.
    pub page: String,
}

/// An alert. Two of the same labels are one to a receiver; the newer one counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alert {
    labels: Labels,
    annotations: Annotations,
    /// When the storm opened; absent where the clock could not be read.
    #[serde(rename = "startsAt", skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "rfc3339")]
    starts_at: Option<SystemTime>,
    /// When it closed or, of one that is open, when it is to be taken for over unless this is said again.
    #[serde(rename = "endsAt", serialize_with = "rfc3339")]
    ends_at: Option<SystemTime>,
    #[serde(rename = "generatorURL")]
    generator_url: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Labels {
    alertname: &'static str,
    severity: &'static str,
    kind: &'static str,
    #[serde(serialize_with = "text")]
    map_id: MapId,
    map_name: String,
    map_type: String,
    instance: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Annotations {
    summary: String,
    description: String,
    advice: String,
}

impl Alert {
    /// What `source` says of a storm at `now`. One that is open is over after `silence` without another word.
    pub fn new(storm: &Storm, source: &Source, now: SystemTime, silence: Duration) -> Self {
        let closed = storm.closed.map(|closed| closed.at.time.unwrap_or(now));
        let ends_at = closed.unwrap_or_else(|| now + silence);
        // A clock that was set back in between must not make it end before it began: that is refused.
        let starts_at = storm.opened.time.map(|start| start.min(ends_at));
        Self {
            labels: Labels {
                alertname: "MapStorm",
                severity: severity(storm.severity),
                kind: storm.kind.label(),
                map_id: storm.map_id,
                map_name: storm.map_name.clone(),
                map_type: storm.map_type.label().into_owned(),
                instance: source.instance.clone(),
            },
            annotations: Annotations {
                summary: summary(storm, source),
                description: description(storm),
                advice: format!("{}: {}", storm.advice.action, storm.advice.reason),
            },
            starts_at,
            ends_at: Some(ends_at),
            generator_url: source.page.clone(),
        }
    }
}

/// The word that Prometheus rules and routes of Alertmanager have for it by convention.
const fn severity(of: Severity) -> &'static str {
    match of {
        Severity::Minor => "info",
        Severity::Major => "warning",
        Severity::Critical => "critical",
    }
}

fn summary(storm: &Storm, source: &Source) -> String {
    let over = if storm.closed.is_some() {
        " is over"
    } else {
        ""
    };
    format!(
        "{} storm {} on BPF map {} \"{}\" of {}{over}",
        storm.severity.label(),
        storm.kind.label(),
        storm.map_id,
        storm.map_name,
        source.instance
    )
}

fn description(storm: &Storm) -> String {
    let peaks = match storm.closed {
        None => String::new(),
        Some(_) => format!(
            "; at most {:.0} refused updates a second and {} CPUs",
            storm.peak_rejects_per_second, storm.peak_cpus
        ),
    };
    format!(
        "{}; {} refused in all{peaks}; fill {}; callers: {}",
        storm.evidence.text,
        storm.rejects,
        storm.fill_text(),
        storm.callers_text()
    )
}

fn rfc3339<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(&humantime::format_rfc3339_millis(*time)),
        None => serializer.serialize_none(),
    }
}

fn text<S: Serializer>(id: &MapId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        identity::MapType,
        storm::{Advice, Closed, End, Evidence, FreelistUse, Kind, Moment},
    };

    /// A moment so many seconds after the epoch, four windows each.
    pub(in crate::notify) fn moment(seconds: u64) -> Moment {
        Moment {
            window: 4 * seconds,
            time: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
        }
    }

    /// A storm of map `id`, opened and maybe closed at these seconds.
    pub(in crate::notify) fn storm(id: MapId, opened: u64, closed: Option<u64>) -> Storm {
        Storm {
            kind: Kind::Full,
            severity: Severity::Minor,
            map_id: id,
            map_name: "fl\"ows".to_owned(),
            map_type: MapType::PERCPU_HASH,
            since_window: 4 * opened,
            opened: moment(opened),
            closed: closed.map(|seconds| Closed {
                at: moment(seconds),
                end: End::Calm,
            }),
            rejects_per_second: 3000.4,
            peak_rejects_per_second: 9000.0,
            cpus: 2,
            peak_cpus: 3,
            rejects: 12_000,
            cpu_seconds_per_second: None,
            peak_cpu_seconds_per_second: None,
            fill: Some(1.0),
            evidence: Evidence {
                text: "2 CPUs had 3000 updates a second refused: the map is full".to_owned(),
                ..Evidence::default()
            },
            freelist: FreelistUse::EveryListScanned,
            callers: Vec::new(),
            advice: Advice {
                action: "raise max_entries".into(),
                reason: "it is full".into(),
            },
        }
    }

    pub(in crate::notify) fn source() -> Source {
        Source {
            instance: "node-1".to_owned(),
            page: "http://node-1:10061/".to_owned(),
        }
    }

    fn told(storm: &Storm, now: u64) -> Value {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now);
        let alert = Alert::new(storm, &source(), now, Duration::from_secs(180));
        serde_json::to_value(alert).unwrap()
    }

    #[test]
    fn an_open_storm_is_what_alertmanager_takes() {
        assert_eq!(
            told(&storm(39, 100, None), 110),
            json!({
                "labels": {
                    "alertname": "MapStorm",
                    "severity": "info",
                    "kind": "full",
                    "map_id": "39",
                    "map_name": "fl\"ows",
                    "map_type": "percpu_hash",
                    "instance": "node-1",
                },
                "annotations": {
                    "summary": "minor storm full on BPF map 39 \"fl\"ows\" of node-1",
                    "description": "2 CPUs had 3000 updates a second refused: the map is full; \
                                    12000 refused in all; fill 1.000; callers: unknown",
                    "advice": "raise max_entries: it is full",
                },
                "startsAt": "1970-01-01T00:01:40.000Z",
                "endsAt": "1970-01-01T00:04:50.000Z",
                "generatorURL": "http://node-1:10061/",
            })
        );
    }

    #[test]
    fn a_closed_one_ends_when_it_closed_under_the_same_labels() {
        let (open, closed) = (
            told(&storm(39, 100, None), 110),
            told(&storm(39, 100, Some(120)), 500),
        );
        assert_eq!(open["labels"], closed["labels"]);
        assert_eq!(closed["endsAt"], "1970-01-01T00:02:00.000Z");
        let summary = closed["annotations"]["summary"].as_str().unwrap();
        assert!(summary.ends_with("is over"), "{summary}");
        let description = closed["annotations"]["description"].as_str().unwrap();
        let peaks = "at most 9000 refused updates a second and 3 CPUs";
        assert!(description.contains(peaks), "{description}");
    }

    #[test]
    fn the_severity_is_the_storms_own_in_the_words_that_routes_have() {
        for (severity, word) in [
            (Severity::Minor, "info"),
            (Severity::Major, "warning"),
            (Severity::Critical, "critical"),
        ] {
            let storm = Storm {
                severity,
                ..storm(39, 100, None)
            };
            assert_eq!(told(&storm, 110)["labels"]["severity"], word);
        }
    }

    #[test]
    fn no_alert_ends_before_it_starts_whatever_the_clock_does() {
        let closed = told(&storm(39, 100, Some(40)), 500);
        assert_eq!(closed["startsAt"], closed["endsAt"]);
        let mut unknown = storm(39, 100, None);
        unknown.opened.time = None;
        assert!(told(&unknown, 1).get("startsAt").is_none());
    }
}
