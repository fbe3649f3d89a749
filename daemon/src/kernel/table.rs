//! One memory-mapped BPF array: its values are read, and a few words written, without system calls.

use std::{
    io,
    marker::PhantomData,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

/// A mapped array of `len` values of type `T`, shared with BPF programs that write it all the time:
/// its memory is touched by atomic loads and stores only.
pub(super) struct Table<T> {
    base: NonNull<u8>,
    len: usize,
    bytes: usize,
    _values: PhantomData<T>,
}

// SAFETY: the mapping belongs to the process, and it is only touched by atomic operations.
unsafe impl<T> Send for Table<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Table<T> {}

impl<T> Table<T> {
    /// Maps the array map `fd` of `len` values, writable so that slots can be freed.
    pub(super) fn map(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let bytes = (len * size_of::<T>()).next_multiple_of(4096);
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
            bytes,
            _values: PhantomData,
        })
    }

    /// Memory of the mapping, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Address of the field at `offset` bytes into value `index`.
    fn address(&self, index: usize, offset: usize, size: usize) -> *mut u8 {
        assert!(
            index < self.len && offset + size <= size_of::<T>(),
            "outside of the table"
        );
        // SAFETY: just checked to be inside the mapping.
        unsafe { self.base.as_ptr().add(index * size_of::<T>() + offset) }
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

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and no reference outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
