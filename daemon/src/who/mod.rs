//! Who works on a map: the programs of the host, which maps they use, and which of them, or which
//! process, a sampled call came from. Pure.

mod caller;
mod names;
mod programs;
mod sample;
mod top;

pub use caller::{Caller, Known, caller};
pub use names::Names;
pub use programs::{Program, ProgramId, ProgramType, Programs};
pub use sample::{Sample, Task};
pub use top::{Callers, MAX_CALLERS, TopCaller};

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::{Caller, Callers, caller::tests::sample};
    use crate::identity::MapId;

    /// Five samples of a map, two of process 1 and one each of 2, 3 and 4.
    pub(crate) fn callers(map: MapId, window: u64) -> Arc<Callers> {
        let mut callers = Callers::default();
        let mut sample = sample(&[]);
        sample.map = map;
        for pid in [1, 2, 1, 3, 4] {
            let process = Caller::Process {
                pid,
                comm: "a".into(),
                cgroup: None,
            };
            callers.note(process, &sample, window);
        }
        Arc::new(callers)
    }
}
