//! Sampled calls as the probes leave them in the ring buffer, read through its mapping without
//! system calls.

use std::mem::{offset_of, size_of};

use aya::{
    Ebpf,
    maps::{MapData, RingBuf},
};
use mapstorm_abi::{
    Op, Outcome, sample,
    sample::{FRAMES, Sample as Record},
    slot::NAME_LEN,
};

use super::error::KernelError;
use crate::{
    identity::printable_name,
    who::{Sample, Task},
};

/// Name of the ring buffer in the object.
const RING: &str = "SAMPLES";

/// The reader of the ring buffer.
pub struct Samples {
    ring: RingBuf<MapData>,
}

impl Samples {
    /// Maps the ring buffer of a loaded object.
    pub(super) fn map(ebpf: &mut Ebpf) -> Result<Self, KernelError> {
        let ring = ebpf.take_map(RING).ok_or_else(|| KernelError::Missing {
            object: "probes",
            name: RING.into(),
        })?;
        let ring = RingBuf::try_from(ring).map_err(|source| KernelError::Map {
            map: RING,
            source: Box::new(source),
        })?;
        Ok(Self { ring })
    }

    /// Takes all samples that are there.
    pub fn drain(&mut self) -> Vec<Sample> {
        let mut samples = Vec::new();
        while let Some(item) = self.ring.next() {
            samples.extend(parse(&item));
        }
        samples
    }

    /// Memory of the ring buffer, bytes.
    pub const fn bytes() -> usize {
        sample::RING_BYTES as usize
    }
}

/// One record; `None` for one of another size or with an operation that no probe writes.
fn parse(bytes: &[u8]) -> Option<Sample> {
    let bytes: &[u8; size_of::<Record>()] = bytes.get(..size_of::<Record>())?.try_into().ok()?;
    let half = |at: usize| u32::from_ne_bytes(field(bytes, at));
    let word = |at: usize| u64::from_ne_bytes(field(bytes, at));
    let short = |at: usize| u16::from_ne_bytes(field(bytes, at));
    let name: [u8; NAME_LEN] = field(bytes, offset_of!(Record, task));
    let outcome = usize::from(short(offset_of!(Record, outcome)));
    let filled = half(offset_of!(Record, stack_bytes)) as i32;
    let frames = (usize::try_from(filled).unwrap_or(0) / 8).min(FRAMES);
    let stack = (0..frames).map(|frame| word(offset_of!(Record, stack) + 8 * frame));
    Some(Sample {
        map: half(offset_of!(Record, map_id)),
        op: Op::from_byte(short(offset_of!(Record, op)).try_into().ok()?)?,
        outcome: *Outcome::ALL.get(outcome)?,
        duration_ns: word(offset_of!(Record, duration_ns)),
        time_ns: word(offset_of!(Record, time_ns)),
        task: Task {
            process: half(offset_of!(Record, process)),
            name: printable_name(&name),
            cgroup_id: word(offset_of!(Record, cgroup_id)),
        },
        stack: stack.collect(),
        cut: frames == FRAMES,
    })
}

fn field<const N: usize>(bytes: &[u8; size_of::<Record>()], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stack_bytes: i32, op: u16) -> Vec<u8> {
        let mut bytes = vec![0; size_of::<Record>()];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(offset_of!(Record, map_id), &7u32.to_ne_bytes());
        put(offset_of!(Record, op), &op.to_ne_bytes());
        put(offset_of!(Record, outcome), &1u16.to_ne_bytes());
        put(offset_of!(Record, duration_ns), &900u64.to_ne_bytes());
        put(offset_of!(Record, process), &42u32.to_ne_bytes());
        put(offset_of!(Record, stack_bytes), &stack_bytes.to_ne_bytes());
        put(offset_of!(Record, task), b"nginx\0junk");
        for (i, address) in (1u64..=FRAMES as u64).enumerate() {
            put(offset_of!(Record, stack) + 8 * i, &address.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn only_the_frames_that_were_filled_are_read() {
        let sample = parse(&record(24, 1)).unwrap();
        assert_eq!(
            (sample.map, sample.op, sample.outcome, sample.duration_ns),
            (7, Op::Update, Outcome::E2big, 900)
        );
        assert_eq!((sample.task.process, &*sample.task.name), (42, "nginx"));
        assert_eq!((&sample.stack[..], sample.cut), (&[1, 2, 3][..], false));
        let whole = parse(&record(8 * FRAMES as i32, 1)).unwrap();
        assert!(whole.cut && whole.stack.len() == FRAMES);
        let failed = parse(&record(-14, 1)).unwrap();
        assert!(failed.stack.is_empty() && !failed.cut);
    }

    #[test]
    fn a_torn_record_and_one_that_no_probe_writes_are_left_out() {
        assert_eq!(parse(&record(24, 1)[1..]), None);
        assert_eq!(parse(&record(24, 0x101)), None);
        assert_eq!(parse(&record(24, 0)), None);
    }
}
