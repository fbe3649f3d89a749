//! Every BPF program on the host, read through the kernel's iterator: works without the right to
//! enumerate ids.

use std::{
    collections::BTreeMap,
    io::{self, Read as _},
    mem::{offset_of, size_of},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::Arc,
};

use mapstorm_abi::programs::{CodeRange, ProgramRecord};

use super::sys;
use crate::{
    identity::printable_name,
    who::{Program, ProgramId, ProgramType, Programs},
};

/// The linked iterator, and what it said last.
pub struct ProgramList {
    link: OwnedFd,
    bytes: Vec<u8>,
    programs: Arc<Programs>,
}

impl ProgramList {
    /// Links the loaded iterator program.
    pub(super) fn link(program: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self {
            link: sys::link_iterator(program)?,
            bytes: Vec::new(),
            programs: Arc::default(),
        })
    }

    /// One pass over all programs. One that comes or goes during the pass may be in it or not.
    pub fn read(&mut self) -> io::Result<Arc<Programs>> {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        sys::start_iterator(self.link.as_fd())?.read_to_end(&mut bytes)?;
        if bytes != self.bytes {
            self.programs = Arc::new(Programs::new(parse(&bytes)));
            self.bytes = bytes;
        }
        Ok(Arc::clone(&self.programs))
    }
}

/// Records follow each other without gaps; a last partial one is left out.
fn parse(bytes: &[u8]) -> BTreeMap<ProgramId, Program> {
    let mut rest = Words(bytes);
    std::iter::from_fn(|| rest.record()).collect()
}

/// What is still to be read.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn half(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn code(&mut self) -> Option<CodeRange> {
        Some(CodeRange {
            start: self.take().map(u64::from_ne_bytes)?,
            end: self.take().map(u64::from_ne_bytes)?,
        })
    }

    /// The fields of a [`ProgramRecord`] in their order, and what follows it.
    fn record(&mut self) -> Option<(ProgramId, Program)> {
        let id = self.half()?;
        let kind = ProgramType(self.half()?);
        let name: [u8; 16] = self.take()?;
        let tag = self.take()?;
        let loaded_ns = self.take().map(u64::from_ne_bytes)?;
        let code = self.code()?;
        let (maps, functions) = (self.half()?, self.half()?);
        let maps: Option<Vec<_>> = (0..maps).map(|_| self.half()).collect();
        let functions: Option<Vec<_>> = (0..functions).map(|_| self.code()).collect();
        let mut maps = maps?;
        maps.retain(|&id| id != 0);
        let mut code = vec![code];
        code.extend(functions?);
        let program = Program {
            name: printable_name(&name),
            kind,
            tag,
            loaded_ns,
            code,
            maps,
        };
        Some((id, program))
    }
}

/// The order in which `record` reads, without gaps.
const _: () = assert!(
    offset_of!(ProgramRecord, kind) == 4
        && offset_of!(ProgramRecord, name) == 8
        && offset_of!(ProgramRecord, tag) == 24
        && offset_of!(ProgramRecord, loaded_ns) == 32
        && offset_of!(ProgramRecord, code) == 40
        && offset_of!(ProgramRecord, maps) == 56
        && size_of::<ProgramRecord>() == 64
);

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u32, maps: &[u32], functions: &[[u64; 2]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(id.to_ne_bytes());
        bytes.extend(17u32.to_ne_bytes());
        bytes.extend(*b"flows\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        bytes.extend(999u64.to_ne_bytes());
        bytes.extend([0x1000u64, 0x1100].map(u64::to_ne_bytes).as_flattened());
        bytes.extend((maps.len() as u32).to_ne_bytes());
        bytes.extend((functions.len() as u32).to_ne_bytes());
        bytes.extend(maps.iter().flat_map(|id| id.to_ne_bytes()));
        bytes.extend(functions.iter().flatten().flat_map(|a| a.to_ne_bytes()));
        bytes
    }

    #[test]
    fn records_of_any_length_follow_each_other_and_a_torn_one_is_left_out() {
        let mut bytes = record(3, &[7, 0, 9], &[[0x2000, 0x2010], [0, 0]]);
        bytes.extend(record(4, &[], &[]));
        let torn = record(5, &[7], &[]);
        bytes.extend(&torn[..torn.len() - 1]);
        let programs = parse(&bytes);
        assert_eq!(programs.keys().collect::<Vec<_>>(), [&3, &4]);
        let flows = &programs[&3];
        assert_eq!(
            (&*flows.name, flows.kind, flows.tag[7]),
            ("flows", ProgramType(17), 8)
        );
        assert_eq!(flows.loaded_ns, 999);
        assert_eq!(flows.maps, [7, 9], "an id that could not be read is none");
        let [whole, function, _] = flows.code[..] else {
            panic!("{flows:?}");
        };
        assert_eq!((whole.start, function.end), (0x1000, 0x2010));
        assert_eq!(programs[&4].code.len(), 1);
    }
}
