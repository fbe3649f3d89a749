//! Drives lookups in task local storage: maps of our own, up to a thousand, that a program goes round in.

use std::{
    io,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
};

use aya::{
    Ebpf, EbpfLoader,
    maps::{Map, MapData},
    programs::RawTracePoint,
};
use mapstorm_abi::workload::{Gets, Got, MAX_STORAGES};

use super::{
    error::{KernelError, errno},
    gets::{self, GOT},
    object, sys,
};
use crate::identity::MapId;

/// Name of the object, in errors.
const OBJECT: &str = "storage";
/// The map that holds the others.
const STORAGES: &str = "STORAGES";
/// The program that looks up.
const PROGRAM: &str = "get_storage";
/// Name of every map of local storage.
pub const MAP_NAME: &str = "bench_storage";

/// The maps and their program. They live as long as it does.
pub struct Storage {
    ebpf: Ebpf,
    maps: Vec<MapData>,
}

impl Storage {
    /// Makes `maps` maps of local storage, [`MAX_STORAGES`] at most, and loads the program; nothing is attached.
    ///
    /// # Errors
    /// The kernel refuses them: see [`KernelError::is_unknown_storage`].
    pub fn load(maps: usize, possible_cpus: usize) -> Result<Self, KernelError> {
        debug_assert!((1..=MAX_STORAGES).contains(&maps), "{maps}");
        let mut loader = EbpfLoader::new();
        loader.map_max_entries(GOT, possible_cpus as u32);
        let mut ebpf = loader.load(object::storage()?).map_err(|source| {
            let remedy = match errno(&source) {
                Some(libc::EPERM) => "run it with CAP_BPF and CAP_PERFMON, or as root",
                Some(libc::EINVAL) => "task local storage takes Linux 5.11",
                _ => "report the kernel's release and this text",
            };
            KernelError::Load {
                object: OBJECT,
                source: Box::new(source),
                remedy,
            }
        })?;
        let outer = match ebpf.take_map(STORAGES) {
            Some(Map::ArrayOfMaps(outer)) => outer,
            _ => return Err(missing(STORAGES)),
        };
        let types = sys::load_types().map_err(failed("loading the types of local storage"))?;
        let mut inner = Vec::with_capacity(maps);
        for index in 0..maps as u32 {
            let map = create(&types).map_err(failed("making a map of local storage"))?;
            let descriptor = map.as_raw_fd() as u64;
            sys::update_elem(outer.fd().as_fd(), &index, &[descriptor], 0).map_err(failed(
                "putting a map of local storage into the array of maps",
            ))?;
            inner.push(MapData::from_fd(map).map_err(map_error)?);
        }
        program(&mut ebpf)?.load().map_err(program_error)?;
        Ok(Self { ebpf, maps: inner })
    }

    /// Ids of the maps, in the order they are looked up in.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn ids(&self) -> Result<Vec<MapId>, KernelError> {
        let ids = self
            .maps
            .iter()
            .map(|map| Ok(map.info().map_err(map_error)?.id()));
        ids.collect()
    }

    /// Looks up once as the arguments say, on the CPU and for the task of the calling thread.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn get(&self, gets: Gets) -> Result<(), KernelError> {
        gets::get(&self.ebpf, PROGRAM, gets)
    }

    /// What was looked up on one CPU.
    ///
    /// # Errors
    /// The counts cannot be read.
    pub fn got(&self, cpu: u32) -> Result<Got, KernelError> {
        gets::got(&self.ebpf, cpu)
    }
}

impl KernelError {
    /// Is it that there was no memory for a map?
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Load { source, .. } if errno(source) == Some(libc::ENOMEM))
    }

    /// Is it that the kernel has no task local storage, or none for programs like ours?
    pub fn is_unknown_storage(&self) -> bool {
        let refused = match self {
            Self::Load {
                object: OBJECT,
                source,
                ..
            } => errno(source),
            Self::Program {
                program: PROGRAM,
                source,
            } => errno(source),
            _ => None,
        };
        refused == Some(libc::EINVAL)
    }
}

fn create(types: &OwnedFd) -> io::Result<OwnedFd> {
    let mut name = [0; 16];
    name[..MAP_NAME.len()].copy_from_slice(MAP_NAME.as_bytes());
    sys::create_task_storage(types.as_fd(), &name)
}

fn program(ebpf: &mut Ebpf) -> Result<&mut RawTracePoint, KernelError> {
    let program = ebpf.program_mut(PROGRAM).ok_or_else(|| missing(PROGRAM))?;
    program.try_into().map_err(program_error)
}

fn missing(name: &str) -> KernelError {
    KernelError::Missing {
        object: OBJECT,
        name: name.into(),
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> KernelError {
    move |source| KernelError::Io {
        what: what.into(),
        source,
    }
}

fn map_error(source: aya::maps::MapError) -> KernelError {
    KernelError::Map {
        map: MAP_NAME,
        source: Box::new(source),
    }
}

fn program_error(source: aya::programs::ProgramError) -> KernelError {
    KernelError::Program {
        program: PROGRAM,
        source: Box::new(source),
    }
}
