//! Elements one by one, by programs or by system call.

use std::ops::Range;

use anyhow::{Result, ensure};
use mapstorm_abi::Outcome;

use super::drive::{Driven, drain, has, on_each};
use crate::tools::{
    bench::Source,
    bpf::{
        map::{ANY, EXIST, NOEXIST, RawMap},
        program::Program,
    },
    guest::Guest,
    kinds::Kind,
    ledger::{Ledger, Operation},
};

/// Keys that nobody has put in begin here, and those that fill the map up.
const NOWHERE: u32 = 1 << 20;
const FILLING: u32 = 1 << 24;

/// Who works on elements one by one.
enum Hand<'a> {
    Program { update: Program, delete: Program },
    Syscall(&'a RawMap),
}

impl Hand<'_> {
    fn update(&self, ledger: &mut Ledger, key: u32, flags: u32) -> Result<i32> {
        let errno = match self {
            Self::Program { update, .. } => update.run(key, flags)?,
            Self::Syscall(map) => map.update(key, flags),
        };
        Ok(ledger.enter(Operation::Update, errno))
    }

    fn delete(&self, ledger: &mut Ledger, key: u32) -> Result<i32> {
        let errno = match self {
            Self::Program { delete, .. } => delete.run(key, 0)?,
            Self::Syscall(map) => map.delete(key),
        };
        Ok(ledger.enter(Operation::Delete, errno))
    }
}

/// Elements one by one: inserts, replacements, deletes, each also where it cannot be done, on every
/// CPU at once; then a full map.
pub(super) fn elements(guest: &Guest, kind: Kind, source: Source) -> Result<Driven> {
    use Operation::{Delete, LookupAndDelete, Update};
    let possible = guest.cpus()?.possible.table_len();
    let online = guest.online()?;
    let (cpus, size) = (
        online.as_slice(),
        kind.keys * online.as_slice().len() as u32,
    );
    let all: &[_] = match source {
        Source::Program => &[Update, Delete],
        Source::Syscall => &[Update, Delete, LookupAndDelete],
    };
    let mut driven = Driven::absent(kind.into(), source, all);
    let Ok(map) = kind.create(size, possible) else {
        return Ok(driven);
    };
    let hand = match source {
        Source::Syscall => Hand::Syscall(&map),
        // The verifier lets no program update a map of maps.
        Source::Program => match (Program::update(&map), Program::delete(&map)) {
            (Ok(update), Ok(delete)) => Hand::Program { update, delete },
            _ => return Ok(driven),
        },
    };
    driven.map = Some(map.clone());
    driven
        .absent
        .retain(|operation| *operation == LookupAndDelete);
    let takes = source == Source::Syscall && has(kind, possible, |map| map.lookup_and_delete(0))?;
    if takes {
        driven.absent.clear();
    }
    let ledger = &mut driven.ledger;
    ledger.merge(&on_each(cpus, |at| {
        let mut ledger = Ledger::default();
        for _ in 0..kind.rounds {
            one_by_one(&hand, at * kind.keys..(at + 1) * kind.keys, &mut ledger)?;
            if takes {
                taken_out(
                    &hand,
                    &map,
                    at * kind.keys..(at + 1) * kind.keys,
                    &mut ledger,
                )?;
            }
        }
        Ok(ledger)
    })?);
    let filling = FILLING..FILLING + 2 * size;
    for key in filling.clone() {
        hand.update(ledger, key, NOEXIST)?;
    }
    ledger.merge(&on_each(cpus, |at| {
        let mut ledger = Ledger::default();
        for key in 0..kind.keys {
            hand.update(&mut ledger, NOWHERE + at * kind.keys + key, ANY)?;
        }
        Ok(ledger)
    })?);
    drain(
        filling.chain(NOWHERE..NOWHERE + size).chain(0..size),
        |key| hand.delete(ledger, key),
    )?;
    let mut wanted = vec![(Update, Outcome::Eexist), (Update, Outcome::Enoent)];
    wanted.extend([(Delete, Outcome::Ok), (Delete, Outcome::Enoent)]);
    wanted.extend((!kind.evicts).then_some((Update, Outcome::E2big)));
    for (operation, outcome) in wanted {
        let count = ledger.count(operation, outcome);
        ensure!(
            count > 0,
            "{kind:?}: no {operation:?} ended with {outcome:?}"
        );
    }
    Ok(driven)
}

/// Every way in which updates and deletes of one key each can end, the full map apart.
fn one_by_one(hand: &Hand<'_>, keys: Range<u32>, ledger: &mut Ledger) -> Result<()> {
    for (offset, flags) in [
        (0, NOEXIST),
        (0, NOEXIST),
        (0, ANY),
        (0, EXIST),
        (NOWHERE, EXIST),
    ] {
        for key in keys.clone() {
            hand.update(ledger, offset + key, flags)?;
        }
    }
    for key in keys.clone().chain(keys) {
        hand.delete(ledger, key)?;
    }
    Ok(())
}

/// Lookups that delete, by system call: of what is there, and of what is there no more.
fn taken_out(hand: &Hand<'_>, map: &RawMap, keys: Range<u32>, ledger: &mut Ledger) -> Result<()> {
    for key in keys.clone() {
        hand.update(ledger, key, ANY)?;
    }
    for key in keys.clone().chain(keys) {
        ledger.enter(Operation::LookupAndDelete, map.lookup_and_delete(key));
    }
    Ok(())
}
