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
