//! Reads whole maps by system call, in batches or element by element.

use std::{io, os::fd::BorrowedFd};

use super::{KernelError, sys};

/// A reader of one map, whose keys are of four bytes and values of eight.
pub struct Dump<'a> {
    map: BorrowedFd<'a>,
    keys: Vec<u32>,
    values: Vec<u64>,
}

/// What reading a map came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// Elements read.
    pub elements: u64,
    /// Batches that ended well, the last but one of most dumps.
    pub batches_ok: u64,
    /// Batches that ended with `ENOENT`, behind the last element.
    pub batches_last: u64,
    /// Batches that a bucket did not fit into, and that were tried again with more room.
    pub batches_short: u64,
}

impl<'a> Dump<'a> {
    /// A reader with room for so many elements in a batch, at least one.
    pub fn new(map: BorrowedFd<'a>, batch: usize) -> Self {
        let room = batch.max(1);
        Self {
            map,
            keys: vec![0; room],
            values: vec![0; room],
        }
    }

    /// Reads all elements in batches. A bucket that has more of them than there is room for makes the room larger.
    ///
    /// # Errors
    /// The kernel refuses; batches of hashes came with Linux 5.6.
    pub fn in_batches(&mut self) -> Result<Dumped, KernelError> {
        let mut dumped = Dumped::default();
        let mut from = None;
        loop {
            let batched = sys::lookup_batch(self.map, from, &mut self.keys, &mut self.values)
                .map_err(failed("reading a map in batches"))?;
            match batched.errno {
                libc::ENOSPC => {
                    dumped.batches_short += 1;
                    let room = 2 * self.keys.len();
                    self.keys.resize(room, 0);
                    self.values.resize(room, 0);
                    continue;
                }
                0 => dumped.batches_ok += 1,
                _ => dumped.batches_last += 1,
            }
            dumped.elements += u64::from(batched.elements);
            if batched.errno != 0 {
                return Ok(dumped);
            }
            from = Some(batched.next);
        }
    }

    /// Reads all elements one by one: the next key, then its value.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn one_by_one(&self) -> Result<Dumped, KernelError> {
        let failed = failed("reading a map element by element");
        let mut dumped = Dumped::default();
        let mut key = sys::next_key(self.map, None).map_err(&failed)?;
        while let Some(known) = key {
            sys::lookup_elem(self.map, known).map_err(&failed)?;
            dumped.elements += 1;
            key = sys::next_key(self.map, key).map_err(&failed)?;
        }
        Ok(dumped)
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> KernelError {
    move |source| KernelError::Io {
        what: what.into(),
        source,
    }
}
