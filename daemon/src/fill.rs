//! How many elements a preallocated map holds where the kernel does not count them (before 6.6):
//! from a moment at which the number is certain, pops add and removals take away.
//!
//! Two moments are certain: a map that was created under our probes was empty then, and one in which
//! pop after pop finds every list empty is full. Whatever was missed ends the certainty, for every
//! map, until its next such moment: a number is exact, or there is none.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use mapstorm_abi::{Lost, Op, Outcome};

use crate::{
    facts::{Kernel, kernel::Version},
    identity::MapId,
    plan::{ALLOC_HOOK, CONTENTION, POP_HOOK},
    probes::{Mechanism, ProbeStatus},
    snapshot::MapStats,
};

/// What was counted on one map since the probes were armed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Pops that returned an element: one more is in the map.
    pub pops_ok: u64,
    /// Pops that found every list empty.
    pub pops_empty: u64,
    /// Elements removed, by whatever operation.
    pub removed: u64,
}

/// What was counted on a map that matters here.
pub fn totals(map: &MapStats) -> Totals {
    let pops = map.pops.as_ref();
    let done = |op: Op| map.ops.get(&op).map_or(0, |stats| stats.count(Outcome::Ok));
    let batch = map.ops.get(&Op::LookupAndDeleteBatch);
    Totals {
        pops_ok: pops.and_then(|pops| pops.ok).unwrap_or(0),
        pops_empty: pops.map_or(0, |pops| pops.empty),
        removed: done(Op::Delete)
            + done(Op::LookupAndDelete)
            + batch.map_or(0, |batch| batch.elements),
    }
}

/// Events that the books depend on and that were not counted.
pub fn uncounted(lost: &[u64; Lost::COUNT]) -> u64 {
    let matters = |reason: &Lost| match reason {
        Lost::NoSlot
        | Lost::SlotBusy
        | Lost::Orphan
        | Lost::PopOverflow
        | Lost::PopOrphan
        | Lost::BatchElements
        | Lost::NoMap => true,
        // Counted, and not timed.
        Lost::Unframed | Lost::NoStart | Lost::Mismatch | Lost::NoTimings | Lost::PopNoStart => {
            false
        }
        // No element comes or goes by those.
        Lost::SampleDropped | Lost::WaitOverflow | Lost::WaitOrphan => false,
    };
    let reasons = Lost::ALL.into_iter().filter(matters);
    reasons.map(|reason| lost[reason as usize]).sum()
}

/// Runs of probes that the kernel has skipped and that the books depend on: all but those of waits for locks,
/// which fire for every lock of the host.
pub fn missed(misses: &BTreeMap<&'static str, u64>) -> u64 {
    let matter = misses
        .iter()
        .filter(|(probe, _)| !probe.starts_with(CONTENTION));
    matter.map(|(_, n)| n).sum()
}

/// The books of all maps.
#[derive(Debug, Default)]
pub struct Books {
    /// The maps that were there when the probes had just been armed.
    first: Option<BTreeSet<MapId>>,
    maps: BTreeMap<MapId, Page>,
    /// When something was last missed. A map first seen in a listing that is not newer can have
    /// been touched unseen.
    missed: Option<Instant>,
}

/// The book of one map.
#[derive(Clone, Copy, Debug)]
struct Page {
    totals: Totals,
    /// Elements besides `pops_ok - removed`; `None` while they are not certain.
    base: Option<i64>,
    /// Did nothing come or go in the window before?
    calm: bool,
}

/// What must be seen for books to be kept, by hook: an update of each kind of map that pops, and
/// everything that removes an element from one.
const REMOVALS: [&str; 3] = [
    "htab_map_delete_elem",
    "__htab_map_lookup_and_delete_elem",
    "__htab_map_lookup_and_delete_batch",
];
const UPDATES: [&str; 2] = ["htab_map_update_elem", "__htab_percpu_map_update_elem"];

impl Books {
    /// Books for a host where the probes became this, if they can be kept: every pop and every
    /// removal is seen, and the kernel does not count by itself.
    pub fn of(statuses: &[ProbeStatus], kernel: &Kernel) -> Option<Self> {
        let seen = |hook: &str| {
            let mut on = statuses.iter().filter(|status| status.hook == hook);
            on.any(|status| status.attached() && status.mechanism == Mechanism::Fexit)
        };
        let counts =
            |status: &ProbeStatus| status.attached() && status.probe == "inventory_counted";
        // Lookups that delete came with 5.14 (commit 3e87f192b405).
        let version = kernel.version?;
        let removals = REMOVALS.iter().filter(|hook| {
            version >= Version::new(5, 14) || **hook != "__htab_map_lookup_and_delete_elem"
        });
        let pops = [POP_HOOK, ALLOC_HOOK].into_iter().any(seen);
        let kept = pops && UPDATES.into_iter().all(seen) && removals.copied().all(seen);
        (kept && !statuses.iter().any(counts)).then(Self::default)
    }

    /// Names the maps that were there when the probes had just been armed; only the first call
    /// counts.
    pub fn begin(&mut self, ids: impl IntoIterator<Item = MapId>) {
        self.first.get_or_insert_with(|| ids.into_iter().collect());
    }

    /// Something was missed in the window that ends `now`: nothing is certain any more.
    pub fn miss(&mut self, now: Instant) {
        self.missed = Some(now);
        for page in self.maps.values_mut() {
            page.base = None;
            page.calm = false;
        }
    }

    /// Takes what was counted on a map by the end of a window; the elements there are then.
    pub fn turn(&mut self, id: MapId, max_entries: u32, totals: Totals) -> Option<u64> {
        self.page(id)?.turn(totals, max_entries)
    }

    /// The elements of a map as of its last window, of one that is new as of now.
    pub fn entries(&mut self, id: MapId, max_entries: u32) -> Option<u64> {
        self.page(id)?.entries(max_entries)
    }

    /// A listing that was begun at `read` has been taken in: other maps than those that are
    /// `known` are forgotten.
    pub fn listed(&mut self, read: Instant, known: impl Fn(MapId) -> bool) {
        self.maps.retain(|id, _| known(*id));
        // What came before this listing has been seen by now.
        self.missed = self.missed.filter(|missed| read <= *missed);
    }

    fn page(&mut self, id: MapId) -> Option<&mut Page> {
        let last = self.first.as_ref()?.last().copied().unwrap_or(0);
        // Ids are given in rising order: a higher one came later.
        let born = self.missed.is_none() && id > last;
        let page = self.maps.entry(id);
        Some(page.or_insert(Page {
            totals: Totals::default(),
            base: born.then_some(0),
            calm: false,
        }))
    }
}

impl Page {
    fn turn(&mut self, totals: Totals, max_entries: u32) -> Option<u64> {
        let before = std::mem::replace(&mut self.totals, totals);
        let grown = |part: fn(&Totals) -> u64| part(&totals).checked_sub(part(&before));
        let [Some(came), Some(refused), Some(went)] = [
            grown(|t| t.pops_ok),
            grown(|t| t.pops_empty),
            grown(|t| t.removed),
        ] else {
            // Counters that went back are another map's.
            self.base = None;
            self.calm = false;
            return None;
        };
        let (calm, full) = (came == 0 && went == 0, i64::from(max_entries));
        // The window before must have been calm as well: an operation is counted a little later
        // than it takes effect.
        if calm && self.calm && refused > 0 {
            self.base = Some(full - totals.balance());
        }
        self.calm = calm;
        let entries = self.base? + totals.balance();
        if calm && !(0..=full).contains(&entries) {
            self.base = None;
        }
        self.entries(max_entries)
    }

    fn entries(&self, max_entries: u32) -> Option<u64> {
        let entries = self.base? + self.totals.balance();
        // The processors are read one after the other while they go on counting.
        u64::try_from(entries.clamp(0, max_entries.into())).ok()
    }
}

impl Totals {
    /// What these operations have added to the map.
    fn balance(&self) -> i64 {
        self.pops_ok.cast_signed() - self.removed.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_elements_depend_on_is_uncounted_or_missed() {
        let lost = |reason: Lost| {
            let mut lost = [0; Lost::COUNT];
            lost[reason as usize] = 3;
            uncounted(&lost)
        };
        assert_eq!((lost(Lost::NoSlot), lost(Lost::PopOrphan)), (3, 3));
        assert_eq!((lost(Lost::NoTimings), lost(Lost::WaitOrphan)), (0, 0));
        let misses = [("contention_begin", 7), ("htab_update_out", 2)];
        assert_eq!(missed(&misses.into()), 2);
    }

    /// What happens to a map.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Insert,
        Remove,
        /// The window ends.
        Tick,
        /// The same, and something may have been missed in it.
        Miss,
    }

    /// A map, what is true of it, and what was counted of that.
    struct Model {
        max_entries: u32,
        entries: u64,
        counted: Totals,
    }

    impl Model {
        fn insert(&mut self, seen: bool) {
            let fits = self.entries < u64::from(self.max_entries);
            self.entries += u64::from(fits);
            if seen {
                self.counted.pops_ok += u64::from(fits);
                self.counted.pops_empty += u64::from(!fits);
            }
        }

        fn remove(&mut self, seen: bool) {
            let there = self.entries > 0;
            self.entries -= u64::from(there);
            if seen {
                self.counted.removed += u64::from(there);
            }
        }
    }

    const MAP: MapId = 9;

    /// Plays `events` on a map that was there before the probes, with `held` elements, or came after
    /// them. Every answer is checked; how many there were.
    fn play(events: &[Event], max_entries: u32, held: Option<u64>) -> usize {
        let start = Instant::now();
        let mut books = Books::default();
        let first: &[MapId] = if held.is_some() { &[3, MAP] } else { &[3] };
        books.begin(first.iter().copied());
        let mut model = Model {
            max_entries,
            entries: held.unwrap_or(0).min(max_entries.into()),
            counted: Totals::default(),
        };
        let mut answers = 0;
        for (window, events) in (1..).zip(events.split_inclusive(|e| e.ends())) {
            let now = start + Duration::from_millis(window);
            let misses = matches!(events.last(), Some(Event::Miss));
            for (turn, event) in events.iter().enumerate() {
                // Of a window in which something is missed, every other event is.
                let seen = !misses || turn % 2 == 0;
                match event {
                    Event::Insert => model.insert(seen),
                    Event::Remove => model.remove(seen),
                    Event::Tick | Event::Miss => {}
                }
            }
            if misses {
                books.miss(now);
            }
            let told = books.turn(MAP, max_entries, model.counted);
            assert_eq!(told, books.entries(MAP, max_entries));
            if !misses && events.last().is_some_and(Event::ends) {
                books.listed(now, |_| true);
            }
            if let Some(told) = told {
                assert_eq!(told, model.entries, "window {window}");
                answers += 1;
            }
        }
        answers
    }

    impl Event {
        fn ends(&self) -> bool {
            matches!(self, Self::Tick | Self::Miss)
        }
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            6 => Just(Event::Insert),
            3 => Just(Event::Remove),
            4 => Just(Event::Tick),
            1 => Just(Event::Miss),
        ]
    }

    proptest! {
        #[test]
        fn o08_what_is_told_is_true(
            events in prop::collection::vec(event(), 0..200),
            max_entries in 1u32..6,
            held in prop::option::of(0u64..6),
        ) {
            play(&events, max_entries, held);
        }
    }

    #[test]
    fn a_map_that_came_after_the_probes_is_known_from_the_start() {
        use Event::{Insert, Remove, Tick};
        assert_eq!(
            play(&[Tick, Insert, Insert, Tick, Remove, Tick], 5, None),
            3
        );
        assert_eq!(
            play(&[Tick, Insert, Insert, Tick, Remove, Tick], 5, Some(2)),
            0
        );
    }

    #[test]
    fn a_map_that_only_refuses_is_full_and_what_is_missed_ends_it() {
        use Event::{Insert, Miss, Remove, Tick};
        let full = [Tick, Insert, Tick, Insert, Tick, Remove, Tick];
        assert_eq!(play(&full, 2, Some(2)), 3);
        assert_eq!(play(&[Insert, Insert, Miss, Remove, Tick], 5, None), 0);
    }

    #[test]
    fn a_map_first_seen_after_something_was_missed_is_not_called_empty() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut books = Books::default();
        books.begin([3]);
        books.miss(at(1));
        assert_eq!(books.entries(7, 5), None);
        books.listed(at(1), |_| true);
        assert_eq!(
            books.entries(8, 5),
            None,
            "it may be older than the listing"
        );
        books.listed(at(2), |_| true);
        let told = [3, 7, 8, 9].map(|id| books.entries(id, 5));
        assert_eq!(told, [None, None, None, Some(0)]);
    }

    #[test]
    fn counters_that_go_back_are_another_maps() {
        let mut books = Books::default();
        assert_eq!(
            books.turn(7, 5, Totals::default()),
            None,
            "nothing was listed yet"
        );
        books.begin([3]);
        let totals = |pops_ok| Totals {
            pops_ok,
            ..Totals::default()
        };
        assert_eq!(books.turn(7, 5, totals(4)), Some(4));
        assert_eq!(books.turn(7, 5, totals(2)), None);
    }

    #[test]
    fn books_are_kept_where_all_that_adds_and_removes_is_seen() {
        let status = |(probe, hook): (&'static str, &str)| ProbeStatus {
            probe,
            signal: "",
            hook: hook.to_owned(),
            mechanism: Mechanism::Fexit,
            refusal: None,
        };
        let hooks = [&REMOVALS[..], &UPDATES, &[POP_HOOK]].concat();
        let all: Vec<_> = hooks.iter().map(|hook| status(("p", hook))).collect();
        let kept = |statuses: &[ProbeStatus], release| {
            let kernel = Kernel::new(release, "x86_64").unwrap();
            Books::of(statuses, &kernel).is_some()
        };
        assert!(kept(&all, "6.1.0"));
        let without = |hook| {
            let mut some = all.clone();
            some.retain(|status| status.hook != hook);
            some
        };
        for hook in &hooks {
            let old = *hook == "__htab_map_lookup_and_delete_elem";
            assert!(!kept(&without(*hook), "6.1.0"), "{hook}");
            assert_eq!(kept(&without(*hook), "5.10.0"), old, "{hook}");
        }
        let counted = status(("inventory_counted", "bpf_iter_bpf_map"));
        assert!(!kept(&[all, vec![counted]].concat(), "6.12.0"));
    }
}
