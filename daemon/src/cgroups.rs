//! Paths of cgroups by id, for processes that were seen to call: read from where the kernel lists
//! the process, and checked against the id. And a cgroup of one's own, to create maps in.

mod own;

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::PathBuf};

pub use own::{CgroupError, OwnCgroup};

/// Cgroups that are remembered.
const MAX: usize = 1024;

/// Finds paths, and remembers them.
#[derive(Debug)]
pub struct Cgroups {
    proc: PathBuf,
    mounted: PathBuf,
    paths: BTreeMap<u64, Box<str>>,
}

impl Cgroups {
    /// A finder that looks below `proc` and where cgroup2 is `mounted`.
    pub fn new(proc: impl Into<PathBuf>, mounted: impl Into<PathBuf>) -> Self {
        Self {
            proc: proc.into(),
            mounted: mounted.into(),
            paths: BTreeMap::new(),
        }
    }

    /// Path of the cgroup `id`, which `process` was in; `None` when the process is gone, or in
    /// another by now, or where cgroup2 is not mounted.
    pub fn path(&mut self, process: u32, id: u64) -> Option<Box<str>> {
        if let Some(path) = self.paths.get(&id) {
            return Some(path.clone());
        }
        let listed = self.proc.join(process.to_string()).join("cgroup");
        let listed = fs::read_to_string(listed).ok()?;
        let path = listed.lines().find_map(|line| line.strip_prefix("0::"))?;
        // An id is the inode number of the cgroup's directory, on 64 bits.
        let directory = self.mounted.join(path.trim_start_matches('/'));
        if fs::metadata(directory).ok()?.ino() != id {
            return None;
        }
        if self.paths.len() >= MAX {
            self.paths.clear();
        }
        let path: Box<str> = path.into();
        self.paths.insert(id, path.clone());
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_only_if_it_is_of_the_id() {
        let root = std::env::temp_dir().join(format!("mapstorm-cgroups-{}", std::process::id()));
        let slice = root.join("cgroup/system.slice/nginx.service");
        fs::create_dir_all(&slice).unwrap();
        fs::create_dir_all(root.join("proc/42")).unwrap();
        let listed = "1:name=systemd:/x\n0::/system.slice/nginx.service\n";
        fs::write(root.join("proc/42/cgroup"), listed).unwrap();
        let id = fs::metadata(&slice).unwrap().ino();
        let mut cgroups = Cgroups::new(root.join("proc"), root.join("cgroup"));
        assert_eq!(cgroups.path(42, id + 1), None, "it has moved since");
        assert_eq!(cgroups.path(43, id), None, "no such process");
        let path = cgroups.path(42, id).unwrap();
        assert_eq!(&*path, "/system.slice/nginx.service");
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(cgroups.path(42, id), Some(path), "it is remembered");
    }
}
