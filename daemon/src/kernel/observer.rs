//! The observing programs through their states: loaded, attached, armed. Dropping an armed observer
//! disarms and detaches everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::AsFd,
};

use aya::{Btf, Ebpf, EbpfLoader, maps::Map, programs::Program};
use aya_log::EbpfLogger;
use mapstorm_abi::{globals, slot::slot_mask};

use super::{
    attach::{self, Context},
    error::{KernelError, errno},
    inventory::Inventory,
    object,
    refusal::{Stage, explain},
    sys,
    tables::{Geometry, Tables},
};
use crate::{
    identity::MapId,
    plan::Plan,
    probes::{Mechanism, ProbeStatus, Refusal},
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
    /// Can a program run inside itself on one CPU (before 5.12)?
    pub self_nesting: bool,
    /// Does the process hold the capabilities that loading takes?
    pub privileged: bool,
}

/// The object's maps exist; no program is in the kernel yet.
pub struct Loaded {
    ebpf: Ebpf,
    tables: Tables,
    self_nesting: bool,
    privileged: bool,
}

impl Loaded {
    /// Creates the maps and sets the globals.
    pub fn load(parameters: &Parameters) -> Result<Self, KernelError> {
        let Parameters {
            geometry,
            self_nesting,
            privileged,
            ..
        } = *parameters;
        let slot_mask = slot_mask(geometry.slots) as u32;
        let last_timings = geometry.timings_at(geometry.timings - 1) as u32;
        let mut loader = EbpfLoader::new();
        loader
            .map_max_entries(TABLE, geometry.cpus as u32)
            .override_global(globals::SLOT_MASK, &slot_mask, true)
            .override_global(globals::LAST_TIMINGS, &last_timings, true);
        for (name, offset) in &parameters.offsets {
            loader.override_global(name, offset, true);
        }
        let value_bytes = geometry.value_bytes() as u32;
        let object = object::with_value_size(object::probes()?, TABLE, value_bytes)?;
        let ebpf = loader.load(&object).map_err(|source| {
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
        Ok(Self {
            ebpf,
            tables,
            self_nesting,
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
        let inventory = self.link_inventory(&mut statuses);
        Attached {
            ebpf: self.ebpf,
            tables: self.tables,
            statuses,
            inventory,
        }
    }

    /// Links the iterator, if it was loaded; a refusal goes into its status.
    fn link_inventory(&mut self, statuses: &mut [ProbeStatus]) -> Option<Inventory> {
        let status = statuses
            .iter_mut()
            .find(|s| s.mechanism == Mechanism::Iter && s.attached())?;
        let Some(Program::Iter(program)) = self.ebpf.program(status.probe) else {
            return None;
        };
        match program.fd().map(|fd| Inventory::link(fd.as_fd())) {
            Ok(Ok(inventory)) => Some(inventory),
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
    statuses: Vec<ProbeStatus>,
    inventory: Option<Inventory>,
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
            tables: self.tables,
            statuses: self.statuses,
            inventory: self.inventory,
            log,
        }
    }
}

/// Everything that could be attached counts.
pub struct Armed {
    ebpf: Ebpf,
    tables: Tables,
    statuses: Vec<ProbeStatus>,
    inventory: Option<Inventory>,
    log: Option<EbpfLogger<&'static dyn log::Log>>,
}

impl Armed {
    /// What became of every probe.
    pub fn statuses(&self) -> &[ProbeStatus] {
        &self.statuses
    }

    /// The tables the probes write.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Frees what maps that are gone left in the tables.
    pub fn bury(&mut self, gone: &BTreeSet<MapId>) {
        self.tables.bury(gone);
    }

    /// The list of all maps, where the kernel lets us have it.
    pub fn inventory(&self) -> Option<&Inventory> {
        self.inventory.as_ref()
    }

    /// Runs the kernel skipped, by probe; absent where it does not count them (before 5.12).
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
        self.tables.arm(false);
    }
}
