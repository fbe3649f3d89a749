//! One map that is driven from every CPU at once, with the books of all that was done to it.

use std::{
    sync::Barrier,
    thread::{self, ScopedJoinHandle},
};

use anyhow::{Context as _, Result, anyhow, bail};
use mapstorm::kernel::workload::pin_thread;
use nix::libc;

use crate::tools::{
    bench::Source,
    bpf::map::{ENOTSUPP, RawMap},
    kinds::Kind,
    ledger::{Ledger, Operation},
};

/// What a row of the table is about.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    /// The word for the kind of map.
    pub(super) word: &'static str,
    /// `enum bpf_map_type`.
    pub(super) number: u32,
    /// What the map is called.
    pub(super) name: &'static str,
    /// Do its elements come from a freelist?
    pub(super) has_freelist: bool,
    /// Is it local storage?
    pub(super) is_storage: bool,
}

/// One map, and all that was done to it by one source.
pub(super) struct Driven {
    pub(super) subject: Subject,
    pub(super) source: Source,
    /// `None` where the kernel has no such map, or the source has no way to it.
    pub(super) map: Option<RawMap>,
    pub(super) ledger: Ledger,
    /// What this kind of map, or this source, cannot do on this kernel.
    pub(super) absent: Vec<Operation>,
}

impl Driven {
    /// A map that cannot do any of `operations`, as far as is known.
    pub(super) fn absent(subject: Subject, source: Source, operations: &[Operation]) -> Self {
        Self {
            subject,
            source,
            map: None,
            ledger: Ledger::default(),
            absent: operations.to_vec(),
        }
    }

    /// The label `signal` of an operation's coverage.
    pub(super) fn signal(&self, operation: Operation) -> &'static str {
        match self.subject.is_storage {
            true => "local_storage",
            false => operation.signal(),
        }
    }
}

impl From<Kind> for Subject {
    fn from(kind: Kind) -> Self {
        Self {
            word: kind.word,
            number: kind.number,
            name: kind.name(),
            has_freelist: kind.has_freelist,
            is_storage: false,
        }
    }
}

/// Does this kind of map have a command here? Tried on a map of its own.
pub(super) fn has(kind: Kind, possible: usize, command: impl Fn(&RawMap) -> i32) -> Result<bool> {
    let map = kind.create(kind.keys, possible)?;
    Ok(![ENOTSUPP, libc::EINVAL].contains(&command(&map)))
}

/// Deletes every key until none is left: a lock may withhold one from the first pass.
pub(super) fn drain(
    keys: impl Iterator<Item = u32> + Clone,
    mut delete: impl FnMut(u32) -> Result<i32>,
) -> Result<()> {
    let mut errno = 0;
    for _ in 0..100 {
        let mut left = false;
        for key in keys.clone() {
            errno = delete(key)?;
            left |= errno != libc::ENOENT;
        }
        if !left {
            return Ok(());
        }
    }
    bail!("the map does not become empty: the last delete ended with errno {errno}")
}

/// Does `work` on one thread for each of `cpus`, all at once, each kept on its CPU; what all of them
/// entered. The work knows which of them it is.
pub(super) fn on_each(cpus: &[u32], work: impl Fn(u32) -> Result<Ledger> + Sync) -> Result<Ledger> {
    let start = Barrier::new(cpus.len());
    let mut sum = Ledger::default();
    let done: Vec<Result<Ledger>> = thread::scope(|scope| {
        let worker = |(at, cpu): (usize, &u32)| {
            let (start, work, cpu) = (&start, &work, *cpu);
            scope.spawn(move || {
                let held = pin_thread(cpu);
                start.wait();
                held.context("a worker")?;
                work(at as u32)
            })
        };
        let workers: Vec<_> = cpus.iter().enumerate().map(worker).collect();
        let join = |worker: ScopedJoinHandle<'_, _>| {
            let panicked = |_| Err(anyhow!("a worker panicked"));
            worker.join().unwrap_or_else(panicked)
        };
        workers.into_iter().map(join).collect()
    });
    for ledger in done {
        sum.merge(&ledger?);
    }
    Ok(sum)
}
