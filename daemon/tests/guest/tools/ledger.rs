//! What was done to one map, call by call, by operation and outcome.

use std::collections::BTreeMap;

use mapstorm_abi::Outcome;

use super::bpf::map::Batch;

/// What can be done to a map, and the word for it in the table of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Update,
    Delete,
    LookupAndDelete,
    UpdateBatch,
    DeleteBatch,
    LookupBatch,
    LookupAndDeleteBatch,
    StorageLookup,
    StorageCacheInsert,
}

impl Operation {
    /// The word in the table.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Delete => "delete",
            Self::LookupAndDelete => "lookup_and_delete",
            Self::UpdateBatch => "update_batch",
            Self::DeleteBatch => "delete_batch",
            Self::LookupBatch => "lookup_batch",
            Self::LookupAndDeleteBatch => "lookup_and_delete_batch",
            Self::StorageLookup => "storage_lookup",
            Self::StorageCacheInsert => "storage_cache_insert",
        }
    }

    /// The label `op` under which it is counted: two batches are one operation for each element.
    pub(crate) const fn op(self) -> &'static str {
        match self {
            Self::UpdateBatch => Self::Update.word(),
            Self::DeleteBatch => Self::Delete.word(),
            _ => self.word(),
        }
    }

    /// The label `signal` of its coverage.
    pub(crate) const fn signal(self) -> &'static str {
        match self {
            Self::LookupBatch | Self::LookupAndDeleteBatch => "batch",
            Self::StorageLookup | Self::StorageCacheInsert => "local_storage",
            _ => self.op(),
        }
    }

    /// Are its elements counted beside its calls?
    pub(crate) const fn counts_elements(self) -> bool {
        matches!(self, Self::LookupBatch | Self::LookupAndDeleteBatch)
    }
}

/// How often something was done, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) outcomes: [u64; Outcome::COUNT],
    /// Elements that batches of lookups gave.
    pub(crate) elements: u64,
}

impl Counts {
    /// Calls, however they ended.
    pub(crate) fn calls(&self) -> u64 {
        self.outcomes.iter().sum()
    }
}

/// All that was done to one map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(BTreeMap<Operation, Counts>);

impl Ledger {
    /// Enters one call that ended with this errno, 0 for success; the errno again.
    pub(crate) fn enter(&mut self, operation: Operation, errno: i32) -> i32 {
        let counts = self.0.entry(operation).or_default();
        counts.outcomes[Outcome::of(-errno) as usize] += 1;
        errno
    }

    /// Begins with what had happened before the books were opened.
    pub(crate) fn begin(&mut self, operation: Operation, outcomes: [u64; Outcome::COUNT]) {
        self.0.entry(operation).or_default().outcomes = outcomes;
    }

    /// Enters a batch that runs one operation for each element and ends with the first that fails.
    pub(crate) fn enter_each(&mut self, operation: Operation, batch: Batch) {
        for _ in 0..batch.count {
            self.enter(operation, 0);
        }
        if batch.errno != 0 {
            self.enter(operation, batch.errno);
        }
    }

    /// Enters calls that handle many elements each.
    pub(crate) fn enter_batches(&mut self, operation: Operation, batches: &[Batch]) {
        for batch in batches {
            self.enter(operation, batch.errno);
            let counts = self.0.entry(operation).or_default();
            counts.elements += u64::from(batch.count);
        }
    }

    /// Adds what somebody else did to the same map.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (operation, theirs) in &other.0 {
            let ours = self.0.entry(*operation).or_default();
            for (sum, n) in ours.outcomes.iter_mut().zip(theirs.outcomes) {
                *sum += n;
            }
            ours.elements += theirs.elements;
        }
    }

    /// What was done of each operation that was done at all.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (Operation, &Counts)> {
        self.0
            .iter()
            .map(|(operation, counts)| (*operation, counts))
    }

    /// How often an operation ended this way.
    pub(crate) fn count(&self, operation: Operation, outcome: Outcome) -> u64 {
        let counts = self.0.get(&operation);
        counts.map_or(0, |counts| counts.outcomes[outcome as usize])
    }

    /// Elements that were taken out, by whatever operation.
    pub(crate) fn removed(&self) -> u64 {
        let one_by_one = [
            Operation::Delete,
            Operation::LookupAndDelete,
            Operation::DeleteBatch,
        ];
        let each = one_by_one.map(|operation| self.count(operation, Outcome::Ok));
        let many = self.0.get(&Operation::LookupAndDeleteBatch);
        each.iter().sum::<u64>() + many.map_or(0, |counts| counts.elements)
    }
}
