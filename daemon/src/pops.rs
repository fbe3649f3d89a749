//! How freelist pops can be seen here: by themselves, through the function around them, or only in
//! what updates return.

use std::fmt;

use serde::Serialize;

use crate::{
    plan::{ALLOC_HOOK, POP, POP_HOOK, UPDATE},
    probes::{Mechanism, ProbeStatus},
};

/// Where the numbers about pops come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PopSource {
    /// The pop itself is hooked: counted and timed.
    Pop,
    /// `alloc_htab_elem` is hooked, which pops: counted, and what is timed is no pop.
    Alloc,
    /// No probe: an update of a preallocated map that is refused with -E2BIG found every list
    /// empty. Pops that found an element cannot be told.
    Derived,
}

impl PopSource {
    /// The best source among what became of the probes; `None` where pops cannot be seen at all.
    pub fn of(statuses: &[ProbeStatus]) -> Option<Self> {
        let on = |signal, hook: Option<&str>| {
            let typed = |s: &&ProbeStatus| s.attached() && s.mechanism.counts_by_map();
            let mut attached = statuses.iter().filter(typed);
            attached.any(|s| s.signal == signal && hook.is_none_or(|hook| s.hook == hook))
        };
        match () {
            () if on(POP, Some(POP_HOOK)) => Some(Self::Pop),
            () if on(POP, Some(ALLOC_HOOK)) => Some(Self::Alloc),
            () if on(UPDATE, None) => Some(Self::Derived),
            () => None,
        }
    }
}

impl fmt::Display for PopSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pop => "counted and timed",
            Self::Alloc => "counted by `alloc_htab_elem`, whose time is not a pop's",
            Self::Derived => "only the empty ones, derived from refused updates",
        })
    }
}

/// The record of pops that are derived: one line per update hook they are derived from.
pub fn derived(statuses: &[ProbeStatus]) -> Vec<ProbeStatus> {
    if PopSource::of(statuses) != Some(PopSource::Derived) {
        return Vec::new();
    }
    let exits = statuses
        .iter()
        .filter(|s| s.signal == UPDATE && s.attached() && s.mechanism.counts_by_map());
    // An LRU map has no freelist.
    let popping = exits.filter(|s| !s.hook.contains("lru"));
    popping
        .map(|update| ProbeStatus {
            probe: "pop_derived",
            signal: POP,
            hook: update.hook.clone(),
            mechanism: Mechanism::Derived,
            refusal: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::Refusal;

    fn status(signal: &'static str, hook: &str, attached: bool) -> ProbeStatus {
        let refusal = || Refusal {
            reason: "notrace",
            detail: String::new(),
            remedy: String::new(),
        };
        ProbeStatus {
            probe: "a_probe",
            signal,
            hook: hook.to_owned(),
            mechanism: Mechanism::Fexit,
            refusal: (!attached).then(refusal),
        }
    }

    #[test]
    fn the_best_source_that_is_attached_counts() {
        let update = |attached| status(UPDATE, "htab_map_update_elem", attached);
        let pop = |attached| status(POP, POP_HOOK, attached);
        let alloc = |attached| status(POP, ALLOC_HOOK, attached);
        for (statuses, source) in [
            (
                [update(true), pop(true), alloc(false)],
                Some(PopSource::Pop),
            ),
            (
                [update(true), pop(false), alloc(true)],
                Some(PopSource::Alloc),
            ),
            (
                [update(true), pop(false), alloc(false)],
                Some(PopSource::Derived),
            ),
            ([update(false), pop(false), alloc(false)], None),
        ] {
            assert_eq!(PopSource::of(&statuses), source, "{statuses:?}");
        }
    }

    #[test]
    fn derived_pops_are_on_record_with_the_updates_they_come_from() {
        let mut statuses = vec![
            status(UPDATE, "htab_map_update_elem", true),
            status(UPDATE, "htab_lru_map_update_elem", true),
            status(POP, POP_HOOK, false),
        ];
        let [derived] = &derived(&statuses)[..] else {
            panic!("one hook of maps that pop is attached");
        };
        assert_eq!(derived.hook, "htab_map_update_elem");
        assert!(derived.attached() && derived.mechanism == Mechanism::Derived);
        statuses[2].refusal = None;
        assert!(super::derived(&statuses).is_empty());
    }
}
