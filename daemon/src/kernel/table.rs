//! One memory-mapped BPF array: its values are read, and a few words written, without system calls.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

/// A mapped array of `len` values of `size` bytes, shared with BPF programs that write it all the
/// time: its memory is touched by atomic loads and stores only.
pub(super) struct Table {
    base: NonNull<u8>,
    len: usize,
    size: usize,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, and it is only touched by atomic operations.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// Maps the array map `fd` of `len` values of `size` bytes, a multiple of eight.
    pub(super) fn map(fd: BorrowedFd<'_>, len: usize, size: usize) -> io::Result<Self> {
        let bytes = (len * size).next_multiple_of(4096);
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            base,
            len,
            size,
            bytes,
        })
    }

    /// Memory of the mapping, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Address of the field at `offset` bytes into value `index`.
    fn address(&self, index: usize, offset: usize, size: usize) -> *mut u8 {
        assert!(
            index < self.len && offset + size <= self.size,
            "outside of the table"
        );
        // SAFETY: just checked to be inside the mapping.
        unsafe { self.base.as_ptr().add(index * self.size + offset) }
    }

    /// The 64-bit word at `offset` bytes into value `index`.
    pub(super) fn word(&self, index: usize, offset: usize) -> &AtomicU64 {
        let address = self.address(index, offset, 8).cast::<u64>();
        assert!(address.is_aligned(), "a word is aligned");
        // SAFETY: inside the mapping, which lives as long as `self`, aligned, and only touched by
        // atomic operations here; BPF's plain stores of a word are single stores.
        unsafe { AtomicU64::from_ptr(address) }
    }

    /// The 32-bit word at `offset` bytes into value `index`.
    pub(super) fn half(&self, index: usize, offset: usize) -> &AtomicU32 {
        let address = self.address(index, offset, 4).cast::<u32>();
        assert!(address.is_aligned(), "a half word is aligned");
        // SAFETY: as for `word`.
        unsafe { AtomicU32::from_ptr(address) }
    }

    /// `N` consecutive words from `offset` bytes into value `index`.
    pub(super) fn words<const N: usize>(&self, index: usize, offset: usize) -> [u64; N] {
        std::array::from_fn(|i| self.word(index, offset + 8 * i).load(Ordering::Relaxed))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and no reference outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
