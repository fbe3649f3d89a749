//! A cgroup of one's own: from 5.11 on a map and its elements are charged to the cgroup that created the map,
//! so that its memory can be read, and limited, there.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Where cgroup2 is mounted.
const MOUNTED: &str = "/sys/fs/cgroup";
/// Where a cgroup lists its processes, and takes them.
const PROCESSES: &str = "cgroup.procs";

/// Why a cgroup of one's own cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// The system refused something.
    #[error(
        "cannot {what} {}: {error}; this makes a cgroup of its own, which takes root and cgroup2 at \
         /sys/fs/cgroup",
        path.display()
    )]
    Refused {
        /// What was being done.
        what: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Memory is not counted by cgroup here.
    #[error(
        "there is no {}: let cgroups have memory of their own with \
         `echo +memory > /sys/fs/cgroup/cgroup.subtree_control`",
        .0.display()
    )]
    NoMemory(PathBuf),
}

/// The cgroup. It is removed when this is dropped; the process is back where it was by then.
#[derive(Debug)]
pub struct OwnCgroup {
    path: PathBuf,
    home: PathBuf,
}

impl OwnCgroup {
    /// Makes a cgroup for the purpose that `name` tells, and enters it.
    ///
    /// # Errors
    /// It takes root, cgroup2 where it usually is, and the controller of memory.
    pub fn enter(name: &str) -> Result<Self, CgroupError> {
        let listed = Path::new("/proc/self/cgroup");
        let text = fs::read_to_string(listed).map_err(refused("read", listed))?;
        let home = text.lines().find_map(|line| line.strip_prefix("0::"));
        let home = Path::new(MOUNTED).join(home.unwrap_or_default().trim_start_matches('/'));
        let path = Path::new(MOUNTED).join(format!("mapstorm-{name}-{}", std::process::id()));
        fs::create_dir(&path).map_err(refused("make", &path))?;
        let own = Self { path, home };
        let limit = own.file("memory.max");
        if !limit.exists() {
            return Err(CgroupError::NoMemory(limit));
        }
        own.move_to(&own.path)?;
        Ok(own)
    }

    /// Moves the process back to where it was; what it created stays charged here.
    ///
    /// # Errors
    /// The system refuses.
    pub fn leave(&self) -> Result<(), CgroupError> {
        self.move_to(&self.home)
    }

    /// All memory that is charged to it now, bytes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn charged(&self) -> Result<u64, CgroupError> {
        let current = self.file("memory.current");
        let text = fs::read_to_string(&current).map_err(refused("read", &current))?;
        Ok(text.trim().parse().unwrap_or(0))
    }

    /// Of that the kernel's own, bytes: no pages of the process that created the map. `None` before 5.18.
    ///
    /// # Errors
    /// The system refuses.
    pub fn charged_by_kernel(&self) -> Result<Option<u64>, CgroupError> {
        let stat = self.file("memory.stat");
        let text = fs::read_to_string(&stat).map_err(refused("read", &stat))?;
        let kernel = text.lines().find_map(|line| line.strip_prefix("kernel "));
        Ok(kernel.and_then(|bytes| bytes.trim().parse().ok()))
    }

    /// Limits its memory, bytes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn limit(&self, bytes: u64) -> Result<(), CgroupError> {
        let limit = self.file("memory.max");
        fs::write(&limit, bytes.to_string()).map_err(refused("write", &limit))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn move_to(&self, cgroup: &Path) -> Result<(), CgroupError> {
        let processes = cgroup.join(PROCESSES);
        let moved = fs::write(&processes, std::process::id().to_string());
        moved.map_err(refused("write", &processes))
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        // The way home fails where it was gone already; an empty cgroup left behind costs nothing.
        let _moved = self.move_to(&self.home);
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a cgroup of our own stays: remove it with rmdir");
        }
    }
}

fn refused<'a>(
    what: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> CgroupError + use<'a> {
    move |error| CgroupError::Refused {
        what,
        path: path.to_owned(),
        error,
    }
}
