//! bpf(2) by hand: commands and kinds of map that no library has a call for, on every kernel.

pub(crate) mod map;
pub(crate) mod program;
pub(crate) mod types;

use std::{
    io,
    os::fd::{FromRawFd as _, OwnedFd},
};

use nix::libc;

/// A pointer whose memory the kernel may read or write during the call.
fn address<T: ?Sized>(memory: &mut T) -> u64 {
    std::ptr::from_mut(memory).cast::<()>() as u64
}

/// `union bpf_attr`: what is not set is zero, and the kernel takes what it does not know as long as it
/// is zero.
#[derive(Default)]
struct Attr([u32; 32]);

impl Attr {
    /// Sets the 32-bit field at an offset in bytes.
    fn with(mut self, offset: usize, value: u32) -> Self {
        self.0[offset / 4] = value;
        self
    }

    /// Sets the 64-bit field at an offset in bytes.
    fn with_long(self, offset: usize, value: u64) -> Self {
        self.with(offset, value as u32)
            .with(offset + 4, (value >> 32) as u32)
    }

    /// Sets the name, 16 bytes with its zero, at an offset in bytes.
    fn with_name(mut self, offset: usize, name: &str) -> Self {
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        for (word, four) in self.0[offset / 4..].iter_mut().zip(bytes.chunks(4)) {
            *word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        }
        self
    }

    /// The 32-bit field at an offset in bytes, as the kernel left it.
    fn get(&self, offset: usize) -> u32 {
        self.0[offset / 4]
    }

    /// Makes the call. Every address in the attribute is of memory that the caller borrows for it.
    fn call(&mut self, command: libc::c_long) -> io::Result<i32> {
        // SAFETY: the attribute is valid for reads and writes of the size given; the memory it points
        // to is borrowed by the callers, all in this directory, until the call returns.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command,
                self.0.as_mut_ptr(),
                size_of_val(&self.0),
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(result as i32)
    }

    /// As [`call`](Self::call), for commands that return a new descriptor.
    fn open(&mut self, command: libc::c_long) -> io::Result<OwnedFd> {
        let fd = self.call(command)?;
        // SAFETY: the kernel has just made it for this call alone.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}
