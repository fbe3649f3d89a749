//! Totals of maps that are gone, by name and type: with `--metrics.by=name` a sum never falls when a
//! map goes.

use std::{collections::BTreeMap, sync::Arc};

use crate::{identity::MapType, snapshot::MapStats};

/// What maps of a name and type had counted when they went.
pub type Totals = BTreeMap<(String, MapType), MapStats>;

/// Names that are kept apart; what goes under further ones is added up under no name.
const NAMES: usize = 1000;

/// Adds up what goes.
#[derive(Clone, Debug, Default)]
pub struct Departed {
    totals: Arc<Totals>,
}

impl Departed {
    /// What has gone so far.
    pub fn totals(&self) -> Arc<Totals> {
        Arc::clone(&self.totals)
    }

    /// Adds a map that leaves for good.
    pub fn add(&mut self, map: &MapStats) {
        if map.events() == 0 {
            return;
        }
        let totals = Arc::make_mut(&mut self.totals);
        let mut key = (map.name.clone(), map.kind);
        if totals.len() >= NAMES && !totals.contains_key(&key) {
            key.0.clear();
        }
        let total = totals.entry(key);
        total
            .and_modify(|total| total.absorb(map))
            .or_insert_with(|| map.clone());
    }
}

#[cfg(test)]
mod tests {
    use mapstorm_abi::{Op, Outcome};

    use super::*;
    use crate::snapshot::OpStats;

    fn map(name: &str, done: u64) -> MapStats {
        let mut update = OpStats::default();
        update.outcomes[Outcome::Ok as usize] = done;
        MapStats {
            name: name.to_owned(),
            kind: MapType::HASH,
            max_entries: 10,
            flags: 0,
            entries: Some(1),
            listed: None,
            ops: [(Op::Update, update)].into(),
            pops: None,
            locks: BTreeMap::new(),
        }
    }

    fn done(departed: &Departed, name: &str) -> Option<u64> {
        let key = (name.to_owned(), MapType::HASH);
        let totals = departed.totals();
        totals.get(&key).map(|map| map.updates(Outcome::Ok))
    }

    #[test]
    fn what_goes_is_added_up_by_name() {
        let mut departed = Departed::default();
        for (name, n) in [("a", 5), ("a", 9), ("b", 1), ("c", 0)] {
            departed.add(&map(name, n));
        }
        assert_eq!(done(&departed, "a"), Some(14));
        assert_eq!(done(&departed, "b"), Some(1));
        assert_eq!(done(&departed, "c"), None, "it never counted anything");
    }

    #[test]
    fn names_that_never_end_are_bounded() {
        let mut departed = Departed::default();
        for n in 0..2 * NAMES {
            departed.add(&map(&format!("m{n}"), 1));
        }
        assert_eq!(departed.totals().len(), NAMES + 1);
        assert_eq!(done(&departed, ""), Some(NAMES as u64));
    }
}
