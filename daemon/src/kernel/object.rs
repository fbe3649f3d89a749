//! The BPF objects inside this binary.

use aya::include_bytes_aligned;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, elf::FileHeader64, read::elf::ElfFile,
};

use super::error::KernelError;

/// The observing programs.
static PROBES: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/probes"));
/// The programs of drills and benches.
static WORKLOAD: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/workload"));

/// Bytes of the object `probes`.
pub(super) fn probes() -> Result<&'static [u8], KernelError> {
    built("probes", PROBES)
}

/// Bytes of the object `workload`.
pub(super) fn workload() -> Result<&'static [u8], KernelError> {
    built("workload", WORKLOAD)
}

fn built(name: &'static str, bytes: &'static [u8]) -> Result<&'static [u8], KernelError> {
    if bytes.is_empty() {
        Err(KernelError::Stub(name))
    } else {
        Ok(bytes)
    }
}

/// Offset of `value_size` in the legacy `struct bpf_map_def`, bytes.
const VALUE_SIZE: u64 = 8;

/// A copy of an object in which the values of an array map have another size: aya sets a map's
/// number of entries, but has no call for this.
pub(super) fn with_value_size(
    object: &'static [u8],
    map: &'static str,
    bytes: u32,
) -> Result<Vec<u8>, KernelError> {
    let missing = || KernelError::Missing {
        object: "probes",
        name: map.into(),
    };
    let place = definition(object, map).ok_or_else(missing)? + VALUE_SIZE as usize;
    let mut copy = object.to_vec();
    copy.get_mut(place..place + 4)
        .ok_or_else(missing)?
        .copy_from_slice(&bytes.to_ne_bytes());
    Ok(copy)
}

/// Where a map's definition lies in the object's bytes.
fn definition(object: &[u8], map: &str) -> Option<usize> {
    let elf = ElfFile::<FileHeader64<object::Endianness>>::parse(object).ok()?;
    let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(map))?;
    let section = elf.section_by_index(symbol.section_index()?).ok()?;
    let (start, _) = section.file_range()?;
    usize::try_from(start + symbol.address()).ok()
}
