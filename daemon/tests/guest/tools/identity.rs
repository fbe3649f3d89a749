//! Children that may less than the suite, or see less.

use std::{io, os::unix::process::CommandExt as _, process::Command};

use nix::{
    libc,
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    sys::{
        prctl::set_keepcaps,
        resource::{Resource, setrlimit},
    },
    unistd::{Gid, Uid, setgid, setgroups, setuid},
};

/// The user that owns nothing.
const NOBODY: u32 = 65534;
/// `CAP_PERFMON` and `CAP_BPF` of the kernel's uapi.
pub(crate) const PERFMON: u32 = 38;
/// See [`PERFMON`].
pub(crate) const BPF: u32 = 39;

/// Runs `command` as nobody with these capabilities and no others, those of its threads and children
/// included.
pub(crate) fn as_nobody(command: &mut Command, capabilities: &'static [u32]) {
    let become_nobody = move || {
        set_keepcaps(true)?;
        setgroups(&[])?;
        setgid(Gid::from_raw(NOBODY))?;
        setuid(Uid::from_raw(NOBODY))?;
        hold(capabilities)
    };
    // SAFETY: the closure makes system calls on values of its own: it neither allocates nor takes a
    // lock, so it may run between fork and exec.
    unsafe { command.pre_exec(become_nobody) };
}

/// Gives `command` a limit on locked memory, bytes, that it cannot raise without privileges.
pub(crate) fn limit_memlock(command: &mut Command, bytes: u64) {
    let limit = move || Ok(setrlimit(Resource::RLIMIT_MEMLOCK, bytes, bytes)?);
    // SAFETY: one system call on a value of its own.
    unsafe { command.pre_exec(limit) };
}

/// Lets `command` open no more than so many files.
pub(crate) fn limit_files(command: &mut Command, files: u64) {
    let limit = move || Ok(setrlimit(Resource::RLIMIT_NOFILE, files, files)?);
    // SAFETY: one system call on a value of its own.
    unsafe { command.pre_exec(limit) };
}

/// Covers a directory with an empty one, for `command` alone.
pub(crate) fn hide(command: &mut Command, directory: &'static str) {
    let cover = move || {
        let none = None::<&str>;
        unshare(CloneFlags::CLONE_NEWNS)?;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        mount(
            Some("none"),
            directory,
            Some("tmpfs"),
            MsFlags::empty(),
            none,
        )?;
        Ok(())
    };
    // SAFETY: system calls on strings that are there already and short enough for nix to copy to
    // the stack; neither allocates nor takes a lock.
    unsafe { command.pre_exec(cover) };
}

/// Reduces this thread to `capabilities`, and makes exec keep them.
fn hold(capabilities: &[u32]) -> io::Result<()> {
    // `_LINUX_CAPABILITY_VERSION_3` and the calling thread; then effective, permitted and
    // inheritable, the low words first.
    let header = [0x2008_0522_u32, 0];
    let mut data = [0_u32; 6];
    for &capability in capabilities {
        let word = 3 * (capability as usize / 32);
        for set in &mut data[word..word + 3] {
            *set |= 1 << (capability % 32);
        }
    }
    // SAFETY: the kernel reads 8 bytes of header and 24 of data, which live for the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), data.as_ptr()) };
    done(result)?;
    for &capability in capabilities {
        let capability = libc::c_ulong::from(capability);
        let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
        // SAFETY: the call takes numbers only.
        let result = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, raise, capability, 0, 0) };
        done(result.into())?;
    }
    Ok(())
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
