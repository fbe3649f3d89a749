//! The observing programs through their states: loaded, attached, armed. Dropping an armed observer
//! disarms and detaches everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::{AsFd, BorrowedFd},
    time::Instant,
};

use aya::{Btf, Ebpf, EbpfLoader, maps::Map, programs::Program};
use aya_log::EbpfLogger;
use mapstorm_abi::{Op, globals, inventory::COUNT_MARKER, slot::slot_mask};

use super::{
    attach::{self, Context},
    error::{KernelError, errno},
    harvest::{Harvest, Harvester},
    inventory::Inventory,
    object,
    programs::ProgramList,
    refusal::{Stage, explain},
    samples::Samples,
    sys,
    tables::{Geometry, Tables},
};
use crate::{
    identity::MapId,
    plan::Plan,
    probes::{Mechanism, ProbeStatus, Refusal},
    who::{ProgramId, Sample},
};

/// Name of the object, in errors.
const OBJECT: &str = "probes";
/// Name of the table that the probes write.
const TABLE: &str = "CPUS";

/// What the object needs to know of the kernel before it is loaded.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// How the tables are cut.
    pub geometry: Geometry,
    /// Values of the offset globals; all zero when there is no BTF and so no typed probe.
    pub offsets: Vec<(&'static str, u32)>,
    /// BTF id of the kernel's function that counts a map's elements; `None` before 6.6.
    pub sum_elem_count: Option<u32>,
    /// Can a program run inside itself on one CPU (before 5.12)?
    pub self_nesting: bool,
    /// Does the kernel count the runs of kprobe programs that it skips (6.7 and newer)?
    pub counts_kprobe_misses: bool,
    /// Does the process hold the capabilities that loading takes?
    pub privileged: bool,
}

/// Least time between two samples of one kind on one CPU: together no more than some hundred a
/// second, however many CPUs are possible.
fn sample_every_ns(cpus: usize) -> u32 {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    cpus.saturating_mul(5_000_000).max(100_000_000)
}

/// The object's maps exist; no program is in the kernel yet.
pub struct Loaded {
    ebpf: Ebpf,
    tables: Tables,
    samples: Samples,
    self_nesting: bool,
    counts_kprobe_misses: bool,
    privileged: bool,
}

impl Loaded {
    /// Creates the maps and sets the globals.
    pub fn load(parameters: &Parameters) -> Result<Self, KernelError> {
        let Parameters {
            geometry,
            self_nesting,
            counts_kprobe_misses,
            privileged,
            ..
        } = *parameters;
        let slot_mask = slot_mask(geometry.slots) as u32;
        let last_timings = geometry.timings_at(geometry.timings - 1) as u32;
        let sample_every_ns = sample_every_ns(geometry.cpus);
        let possible_cpus = geometry.cpus as u32;
        let mut loader = EbpfLoader::new();
        loader
            .map_max_entries(TABLE, geometry.cpus as u32)
            .override_global(globals::SLOT_MASK, &slot_mask, true)
            .override_global(globals::LAST_TIMINGS, &last_timings, true)
            .override_global(globals::SAMPLE_EVERY_NS, &sample_every_ns, true)
            .override_global(globals::POSSIBLE_CPUS, &possible_cpus, true);
        for (name, offset) in &parameters.offsets {
            loader.override_global(name, offset, true);
        }
        let value_bytes = geometry.value_bytes() as u32;
        let mut object = object::Copy::of_probes()?;
        object.set_value_size(TABLE, value_bytes)?;
        if let Some(function) = parameters.sum_elem_count {
            object.set_kernel_call("inventory_counted", COUNT_MARKER, function)?;
        }
        let mut ebpf = loader.load(object.bytes()).map_err(|source| {
            let remedy = match errno(&source) {
                Some(libc::EPERM) => {
                    "give the process CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN; before 5.11 also \
                     a raised RLIMIT_MEMLOCK)"
                }
                Some(libc::ENOMEM) => "raise the memory limit, or lower --probe-memory",
                _ => "report the kernel's release and this text",
            };
            KernelError::Load {
                object: OBJECT,
                source: Box::new(source),
                remedy,
            }
        })?;
        let tables = Self::map_tables(&ebpf, geometry)?;
        let samples = Samples::map(&mut ebpf)?;
        Ok(Self {
            ebpf,
            tables,
            samples,
            self_nesting,
            counts_kprobe_misses,
            privileged,
        })
    }

    fn map_tables(ebpf: &Ebpf, geometry: Geometry) -> Result<Tables, KernelError> {
        let Some(Map::Array(table)) = ebpf.map(TABLE) else {
            return Err(KernelError::Missing {
                object: OBJECT,
                name: TABLE.into(),
            });
        };
        Tables::map(geometry, table.fd().as_fd()).map_err(|source| KernelError::Io {
            what: "mapping the probes' table".into(),
            source,
        })
    }

    /// Tries the plan. `btf` is the running kernel's; without it the plan refuses all typed probes.
    pub fn attach(mut self, plan: &Plan, btf: Option<&Btf>) -> Attached {
        let Self {
            self_nesting,
            privileged,
            ..
        } = self;
        let context = Context {
            btf,
            self_nesting,
            privileged,
        };
        let mut statuses = attach::attach(&mut self.ebpf, plan, context);
        // One form of it is loaded.
        let forms = ["inventory_counted", "inventory_peeked", "inventory"];
        let mut forms = forms.into_iter();
        let inventory = forms.find_map(|form| self.link(&mut statuses, form, Inventory::link));
        // One tells all that the other does.
        let users = self.link(&mut statuses, "users", ProgramList::link);
        let programs = self.link(&mut statuses, "programs", ProgramList::link);
        let programs = users.or(programs);
        Attached {
            ebpf: self.ebpf,
            tables: self.tables,
            samples: self.samples,
            statuses,
            inventory,
            programs,
            counts_kprobe_misses: self.counts_kprobe_misses,
        }
    }

    /// Links the iterator of this name, if it was loaded; a refusal goes into its status.
    fn link<T>(
        &mut self,
        statuses: &mut [ProbeStatus],
        probe: &str,
        link: fn(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Option<T> {
        let mut iterators = statuses
            .iter_mut()
            .filter(|s| s.mechanism == Mechanism::Iter);
        let status = iterators.find(|s| s.probe == probe && s.attached())?;
        let Some(Program::Iter(program)) = self.ebpf.program(status.probe) else {
            return None;
        };
        match program.fd().map(|fd| link(fd.as_fd())) {
            Ok(Ok(linked)) => Some(linked),
            Ok(Err(error)) => {
                status.refusal = Some(Refusal {
                    reason: "other",
                    detail: format!("link iter `{}`: {error}", status.hook),
                    remedy: "report the kernel's release and this text".into(),
                });
                None
            }
            Err(error) => {
                let (mechanism, hook) = (status.mechanism, status.hook.clone());
                status.refusal = Some(explain(
                    Stage::Attach,
                    mechanism,
                    &hook,
                    self.privileged,
                    &error,
                ));
                None
            }
        }
    }
}

/// Programs are on their hooks, but look away until they are armed.
pub struct Attached {
    ebpf: Ebpf,
    tables: Tables,
    samples: Samples,
    statuses: Vec<ProbeStatus>,
    inventory: Option<Inventory>,
    programs: Option<ProgramList>,
    counts_kprobe_misses: bool,
}

impl Attached {
    /// What became of every probe.
    pub fn statuses(&self) -> &[ProbeStatus] {
        &self.statuses
    }

    /// Is anything to be seen at all?
    pub fn observable(&self) -> bool {
        self.statuses.iter().any(ProbeStatus::attached)
    }

    /// Throws the one switch: from here on everything is counted.
    pub fn arm(mut self) -> Armed {
        let log = match EbpfLogger::init(&mut self.ebpf) {
            Ok(log) => Some(log),
            Err(error) => {
                tracing::warn!(%error, "remarks of the probes cannot be read");
                None
            }
        };
        self.tables.arm(true);
        Armed {
            ebpf: self.ebpf,
            harvester: Harvester::new(self.tables),
            samples: self.samples,
            statuses: self.statuses,
            inventory: self.inventory,
            programs: self.programs,
            counts_kprobe_misses: self.counts_kprobe_misses,
            log,
        }
    }
}

/// Everything that could be attached counts.
pub struct Armed {
    ebpf: Ebpf,
    harvester: Harvester,
    samples: Samples,
    statuses: Vec<ProbeStatus>,
    inventory: Option<Inventory>,
    programs: Option<ProgramList>,
    counts_kprobe_misses: bool,
    log: Option<EbpfLogger<&'static dyn log::Log>>,
}

impl Armed {
    /// What became of every probe.
    pub fn statuses(&self) -> &[ProbeStatus] {
        &self.statuses
    }

    /// The tables the probes write.
    pub fn tables(&self) -> &Tables {
        &self.harvester.tables
    }

    /// One sample of the tables as of `now`. What maps left there that are `gone` from the host is
    /// freed as soon as no program can reach it.
    pub fn harvest(&mut self, gone: &BTreeSet<MapId>, now: Instant) -> Harvest {
        self.harvester.harvest(gone, now)
    }

    /// Ids of our programs that are in the kernel.
    pub fn own_programs(&self) -> BTreeSet<ProgramId> {
        let infos = self.ebpf.programs().map(|(_, program)| program.info());
        infos.flatten().map(|info| info.id()).collect()
    }

    /// Takes the samples of callers that came since.
    pub fn samples(&mut self) -> Vec<Sample> {
        self.samples.drain()
    }

    /// Says from which duration on a call is worth a sample, nanoseconds, by map and operation.
    pub fn set_slow(&self, slow: &BTreeMap<(MapId, Op), u64>) {
        self.harvester.set_slow(slow);
    }

    /// The list of all maps, where the kernel lets us have it.
    pub fn inventory(&self) -> Option<&Inventory> {
        self.inventory.as_ref()
    }

    /// The list of all programs, where the kernel lets us have it.
    pub fn programs(&mut self) -> Option<&mut ProgramList> {
        self.programs.as_mut()
    }

    /// Runs the kernel skipped, by probe; absent where it does not count them (before 5.12, of
    /// kprobes before 6.7).
    pub fn misses(&self) -> BTreeMap<&'static str, u64> {
        let attached = self.statuses.iter().filter(|s| s.attached());
        attached
            .filter_map(|status| Some((status.probe, self.misses_of(status.probe)?)))
            .collect()
    }

    fn misses_of(&self, probe: &str) -> Option<u64> {
        let fd = match self.ebpf.program(probe)? {
            Program::FEntry(program) => program.fd(),
            Program::FExit(program) => program.fd(),
            Program::KProbe(program) if self.counts_kprobe_misses => program.fd(),
            Program::RawTracePoint(program) => program.fd(),
            _ => return None,
        };
        sys::recursion_misses(fd.ok()?.as_fd()).ok()?
    }

    /// Hands what the probes remarked to the log.
    pub fn flush_remarks(&mut self) {
        if let Some(log) = &mut self.log {
            log.flush();
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.harvester.tables.arm(false);
    }
}
