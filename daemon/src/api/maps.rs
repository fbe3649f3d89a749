//! `/api/v1/maps` and `/api/v1/maps/{id}`: every map, and all there is to tell of one.

use std::collections::BTreeMap;

use mapstorm_abi::Outcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Caller, Histogram, Quantiles, Rates, Storm, User};
use crate::{
    identity::MapId,
    snapshot::{LockOutcome, MapStats, OpStats},
    view::View,
};

/// Maps that match the question, in order, from `offset` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MapList {
    /// Number of the sample window that this is the state after.
    pub window: u64,
    /// Maps that match, told or not.
    pub total: usize,
    /// How many of them come before the first one told.
    pub offset: usize,
    /// How many are told at most.
    pub limit: usize,
    /// What they are sorted by.
    pub sort: SortKey,
    /// Which way.
    pub order: SortOrder,
    /// The maps.
    pub maps: Vec<MapEntry>,
}

/// What maps are sorted by; equals are by id. A map of which the number is not known comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortKey {
    /// Its id.
    #[default]
    Id,
    /// Its name.
    Name,
    /// Its type.
    Type,
    /// CPU time that operations on it take, per second; where they are not timed, their number.
    Cost,
    /// Updates per second.
    Updates,
    /// Refused operations per second.
    Rejects,
    /// Share of `max_entries` in use.
    Fill,
    /// Elements in it.
    Entries,
    /// What it takes, bytes.
    Memory,
    /// 99th percentile of its updates' durations.
    P99,
}

/// Which way maps are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SortOrder {
    /// The least first.
    Asc,
    /// The greatest first.
    Desc,
}

/// What there is to tell of a map in a list. What is not known is `null`; an operation or a lock that was
/// never seen is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MapEntry {
    /// The kernel's id.
    pub id: u32,
    /// The name, printable.
    pub name: String,
    /// The type, as bpftool names it.
    #[serde(rename = "type")]
    pub kind: String,
    /// `map_flags` as the map was created.
    pub flags: u32,
    /// `max_entries` as the map was created.
    pub max_entries: u32,
    /// Elements in it, where that can be told exactly.
    pub entries: Option<u64>,
    /// Share of `max_entries` in use, 0 to 1.
    pub fill: Option<f64>,
    /// Size of a key, bytes.
    pub key_size: Option<u32>,
    /// Size of a value, bytes; of a per-CPU map, on each CPU.
    pub value_size: Option<u32>,
    /// What the map takes, bytes, as the kernel says.
    pub memory_bytes: Option<u64>,
    /// How fast things go, over about the last second; `null` while there are not two samples yet.
    pub rates: Option<Rates>,
    /// Finished operations since the daemon began to count, by name and outcome.
    pub operations: BTreeMap<String, BTreeMap<String, u64>>,
    /// Quantiles of the durations of updates since the daemon began to count; `null` where none was timed.
    pub update_quantiles: Option<Quantiles>,
    /// The same of freelist pops.
    pub pop_quantiles: Option<Quantiles>,
    /// Freelist pops.
    pub pops: Option<Pops>,
    /// Waits for locks inside of operations, by the lock's place.
    pub lock_waits: BTreeMap<String, LockWaits>,
    /// Kinds of the storms that are open on it.
    pub storms: Vec<String>,
    /// The programs that use it.
    pub users: Vec<User>,
    /// Who called lately, the heaviest first.
    pub callers: Vec<Caller>,
}

/// Freelist pops of a preallocated map since the daemon began to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pops {
    /// Pops that returned an element; `null` where only the empty ones can be told.
    pub ok: Option<u64>,
    /// Pops that found every list empty.
    pub empty: u64,
}

/// Waits for locks of one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockWaits {
    /// Ended waits by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Time waited, nanoseconds, all CPUs; `null` where no wait was timed.
    pub waited_ns: Option<u64>,
}

/// All there is to tell of one map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MapDetail {
    /// Number of the sample window that this is the state after.
    pub window: u64,
    /// What the list tells.
    #[serde(flatten)]
    pub map: MapEntry,
    /// Durations of operations, by name; `alloc` is `alloc_htab_elem`, where pops cannot be timed. An
    /// operation of which none was timed is not there.
    pub durations: BTreeMap<String, Histogram>,
    /// Durations of freelist pops; `null` where none was timed.
    pub pop_durations: Option<Histogram>,
    /// Waits for locks that were timed, by the lock's place.
    pub lock_durations: BTreeMap<String, Histogram>,
    /// Storms that are open on it.
    pub open_storms: Vec<Storm>,
}

impl SortKey {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Id,
        Self::Name,
        Self::Type,
        Self::Cost,
        Self::Updates,
        Self::Rejects,
        Self::Fill,
        Self::Entries,
        Self::Memory,
        Self::P99,
    ];

    /// The word for it, in questions and answers.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Type => "type",
            Self::Cost => "cost",
            Self::Updates => "updates",
            Self::Rejects => "rejects",
            Self::Fill => "fill",
            Self::Entries => "entries",
            Self::Memory => "memory",
            Self::P99 => "p99",
        }
    }

    /// Which way when nothing is said: names, types and ids the least first, numbers the greatest.
    pub const fn natural(self) -> SortOrder {
        match self {
            Self::Id | Self::Name | Self::Type => SortOrder::Asc,
            _ => SortOrder::Desc,
        }
    }
}

impl SortOrder {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Asc, Self::Desc];

    /// The word for it, in questions and answers.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

impl MapEntry {
    /// What the view tells of a map.
    pub fn of(view: &View, id: MapId, map: &MapStats) -> Self {
        let snapshot = &view.snapshot;
        let told = |top| Caller::with_stack(top, &snapshot.names, &snapshot.programs);
        let update = map.ops.get(&mapstorm_abi::Op::Update);
        let durations = update.and_then(|update| update.durations.as_ref());
        let pops = map.pops.as_ref();
        Self {
            id,
            name: map.name.clone(),
            kind: map.kind.label().into_owned(),
            flags: map.flags,
            max_entries: map.max_entries,
            entries: map.entries,
            fill: map.fill(),
            key_size: map.listed.map(|listed| listed.key_size),
            value_size: map.listed.map(|listed| listed.value_size),
            memory_bytes: map.listed.and_then(|listed| listed.memory),
            rates: view.pace.of(id).map(Rates::from),
            operations: operations(map),
            update_quantiles: durations.and_then(Quantiles::of),
            pop_quantiles: pops
                .and_then(|pops| pops.durations.as_ref())
                .and_then(Quantiles::of),
            pops: pops.map(|pops| Pops {
                ok: pops.ok,
                empty: pops.empty,
            }),
            lock_waits: lock_waits(map),
            storms: { view.storms.active.iter() }
                .filter(|storm| storm.map_id == id)
                .map(|storm| storm.kind.label().to_owned())
                .collect(),
            users: snapshot.programs.users(id).map(User::from).collect(),
            callers: snapshot.callers.of(id).iter().map(told).collect(),
        }
    }
}

impl MapDetail {
    /// All the view tells of a map; `None` when there is no such map.
    pub fn of(view: &View, id: MapId) -> Option<Self> {
        let map = view.snapshot.maps.get(&id)?;
        let pops = map.pops.as_ref();
        let ops = map.ops.iter().filter_map(|(op, stats)| {
            let durations = stats.durations.as_ref()?;
            Some((op.label().to_owned(), durations.into()))
        });
        let alloc = pops.and_then(|pops| pops.alloc.as_ref());
        let alloc = alloc.map(|alloc| ("alloc".to_owned(), alloc.into()));
        let locks = map.locks.iter().filter_map(|(class, stats)| {
            let durations = stats.durations.as_ref()?;
            Some((class.label().to_owned(), durations.into()))
        });
        let open = view.storms.active.iter();
        Some(Self {
            window: view.snapshot.window,
            map: MapEntry::of(view, id, map),
            durations: ops.chain(alloc).collect(),
            pop_durations: pops
                .and_then(|pops| pops.durations.as_ref())
                .map(Histogram::from),
            lock_durations: locks.collect(),
            open_storms: open
                .filter(|storm| storm.map_id == id)
                .map(Storm::from)
                .collect(),
        })
    }
}

/// Finished operations by name and outcome.
fn operations(map: &MapStats) -> BTreeMap<String, BTreeMap<String, u64>> {
    let outcomes = |op: &OpStats| {
        let outcomes = Outcome::ALL.iter();
        let outcomes = outcomes.map(|&outcome| (outcome.label().to_owned(), op.count(outcome)));
        outcomes.collect()
    };
    let operations = map.ops.iter();
    operations
        .map(|(op, stats)| (op.label().to_owned(), outcomes(stats)))
        .collect()
}

/// Waits for locks by the lock's place: how they ended, and how long they took together.
fn lock_waits(map: &MapStats) -> BTreeMap<String, LockWaits> {
    let waits = map.locks.iter().map(|(class, stats)| {
        let outcomes = LockOutcome::ALL.iter();
        let outcomes = outcomes.map(|&outcome| (outcome.label().to_owned(), stats.count(outcome)));
        let waits = LockWaits {
            outcomes: outcomes.collect(),
            waited_ns: stats.waited_ns(),
        };
        (class.label().to_owned(), waits)
    });
    waits.collect()
}
