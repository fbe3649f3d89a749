//! Whether one drill was flagged as a storm and cleared again: what `demo --once` is about.

use super::exposition::Exposition;
use super::summary;

/// What the scrapes have proved so far.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Storms counted before the drill.
    before: Option<f64>,
    /// Storms counted at last.
    counted: f64,
    /// Whether the count ever grew: a map's own series goes away with the map.
    grew: bool,
    seen_active: bool,
    is_active: bool,
    unavailable: Vec<String>,
}

impl Watch {
    /// Takes a scrape into account. The first must come before the drill.
    pub(super) fn see(&mut self, now: &Exposition) {
        let full = |kind: &str| kind == "full";
        let counts = now
            .named("mapstorm_storms_total")
            .filter(|s| full(s.label("kind")));
        self.counted = counts.map(|sample| sample.value).sum();
        self.grew |= self.counted > *self.before.get_or_insert(self.counted);
        self.is_active = summary::storms(now).iter().any(|storm| full(&storm.kind));
        self.seen_active |= self.is_active;
        self.unavailable = summary::probes(now).1;
    }

    /// Whether the storm was flagged: counted, and seen to be on.
    pub(super) fn is_flagged(&self) -> bool {
        self.seen_active && self.grew
    }

    /// Whether the storm was flagged and is over.
    pub(super) fn is_cleared(&self) -> bool {
        self.is_flagged() && !self.is_active
    }

    /// The verdict in words.
    pub(super) fn words(&self) -> String {
        if self.is_cleared() {
            return "passed: the drill was flagged as a storm, and the storm cleared".into();
        }
        let what = match (self.before, self.is_flagged()) {
            (None, _) => "the daemon never published a metric",
            (_, true) => "the storm was flagged and never cleared",
            _ if self.seen_active => "a storm was active, but mapstorm_storms_total did not grow",
            _ if self.grew => "a storm was counted, but never seen to be active",
            _ => "the drill was not flagged as a storm",
        };
        let mut text = format!("failed: {what}");
        for probe in &self.unavailable {
            text += &format!("\n  not available: {probe}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrape(total: u32, active: u32) -> Exposition {
        let text = format!(
            "mapstorm_storms_total{{kind=\"full\"}} {total}\n\
             mapstorm_storms_total{{kind=\"lru\"}} 9\n\
             mapstorm_storm_active{{map_id=\"7\",kind=\"full\"}} {active}\n\
             mapstorm_probe_unavailable{{probe=\"pop\",reason=\"EPERM\"}} 1\n"
        );
        Exposition::parse(&text).unwrap()
    }

    fn watch(scrapes: &[(u32, u32)]) -> Watch {
        let mut watch = Watch::default();
        scrapes
            .iter()
            .for_each(|(total, active)| watch.see(&scrape(*total, *active)));
        watch
    }

    #[test]
    fn flagged_and_cleared_passes() {
        let watch = watch(&[(3, 0), (4, 1), (0, 0)]);
        assert!(watch.is_cleared());
        assert!(watch.words().starts_with("passed"));
    }

    #[test]
    fn anything_less_fails_and_says_why() {
        for (scrapes, why) in [
            (&[][..], "never published"),
            (&[(3, 0), (3, 0)], "not flagged"),
            (&[(3, 0), (4, 1)], "never cleared"),
            (&[(3, 0), (3, 1), (3, 0)], "did not grow"),
            (&[(3, 0), (4, 0)], "never seen"),
        ] {
            let watch = watch(scrapes);
            assert!(!watch.is_cleared());
            assert!(watch.words().contains(why), "{}", watch.words());
            assert_eq!(watch.words().contains("pop: EPERM"), !scrapes.is_empty());
        }
    }
}
