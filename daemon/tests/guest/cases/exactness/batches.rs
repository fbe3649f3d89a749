//! Many elements at a time, by system call.

use anyhow::{Result, ensure};
use mapstorm_abi::Outcome;

use super::drive::{Driven, drain, has, on_each};
use crate::tools::{
    bench::Source,
    bpf::map::Batch,
    guest::Guest,
    kinds::Kind,
    ledger::{Ledger, Operation},
};

/// Batches on every CPU at once.
pub(super) fn batches(guest: &Guest, kind: Kind) -> Result<Driven> {
    use Operation::{DeleteBatch, LookupAndDeleteBatch, LookupBatch, UpdateBatch};
    let possible = guest.cpus()?.possible.table_len();
    let online = guest.online()?;
    let size = 2 * kind.keys * online.as_slice().len() as u32;
    let all = [UpdateBatch, DeleteBatch, LookupBatch, LookupAndDeleteBatch];
    let mut driven = Driven::absent(kind.into(), Source::Syscall, &all);
    let Ok(map) = kind.create(size, possible) else {
        return Ok(driven);
    };
    let last = |batches: Vec<Batch>| batches.last().map_or(0, |batch| batch.errno);
    let most = kind.keys as usize;
    let has_all = has(kind, possible, |map| map.update_batch(&mut [1]).errno)?;
    for (operation, has_it) in [
        (
            DeleteBatch,
            has(kind, possible, |map| map.delete_batch(&mut [1]).errno)?,
        ),
        (
            LookupBatch,
            has(kind, possible, |map| last(map.lookup_batches(most)))?,
        ),
        (
            LookupAndDeleteBatch,
            has(kind, possible, |map| {
                last(map.lookup_and_delete_batches(most))
            })?,
        ),
    ] {
        ensure!(
            has_it == has_all,
            "{kind:?} has {operation:?}, others not: {has_it}"
        );
    }
    if !has_all {
        return Ok(driven);
    }
    driven.absent.clear();
    driven.map = Some(map.clone());
    driven.ledger = on_each(online.as_slice(), |at| {
        let mut ledger = Ledger::default();
        let mut keys: Vec<u32> = (at * kind.keys..(at + 1) * kind.keys).collect();
        for _ in 0..kind.rounds {
            ledger.enter_each(UpdateBatch, map.update_batch(&mut keys));
            ledger.enter_batches(LookupBatch, &map.lookup_batches(most));
            ledger.enter_each(DeleteBatch, map.delete_batch(&mut keys));
            ledger.enter_each(DeleteBatch, map.delete_batch(&mut keys));
            ledger.enter_each(UpdateBatch, map.update_batch(&mut keys));
            ledger.enter_batches(LookupAndDeleteBatch, &map.lookup_and_delete_batches(most));
        }
        Ok(ledger)
    })?;
    drain(0..size, |key| {
        let batch = map.delete_batch(&mut [key]);
        driven.ledger.enter_each(DeleteBatch, batch);
        Ok(batch.errno)
    })?;
    for (operation, outcome) in [
        (DeleteBatch, Outcome::Enoent),
        (LookupBatch, Outcome::Enoent),
        (LookupAndDeleteBatch, Outcome::Enoent),
    ] {
        let count = driven.ledger.count(operation, outcome);
        ensure!(
            count > 0,
            "{kind:?}: no {operation:?} ended with {outcome:?}"
        );
    }
    Ok(driven)
}
