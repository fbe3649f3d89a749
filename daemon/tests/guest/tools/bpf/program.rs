//! Programs of a dozen instructions that do one thing to a map and return what it returned: they are
//! put together here because the map is known at run time only, and so are its kinds.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
};

use nix::libc;

use super::{Attr, address, map::RawMap};

const PROG_LOAD: libc::c_long = 5;
const TEST_RUN: libc::c_long = 10;
/// `BPF_PROG_TYPE_SCHED_CLS`: it may use every kind of hash (tracing programs may not use RHASH), and
/// every kernel lets it be run without being attached.
const SCHED_CLS: u32 = 3;
/// Offset of `cb` in `struct __sk_buff`, bytes: two of its words are a run's arguments.
const CB: usize = 48;
/// Bytes of a packet that a run wants at least.
const PACKET: usize = 64;

/// `BPF_PROG_TYPE_RAW_TRACEPOINT`, for what has a task and no packet.
const RAW_TRACEPOINT: u32 = 17;
/// Offset of `sk` in `struct __sk_buff`, bytes: a socket that lives as long as the run.
const SK: i16 = 168;

/// Helpers of the kernel's uapi.
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;
const SK_FULLSOCK: i32 = 95;
const SK_STORAGE_GET: i32 = 107;
const TASK_STORAGE_GET: i32 = 156;
const TASK_STORAGE_DELETE: i32 = 157;
const GET_CURRENT_TASK_BTF: i32 = 158;

/// One instruction: operation, registers, offset and immediate value.
const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
    code as u64
        | (to as u64) << 8
        | (from as u64) << 12
        | (offset as u16 as u64) << 16
        | (value as u32 as u64) << 32
}

/// `to = *(u32 *)(from + offset)`.
const fn load(to: u8, from: u8, offset: i16) -> u64 {
    instruction(0x61, to, from, offset, 0)
}

/// `*(u32 *)(frame + offset) = from`.
const fn store(offset: i16, from: u8) -> u64 {
    instruction(0x63, FRAME, from, offset, 0)
}

/// `*(u64 *)(frame + offset) = value`.
const fn store_long(offset: i16, value: i32) -> u64 {
    instruction(0x7a, FRAME, 0, offset, value)
}

/// `to = frame + offset`.
const fn frame(to: u8, offset: i32) -> [u64; 2] {
    [copy(to, FRAME), instruction(0x07, to, 0, 0, offset)]
}

/// `to = from`.
const fn copy(to: u8, from: u8) -> u64 {
    instruction(0xbf, to, from, 0, 0)
}

/// `to = value`.
const fn set(to: u8, value: i32) -> u64 {
    instruction(0xb7, to, 0, 0, value)
}

/// Goes over the next `count` instructions unless the register is 0.
const fn skip_if_some(register: u8, count: i16) -> u64 {
    instruction(0x55, register, 0, count, 0)
}

/// `to = map`, in two instructions.
const fn map(to: u8, fd: u32) -> [u64; 2] {
    [instruction(0x18, to, 1, 0, fd as i32), 0]
}

const fn call(helper: i32) -> u64 {
    instruction(0x85, 0, 0, 0, helper)
}

const EXIT: u64 = instruction(0x95, 0, 0, 0, 0);
/// The register that holds the frame's end.
const FRAME: u8 = 10;

/// A loaded program. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    fd: OwnedFd,
    kind: u32,
}

impl Program {
    /// Updates the element of a key, with flags: [`run`](Self::run)'s arguments.
    pub(crate) fn update(of: &RawMap) -> io::Result<Self> {
        let [key, value] = [frame(2, -4), frame(3, -16)];
        let [low, high] = map(1, of.raw_fd());
        Self::load(&mut [
            load(2, 1, CB as i16),
            load(4, 1, CB as i16 + 4),
            store(-4, 2),
            store_long(-16, 1),
            low,
            high,
            key[0],
            key[1],
            value[0],
            value[1],
            call(MAP_UPDATE_ELEM),
            EXIT,
        ])
    }

    /// Deletes the element of a key.
    pub(crate) fn delete(of: &RawMap) -> io::Result<Self> {
        let [key, [low, high]] = [frame(2, -4), map(1, of.raw_fd())];
        Self::load(&mut [
            load(2, 1, CB as i16),
            store(-4, 2),
            low,
            high,
            key[0],
            key[1],
            call(MAP_DELETE_ELEM),
            EXIT,
        ])
    }

    /// Looks up the current task's element of local storage, and may create it; ENOENT where there is
    /// none in the end.
    pub(crate) fn task_storage(of: &RawMap, create: bool) -> io::Result<Self> {
        let [[low, high], value] = [map(1, of.raw_fd()), frame(3, -16)];
        let mut instructions = vec![
            call(GET_CURRENT_TASK_BTF),
            copy(2, 0),
            store_long(-16, 1),
            low,
            high,
            value[0],
            value[1],
            set(4, create.into()),
            call(TASK_STORAGE_GET),
        ];
        instructions.extend(FOUND_OR_NOT);
        Self::load_kind(RAW_TRACEPOINT, &mut instructions)
    }

    /// Deletes the current task's element of local storage.
    pub(crate) fn task_storage_delete(of: &RawMap) -> io::Result<Self> {
        let [low, high] = map(1, of.raw_fd());
        Self::load_kind(
            RAW_TRACEPOINT,
            &mut [
                call(GET_CURRENT_TASK_BTF),
                copy(2, 0),
                low,
                high,
                call(TASK_STORAGE_DELETE),
                EXIT,
            ],
        )
    }

    /// Creates the element of the packet's socket, which every run makes anew.
    pub(crate) fn sk_storage(of: &RawMap) -> io::Result<Self> {
        let [[low, high], value] = [map(1, of.raw_fd()), frame(3, -16)];
        let none = [set(0, -libc::ENOENT), EXIT];
        let mut instructions = vec![
            instruction(0x79, 1, 1, SK, 0),
            skip_if_some(1, 2),
            none[0],
            none[1],
            call(SK_FULLSOCK),
            skip_if_some(0, 2),
            none[0],
            none[1],
            copy(2, 0),
            store_long(-16, 1),
            low,
            high,
            value[0],
            value[1],
            set(4, 1),
            call(SK_STORAGE_GET),
        ];
        instructions.extend(FOUND_OR_NOT);
        Self::load(&mut instructions)
    }

    fn load(instructions: &mut [u64]) -> io::Result<Self> {
        Self::load_kind(SCHED_CLS, instructions)
    }

    fn load_kind(kind: u32, instructions: &mut [u64]) -> io::Result<Self> {
        let mut licence = *b"GPL\0";
        let fd = Attr::default()
            .with(0, kind)
            .with(4, instructions.len() as u32)
            .with_long(8, address(instructions))
            .with_long(16, address(&mut licence))
            .open(PROG_LOAD)?;
        Ok(Self { fd, kind })
    }

    /// Runs it once on this CPU; 0 or the errno that it returned. The arguments are for programs that
    /// have a key.
    pub(crate) fn run(&self, key: u32, flags: u32) -> io::Result<i32> {
        let mut packet = [0_u8; PACKET];
        let mut context = [0_u32; CB / 4 + 5];
        context[CB / 4] = key;
        context[CB / 4 + 1] = flags;
        let mut attr = Attr::default().with(0, self.fd.as_raw_fd() as u32);
        if self.kind == SCHED_CLS {
            attr = attr
                .with(8, PACKET as u32)
                .with_long(16, address(&mut packet))
                .with(40, size_of_val(&context) as u32)
                .with_long(48, address(&mut context));
        }
        attr.call(TEST_RUN)?;
        Ok(-(attr.get(4) as i32))
    }
}

/// The end of a program: 0 where register 0 holds an element, ENOENT where it does not.
const FOUND_OR_NOT: [u64; 5] = [
    skip_if_some(0, 2),
    set(0, -libc::ENOENT),
    EXIT,
    set(0, 0),
    EXIT,
];
