//! The kernel's file systems, where programs look for them.

use std::fs;

use nix::mount::{MsFlags, mount};

/// File system type and mount point, in an order in which parents come first.
const MOUNTS: [(&str, &str); 10] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
    ("tracefs", "/sys/kernel/tracing"),
    ("debugfs", "/sys/kernel/debug"),
    ("securityfs", "/sys/kernel/security"),
    ("bpf", "/sys/fs/bpf"),
    ("cgroup2", "/sys/fs/cgroup"),
];

/// Mounts them all. One that the kernel does not have is a remark, not an end.
pub(crate) fn mount_all() {
    for (kind, target) in MOUNTS {
        // It exists already, or the mount says what is wrong.
        let _exists = fs::create_dir(target);
        if let Err(error) = mount(
            Some(kind),
            target,
            Some(kind),
            MsFlags::empty(),
            None::<&str>,
        ) {
            eprintln!("guest-init: cannot mount {kind} on {target}: {error}");
        }
    }
}
