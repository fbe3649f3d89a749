//! A cgroup of its own, whose limit leaves a map that allocates its elements as they come no memory.
//!
//! From 5.11 on elements are charged to the cgroup that created the map, wherever they are inserted, and
//! nobody can wait for memory to be freed under a bucket's lock. Only the map must be in the cgroup: a
//! process in it would be killed by the limit that the map is to meet.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::DrillError;

/// What the map may grow by, bytes.
const ROOM: u64 = 1 << 20;
/// Where cgroup2 is mounted.
const MOUNTED: &str = "/sys/fs/cgroup";
/// Where a cgroup lists its processes, and takes them.
const PROCESSES: &str = "cgroup.procs";

/// The cgroup. It is removed when this is dropped; the process is back where it was by then.
#[derive(Debug)]
pub(super) struct Starved {
    path: PathBuf,
    home: PathBuf,
}

impl Starved {
    /// Makes the cgroup and enters it.
    pub(super) fn enter() -> Result<Self, DrillError> {
        let listed = fs::read_to_string("/proc/self/cgroup");
        let listed =
            listed.map_err(|error| failed("read", Path::new("/proc/self/cgroup"), error))?;
        let home = listed.lines().find_map(|line| line.strip_prefix("0::"));
        let home = Path::new(MOUNTED).join(home.unwrap_or_default().trim_start_matches('/'));
        let path = Path::new(MOUNTED).join(format!("mapstorm-drill-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| failed("make", &path, error))?;
        let starved = Self { path, home };
        let limit = starved.path.join("memory.max");
        if !limit.exists() {
            return Err(DrillError::NoLimit(limit));
        }
        starved.move_to(&starved.path)?;
        Ok(starved)
    }

    /// Leaves the cgroup and sets the limit, just above what is charged to it now.
    pub(super) fn leave(&self) -> Result<(), DrillError> {
        self.move_to(&self.home)?;
        let current = self.path.join("memory.current");
        let text = fs::read_to_string(&current).map_err(|error| failed("read", &current, error))?;
        let charged: u64 = text.trim().parse().unwrap_or(0);
        let limit = self.path.join("memory.max");
        let bytes = (charged + ROOM).to_string();
        fs::write(&limit, bytes).map_err(|error| failed("write", &limit, error))
    }

    fn move_to(&self, cgroup: &Path) -> Result<(), DrillError> {
        let processes = cgroup.join(PROCESSES);
        let moved = fs::write(&processes, std::process::id().to_string());
        moved.map_err(|error| failed("write", &processes, error))
    }
}

impl Drop for Starved {
    fn drop(&mut self) {
        // The way home fails where it was gone already; an empty cgroup left behind costs nothing.
        let _moved = self.move_to(&self.home);
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the drill's cgroup stays: remove it with rmdir");
        }
    }
}

fn failed(what: &'static str, path: &Path, error: io::Error) -> DrillError {
    DrillError::Cgroup {
        what,
        path: path.to_owned(),
        error,
    }
}
