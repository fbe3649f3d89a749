//! Names of kernel addresses, as far as they were asked for: those of stacks that were sampled.

use std::{collections::BTreeMap, sync::Arc};

use super::Programs;

/// Addresses that are remembered. A host's maps are called from a few hundred places.
const MAX: usize = 8192;

/// Names by address; `None` for one that has none.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<u64, Option<Arc<str>>>);

impl Names {
    /// The name of the function at `address`, where it is known.
    pub fn get(&self, address: u64) -> Option<&str> {
        self.0.get(&address)?.as_deref()
    }

    /// Was this address asked for?
    pub fn knows(&self, address: u64) -> bool {
        self.0.contains_key(&address)
    }

    /// Notes an answer. When there are too many, all are forgotten: those in use come again.
    pub fn insert(&mut self, address: u64, name: Option<Arc<str>>) {
        if self.0.len() >= MAX {
            self.0.clear();
        }
        self.0.insert(address, name);
    }

    /// A stack in words, the innermost frame first. An address gives the kernel's layout away, so
    /// none is told.
    pub fn stack(&self, stack: &[u64], programs: &Programs) -> Vec<String> {
        let words = |&address: &u64| match (programs.at(address), self.get(address)) {
            (Some(id), _) => {
                let name = programs.get(id).map_or("", |program| &program.name);
                format!("[program {id} {name}]")
            }
            (None, Some(name)) => name.to_owned(),
            (None, None) => "?".to_owned(),
        };
        stack.iter().map(words).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::programs::tests::two;

    #[test]
    fn a_stack_is_told_in_words_without_addresses() {
        let mut names = Names::default();
        names.insert(0xffff_ffff_8100_0005, Some("htab_map_update_elem".into()));
        names.insert(0xffff_ffff_8100_0009, None);
        let stack = [
            0xffff_ffff_8100_0005,
            0xffff_ffff_8100_0009,
            0xffff_ffff_c000_1010,
        ];
        assert_eq!(
            names.stack(&stack, &two()),
            ["htab_map_update_elem", "?", "[program 3 flows]"]
        );
    }

    #[test]
    fn names_are_bounded() {
        let mut names = Names::default();
        for address in 0..2 * MAX as u64 {
            names.insert(address, None);
        }
        assert!(names.0.len() <= MAX && names.knows(2 * MAX as u64 - 1));
    }
}
