//! Two maps for tests: one in a storm, one of which little is known.

use std::collections::BTreeMap;

use crate::api::{MapEntry, MapList, Quantiles, Rates, SortKey, SortOrder};

/// A map of which only the kernel's description is known.
pub(crate) fn map(id: u32, name: &str, kind: &str) -> MapEntry {
    MapEntry {
        id,
        name: name.to_owned(),
        kind: kind.to_owned(),
        flags: 0,
        max_entries: 64,
        entries: None,
        fill: None,
        key_size: Some(4),
        value_size: Some(8),
        memory_bytes: None,
        rates: None,
        operations: BTreeMap::new(),
        update_quantiles: None,
        pop_quantiles: None,
        pops: None,
        lock_waits: BTreeMap::new(),
        storms: Vec::new(),
        users: Vec::new(),
        callers: Vec::new(),
    }
}

/// A full map in two storms.
pub(crate) fn stormy() -> MapEntry {
    MapEntry {
        max_entries: 1000,
        entries: Some(1000),
        fill: Some(1.0),
        memory_bytes: Some(98_304),
        rates: Some(Rates {
            operations_per_second: 4000.0,
            updates_per_second: 4000.0,
            rejects_per_second: 3000.0,
            busy: Some(0.12),
        }),
        update_quantiles: Some(Quantiles {
            p50: Some(1.4e-6),
            p90: Some(2.0e-6),
            p99: None,
        }),
        storms: vec!["full".to_owned(), "freelist".to_owned()],
        ..map(7, "flows", "hash")
    }
}

/// Both.
pub(crate) fn list() -> MapList {
    let maps = vec![stormy(), map(12, "idle", "lru_percpu")];
    MapList {
        window: 42,
        total: maps.len(),
        offset: 0,
        limit: 1000,
        sort: SortKey::Id,
        order: SortOrder::Asc,
        maps,
    }
}
