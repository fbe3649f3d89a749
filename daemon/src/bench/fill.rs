//! Elements that are in a map before it is worked on.

use std::{io, ops::Range};

use mapstorm_abi::workload::{MAX_LOOPS, Run, Tally, Target};

use super::BenchError;
use crate::kernel::workload::Workload;

/// Tries to put a key in. A lock that was not had in time (6.15 and newer, on a busy host) is worth another.
const TRIES: u32 = 100;

/// Puts keys in by system call, and counts the calls.
pub(super) fn fill(
    workload: &Workload,
    target: Target,
    keys: Range<u32>,
) -> Result<Tally, BenchError> {
    let mut tally = Tally::default();
    for key in keys {
        let mut left = TRIES;
        loop {
            let errno = workload.update(target, key, 0)?;
            tally.add(errno);
            if errno == 0 {
                break;
            }
            left -= 1;
            if left == 0 {
                let error = io::Error::from_raw_os_error(errno);
                return Err(BenchError::Fill { key, error });
            }
        }
    }
    Ok(tally)
}

/// Puts the keys below `keys` into a map that was not worked on yet, by program, which is quicker; the programs count.
pub(super) fn fill_by_program(
    workload: &Workload,
    target: Target,
    keys: u32,
) -> Result<(), BenchError> {
    for first in (0..keys).step_by(MAX_LOOPS as usize) {
        workload.run(
            target,
            Run {
                loops: u64::from(keys - first).min(MAX_LOOPS),
                first_key: first.into(),
                key_mask: MAX_LOOPS - 1,
                ..Run::default()
            },
        )?;
    }
    let tallies = workload.tallies(target)?;
    let mut done = Tally::default();
    tallies.iter().for_each(|tally| done.merge(tally));
    let failed = done.updates.iter().skip(1).position(|&n| n > 0);
    failed.map_or(Ok(()), |errno| {
        let error = io::Error::from_raw_os_error(errno as i32 + 1);
        Err(BenchError::Fill {
            key: keys - 1,
            error,
        })
    })
}
