//! Which maps a request is about, and in which order.

use std::cmp::Ordering;

use axum::http::Uri;

use super::{params::Params, problem::Refused};
use crate::{
    api::{MapEntry, MapList, SortKey, SortOrder},
    identity::MapId,
    snapshot::MapStats,
    view::View,
};

/// Maps in an answer when nothing is said, and at most.
const LIMIT: usize = 1000;
const MAX_LIMIT: usize = 10_000;
/// How far an answer may begin.
const MAX_OFFSET: usize = 1_000_000;
/// Characters of a name or type that is looked for: a name of 15 bytes, each escaped.
const MAX_TEXT: usize = 64;

const PARAMETERS: [&str; 6] = ["sort", "order", "name", "type", "limit", "offset"];

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selection {
    sort: SortKey,
    order: SortOrder,
    name: Option<String>,
    kind: Option<String>,
    limit: usize,
    offset: usize,
}

impl Selection {
    /// What `uri` asks for.
    pub(super) fn of(uri: &Uri) -> Result<Self, Refused> {
        let params = Params::of(uri, &PARAMETERS)?;
        let sorts = SortKey::ALL.map(|sort| (sort.label(), sort));
        let orders = SortOrder::ALL.map(|order| (order.label(), order));
        let sort = params.word("sort", &sorts)?.unwrap_or_default();
        let order = params.word("order", &orders)?;
        let lower = |text: &str| text.to_lowercase();
        Ok(Self {
            sort,
            order: order.unwrap_or(sort.natural()),
            name: params.text("name", MAX_TEXT)?.map(lower),
            kind: params.text("type", MAX_TEXT)?.map(lower),
            limit: params.number("limit", 1..=MAX_LIMIT)?.unwrap_or(LIMIT),
            offset: params.number("offset", 0..=MAX_OFFSET)?.unwrap_or(0),
        })
    }

    /// The maps of the view that were asked for. Only those that are told are looked at in full.
    pub(super) fn list(&self, view: &View) -> MapList {
        let maps = view.snapshot.maps.iter();
        let mut maps: Vec<(Key<'_>, MapId, &MapStats)> = maps
            .filter(|(_, map)| self.matches(map))
            .map(|(&id, map)| (self.key(view, id, map), id, &**map))
            .collect();
        // By id already, and the sort is stable.
        maps.sort_by(|(a, ..), (b, ..)| a.compare(b, self.order));
        let told = maps.iter().skip(self.offset).take(self.limit);
        MapList {
            window: view.snapshot.window,
            total: maps.len(),
            offset: self.offset,
            limit: self.limit,
            sort: self.sort,
            order: self.order,
            maps: told
                .map(|&(_, id, map)| MapEntry::of(view, id, map))
                .collect(),
        }
    }

    fn matches(&self, map: &MapStats) -> bool {
        let named =
            { self.name.as_ref() }.is_none_or(|name| map.name.to_lowercase().contains(name));
        named && { self.kind.as_ref() }.is_none_or(|kind| map.kind.label() == kind.as_str())
    }

    fn key<'a>(&self, view: &View, id: MapId, map: &'a MapStats) -> Key<'a> {
        let rate = view.pace.of(id);
        match self.sort {
            SortKey::Id => Key::Number(Some(f64::from(id))),
            SortKey::Name => Key::Text((&*map.name).into()),
            SortKey::Type => Key::Text(map.kind.label()),
            SortKey::Cost => {
                Key::Pair(rate.map(|rate| (rate.busy.unwrap_or(0.0), rate.operations)))
            }
            SortKey::Updates => Key::Number(rate.map(|rate| rate.updates)),
            SortKey::Rejects => Key::Number(rate.map(|rate| rate.rejects)),
            SortKey::Fill => Key::Number(map.fill()),
            SortKey::Entries => Key::Number(map.entries.map(|entries| entries as f64)),
            SortKey::Memory => {
                let memory = map.listed.and_then(|listed| listed.memory);
                Key::Number(memory.map(|memory| memory as f64))
            }
            SortKey::P99 => {
                let update = map.ops.get(&mapstorm_abi::Op::Update);
                let durations = update.and_then(|update| update.durations.as_ref());
                let p99 = durations.and_then(|durations| durations.quantile_ns(0.99));
                Key::Number(p99.map(|p99| p99 as f64))
            }
        }
    }
}

/// What a map is sorted by.
#[derive(Clone, Debug)]
enum Key<'a> {
    Text(std::borrow::Cow<'a, str>),
    Number(Option<f64>),
    Pair(Option<(f64, f64)>),
}

impl Key<'_> {
    /// What is not known comes last, whichever way.
    fn compare(&self, other: &Self, order: SortOrder) -> Ordering {
        let directed = |ordering: Ordering| match order {
            SortOrder::Asc => ordering,
            SortOrder::Desc => ordering.reverse(),
        };
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => directed(a.cmp(b)),
            (Self::Number(Some(a)), Self::Number(Some(b))) => directed(a.total_cmp(b)),
            (Self::Pair(Some(a)), Self::Pair(Some(b))) => {
                directed(a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
            }
            _ => other.is_known().cmp(&self.is_known()),
        }
    }

    fn is_known(&self) -> bool {
        !matches!(self, Self::Number(None) | Self::Pair(None))
    }
}
