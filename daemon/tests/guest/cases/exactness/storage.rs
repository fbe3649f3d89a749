//! Local storage: updates, and the lookups that its cache does not answer.

use std::os::fd::OwnedFd;

use anyhow::{Context as _, Result, ensure};
use mapstorm_abi::Outcome;
use nix::libc;

use super::drive::{Driven, Subject};
use crate::tools::{
    bench::Source,
    bpf::{
        map::{ANY, EXIST, NOEXIST, RawMap},
        program::Program,
        types,
    },
    check::OPERATIONS,
    daemon::Daemon,
    guest::Guest,
    ledger::Operation,
    scrape::Scrape,
    storage::{KINDS, Kind, Owner},
};

/// Updates of each kind, and lookups.
const UPDATES: u32 = 100;
const LOOKUPS: u32 = 100;
/// Maps of a kind share so many places in an owner's cache: one map more, and two share a place.
const PLACES: usize = 16;

/// What a lookup that the cache does not answer is counted as: a whole lookup where the kernel has no
/// more to show (up to 6.8).
fn missed(guest: &Guest) -> Operation {
    if guest.is_at_least(6, 9) {
        Operation::StorageCacheInsert
    } else {
        Operation::StorageLookup
    }
}

/// Drives all kinds, scrapes in between, and returns what there is to judge.
pub(super) fn drive(guest: &Guest, daemon: &Daemon) -> Result<Vec<Driven>> {
    let types = types::load().context("the types of local storage")?;
    let mut driven = Vec::new();
    let mut prepared = Vec::new();
    for kind in KINDS {
        let by_syscall = updates(kind, Source::Syscall, &types)?;
        let is_there = by_syscall.map.is_some();
        driven.push(by_syscall);
        // Programs of the other kinds need a hook to be attached to, and are not driven.
        if Programs::KINDS.contains(&kind.word) {
            driven.push(updates(kind, Source::Program, &types)?);
        }
        if is_there {
            prepared.push(Pair::prepare(kind, &types)?);
        }
    }
    let before = daemon.settled()?;
    for pair in prepared {
        driven.extend(pair.lookups(missed(guest), &before)?);
    }
    Ok(driven)
}

fn subject(kind: Kind) -> Subject {
    Subject {
        word: kind.word,
        number: kind.number,
        name: kind.word,
        has_freelist: false,
        is_storage: true,
    }
}

/// Every way in which an update can end, one after the other, by one source.
fn updates(kind: Kind, source: Source, types: &OwnedFd) -> Result<Driven> {
    let mut driven = Driven::absent(subject(kind), source, &[Operation::Update]);
    let Ok(map) = kind.create(types) else {
        return Ok(driven);
    };
    let ledger = &mut driven.ledger;
    match source {
        Source::Syscall => {
            let owner = kind.owner()?;
            let key = owner.key();
            // Where BPF is no security module that runs, an inode has no room for storage.
            if map.update(key, ANY) == libc::EBADF {
                return Ok(driven);
            }
            ledger.enter(Operation::Update, 0);
            ensure!(map.delete(key) == 0, "{}: nothing to delete", kind.word);
            for _ in 0..UPDATES {
                for flags in [EXIST, NOEXIST, NOEXIST, ANY, EXIST] {
                    ledger.enter(Operation::Update, map.update(key, flags));
                }
                ensure!(map.delete(key) == 0, "{}: nothing to delete", kind.word);
            }
            for outcome in [Outcome::Eexist, Outcome::Enoent] {
                let count = ledger.count(Operation::Update, outcome);
                ensure!(count > 0, "{}: nothing ended with {outcome:?}", kind.word);
            }
        }
        Source::Program => {
            let Some(programs) = Programs::load(kind, &map) else {
                return Ok(driven);
            };
            for _ in 0..UPDATES {
                ledger.enter(Operation::Update, programs.create.run(0, 0)?);
                if let Some(delete) = &programs.delete {
                    let errno = delete.run(0, 0)?;
                    ensure!(errno == 0, "{}: a delete ended with {errno}", kind.word);
                }
            }
        }
    }
    driven.map = Some(map);
    driven.absent.clear();
    Ok(driven)
}

/// What programs do with one map.
struct Programs {
    /// Looks up, and creates what is not there.
    create: Program,
    /// `None` where what owns the element does not outlive a run.
    delete: Option<Program>,
    /// Only looks up; see `delete`.
    get: Option<Program>,
}

impl Programs {
    /// Kinds that they are for.
    const KINDS: [&str; 2] = ["sk_storage", "task_storage"];

    fn load(kind: Kind, map: &RawMap) -> Option<Self> {
        match kind.word {
            "task_storage" => Some(Self {
                create: Program::task_storage(map, true).ok()?,
                delete: Some(Program::task_storage_delete(map).ok()?),
                get: Some(Program::task_storage(map, false).ok()?),
            }),
            "sk_storage" => Some(Self {
                create: Program::sk_storage(map).ok()?,
                delete: None,
                get: None,
            }),
            _ => None,
        }
    }
}

/// Two maps that share a place in the caches of their owners: of two lookups in turn neither is ever
/// answered by the cache.
struct Pair {
    kind: Kind,
    maps: Vec<RawMap>,
    owner: Owner,
    /// Lookups in the two maps that share a place, where a program can look something up.
    programs: Option<[Program; 2]>,
}

/// The first map of a pair that system calls look into, and that programs do.
const SYSCALL_PAIR: usize = 0;
const PROGRAM_PAIR: usize = 1;

impl Pair {
    /// Creates the maps, and an element in each of those that matter.
    fn prepare(kind: Kind, types: &OwnedFd) -> Result<Self> {
        let maps = (0..PLACES + 2).map(|_| kind.create(types).context(kind.word));
        let maps = maps.collect::<Result<Vec<_>>>()?;
        let owner = kind.owner()?;
        for map in pair(&maps, SYSCALL_PAIR) {
            let errno = map.update(owner.key(), ANY);
            ensure!(errno == 0, "{}: an update ended with {errno}", kind.word);
        }
        let mut lookups = Vec::new();
        for map in pair(&maps, PROGRAM_PAIR) {
            let Some(programs) = Programs::load(kind, map) else {
                break;
            };
            let errno = programs.create.run(0, 0)?;
            ensure!(errno == 0, "{}: a creation ended with {errno}", kind.word);
            lookups.extend(programs.get);
        }
        Ok(Self {
            kind,
            maps,
            owner,
            programs: lookups.try_into().ok(),
        })
    }

    /// Looks up, the two maps of a pair in turn. What was counted `before` comes on top.
    fn lookups(&self, operation: Operation, before: &Scrape) -> Result<Vec<Driven>> {
        let word = self.kind.word;
        let mut all = Vec::new();
        for (source, first) in [
            (Source::Syscall, SYSCALL_PAIR),
            (Source::Program, PROGRAM_PAIR),
        ] {
            if source == Source::Program && self.programs.is_none() {
                continue;
            }
            let mut driven = Vec::new();
            for map in pair(&self.maps, first) {
                let mut one = Driven::absent(subject(self.kind), source, &[]);
                one.map = Some(map.clone());
                one.ledger
                    .begin(operation, counted(before, map, operation)?);
                driven.push(one);
            }
            for _ in 0..LOOKUPS {
                for (at, (map, one)) in pair(&self.maps, first).zip(&mut driven).enumerate() {
                    let errno = match (&self.programs, source) {
                        (Some(programs), Source::Program) => programs[at].run(0, 0)?,
                        _ => map.lookup(self.owner.key()),
                    };
                    ensure!(errno == 0, "{word}: a lookup ended with {errno}");
                    one.ledger.enter(operation, errno);
                }
            }
            all.extend(driven);
        }
        Ok(all)
    }
}

/// What is counted of one operation on a map, by outcome.
fn counted(scrape: &Scrape, map: &RawMap, operation: Operation) -> Result<[u64; Outcome::COUNT]> {
    let id = map.id.to_string();
    let mut outcomes = [0; Outcome::COUNT];
    for outcome in Outcome::ALL {
        let labels = [
            ("map_id", &*id),
            ("op", operation.op()),
            ("outcome", outcome.label()),
        ];
        outcomes[outcome as usize] = scrape.sum(OPERATIONS, &labels)?;
    }
    Ok(outcomes)
}

/// The two maps of a pair.
fn pair(maps: &[RawMap], first: usize) -> impl Iterator<Item = &RawMap> {
    maps.iter().skip(first).step_by(PLACES)
}
