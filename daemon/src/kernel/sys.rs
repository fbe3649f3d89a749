//! The few bpf(2) commands that aya has no call for.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

/// `BPF_OBJ_GET_INFO_BY_FD` of the kernel's uapi.
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
/// `BPF_LINK_CREATE`.
const LINK_CREATE: libc::c_long = 28;
/// `BPF_ITER_CREATE`.
const ITER_CREATE: libc::c_long = 33;
/// `BPF_TRACE_ITER` of `enum bpf_attach_type`.
const TRACE_ITER: u32 = 28;

/// Words of `union bpf_attr` that we ever set; the kernel takes the rest as zero.
type Attr = [u64; 8];

fn bpf(command: libc::c_long, attr: &mut Attr) -> io::Result<libc::c_long> {
    // SAFETY: `attr` is valid for reads and writes of the size given for the whole call, and every
    // pointer inside it is set by a caller in this file to memory that outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attr.as_mut_ptr(), size_of::<Attr>()) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Takes ownership of a descriptor that the kernel has just returned.
fn owned(fd: libc::c_long) -> OwnedFd {
    // SAFETY: the kernel returned it to this call alone, and descriptors fit an int.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// Links a loaded iterator program; the link outlives our capabilities.
pub(super) fn link_iterator(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attr = Attr::default();
    attr[0] = program.as_raw_fd() as u64; // prog_fd, target_fd = 0
    attr[1] = u64::from(TRACE_ITER); // attach_type, flags = 0
    bpf(LINK_CREATE, &mut attr).map(owned)
}

/// Starts one pass of a linked iterator: what it writes is read from the file.
pub(super) fn start_iterator(link: BorrowedFd<'_>) -> io::Result<File> {
    let mut attr = Attr::default();
    attr[0] = link.as_raw_fd() as u64; // link_fd, flags = 0
    bpf(ITER_CREATE, &mut attr).map(|fd| File::from(owned(fd)))
}

/// Byte offset of `bpf_prog_info.recursion_misses` in the kernel's uapi.
const RECURSION_MISSES: usize = 208;

/// How often the kernel skipped a program because it was running on that CPU already; `None` where
/// the kernel does not count that (before 5.12).
pub(super) fn recursion_misses(program: BorrowedFd<'_>) -> io::Result<Option<u64>> {
    let mut info = [0u64; 32];
    let mut attr = Attr::default();
    // bpf_fd and info_len, two 32-bit halves of one little-endian word; then the pointer.
    attr[0] = program.as_raw_fd() as u64 | (size_of_val(&info) as u64) << 32;
    attr[1] = info.as_mut_ptr() as u64;
    bpf(OBJ_GET_INFO_BY_FD, &mut attr)?;
    let filled = (attr[0] >> 32) as usize;
    Ok((filled >= RECURSION_MISSES + 8).then(|| info[RECURSION_MISSES / 8]))
}

/// `BPF_MAP_UPDATE_ELEM`.
const MAP_UPDATE_ELEM: libc::c_long = 2;
/// `BPF_MAP_DELETE_ELEM`.
const MAP_DELETE_ELEM: libc::c_long = 3;

/// Updates an element by system call. `value` holds one word, or one per possible CPU for a per-CPU
/// map.
pub(super) fn update_elem(
    map: BorrowedFd<'_>,
    key: &u32,
    value: &[u64],
    flags: u64,
) -> io::Result<()> {
    let mut attr = Attr::default();
    attr[0] = map.as_raw_fd() as u64;
    attr[1] = std::ptr::from_ref(key) as u64;
    attr[2] = value.as_ptr() as u64;
    attr[3] = flags;
    bpf(MAP_UPDATE_ELEM, &mut attr).map(drop)
}

/// Deletes an element by system call.
pub(super) fn delete_elem(map: BorrowedFd<'_>, key: &u32) -> io::Result<()> {
    let mut attr = Attr::default();
    attr[0] = map.as_raw_fd() as u64;
    attr[1] = std::ptr::from_ref(key) as u64;
    bpf(MAP_DELETE_ELEM, &mut attr).map(drop)
}

/// Keeps the calling thread on one CPU.
pub(super) fn pin_thread(cpu: u32) -> io::Result<()> {
    // SAFETY: an all-zero set is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu as usize >= 8 * size_of_val(&set) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the CPU's bit lies inside the set, as just checked.
    unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    // SAFETY: the set is valid for the size given; 0 is the calling thread.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// `BPF_MAP_CREATE`.
const MAP_CREATE: libc::c_long = 0;
/// `BPF_MAP_LOOKUP_ELEM`.
const MAP_LOOKUP_ELEM: libc::c_long = 1;
/// `BPF_MAP_GET_NEXT_KEY`.
const MAP_GET_NEXT_KEY: libc::c_long = 4;
/// `BPF_BTF_LOAD`.
const BTF_LOAD: libc::c_long = 18;
/// `BPF_MAP_LOOKUP_BATCH`.
const MAP_LOOKUP_BATCH: libc::c_long = 24;
/// `BPF_MAP_TYPE_TASK_STORAGE`.
const TASK_STORAGE: u64 = 29;
/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u64 = 1;
/// `BTF_KIND_INT` in a type's `info`.
const INT: u32 = 1 << 24;

/// Loads two types that maps can be made with: 1 is of four bytes, 2 of eight.
pub(super) fn load_types() -> io::Result<OwnedFd> {
    let names = *b"\0key\0value\0\0";
    let words: [u32; 14] = [
        // `struct btf_header`: magic and version, its length; offset and length of types, then of names.
        0x0001_eb9f,
        24,
        0,
        32,
        32,
        names.len() as u32,
        // Name, info, size in bytes, bits.
        1,
        INT,
        4,
        32,
        5,
        INT,
        8,
        64,
    ];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(names);
    let mut attr = Attr::default();
    attr[0] = bytes.as_ptr() as u64; // btf, no log
    attr[2] = bytes.len() as u64; // btf_size
    bpf(BTF_LOAD, &mut attr).map(owned)
}

/// Makes a map of task local storage for values of eight bytes, of the types of [`load_types`].
pub(super) fn create_task_storage(types: BorrowedFd<'_>, name: &[u8; 16]) -> io::Result<OwnedFd> {
    let mut attr = Attr::default();
    attr[0] = TASK_STORAGE | 4 << 32; // map_type, key_size
    attr[1] = 8; // value_size, max_entries = 0
    attr[2] = NO_PREALLOC; // map_flags, no inner map
    let name = name.as_chunks::<4>().0;
    let half = |at: usize| u64::from(u32::from_le_bytes(name[at]));
    attr[3] = half(0) << 32; // numa_node, then the name's sixteen bytes
    attr[4] = half(1) | half(2) << 32;
    attr[5] = half(3); // map_ifindex = 0
    attr[6] = types.as_raw_fd() as u64 | 1 << 32; // btf_fd, btf_key_type_id
    attr[7] = 2; // btf_value_type_id
    bpf(MAP_CREATE, &mut attr).map(owned)
}

/// Reads an element, of values of one word.
pub(super) fn lookup_elem(map: BorrowedFd<'_>, key: u32) -> io::Result<u64> {
    let mut value = 0_u64;
    let mut attr = Attr::default();
    attr[0] = map.as_raw_fd() as u64;
    attr[1] = &raw const key as u64;
    attr[2] = &raw mut value as u64;
    bpf(MAP_LOOKUP_ELEM, &mut attr).map(|_| value)
}

/// The key after `key`, or the first; `None` after the last.
pub(super) fn next_key(map: BorrowedFd<'_>, key: Option<u32>) -> io::Result<Option<u32>> {
    let mut next = 0_u32;
    let mut attr = Attr::default();
    attr[0] = map.as_raw_fd() as u64;
    attr[1] = key.as_ref().map_or(0, |key| std::ptr::from_ref(key) as u64);
    attr[2] = &raw mut next as u64;
    match bpf(MAP_GET_NEXT_KEY, &mut attr) {
        Ok(_) => Ok(Some(next)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What one batch came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batched {
    /// Elements that it handed out.
    pub(super) elements: u32,
    /// Where the next one goes on.
    pub(super) next: u32,
    /// 0, or the errno it ended with: `ENOENT` after the last element, `ENOSPC` where a bucket has more elements than
    /// there is room for.
    pub(super) errno: i32,
}

/// Reads as many elements as `keys` and `values`, of one word each, have room for; from `from` on, which the batch
/// before gave, or from the first.
pub(super) fn lookup_batch(
    map: BorrowedFd<'_>,
    from: Option<u32>,
    keys: &mut [u32],
    values: &mut [u64],
) -> io::Result<Batched> {
    let mut next = 0_u32;
    let room = keys.len().min(values.len()) as u64;
    let mut attr = Attr::default();
    attr[0] = from
        .as_ref()
        .map_or(0, |from| std::ptr::from_ref(from) as u64); // in_batch
    attr[1] = &raw mut next as u64; // out_batch
    attr[2] = keys.as_mut_ptr() as u64;
    attr[3] = values.as_mut_ptr() as u64;
    attr[4] = room | (map.as_raw_fd() as u64) << 32; // count, map_fd
    let ended = bpf(MAP_LOOKUP_BATCH, &mut attr);
    let errno = match ended {
        Ok(_) => 0,
        Err(error) => match error.raw_os_error() {
            Some(errno @ (libc::ENOENT | libc::ENOSPC)) => errno,
            _ => return Err(error),
        },
    };
    let elements = attr[4] as u32;
    Ok(Batched {
        elements,
        next,
        errno,
    })
}
