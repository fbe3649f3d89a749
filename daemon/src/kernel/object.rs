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
/// Those of the bench of local storage.
static STORAGE: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/storage"));

/// Bytes of the object `probes`.
pub(super) fn probes() -> Result<&'static [u8], KernelError> {
    built("probes", PROBES)
}

/// Bytes of the object `workload`.
pub(super) fn workload() -> Result<&'static [u8], KernelError> {
    built("workload", WORKLOAD)
}

/// Bytes of the object `storage`.
pub(super) fn storage() -> Result<&'static [u8], KernelError> {
    built("storage", STORAGE)
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
/// `BPF_JMP | BPF_CALL`.
const CALL: u8 = 0x85;
/// `BPF_PSEUDO_KFUNC_CALL` in an instruction's upper half of registers, the source.
const KFUNC: u8 = 2 << 4;

/// A copy of the object `probes`, to be changed before it is loaded where aya has no call for it.
pub(super) struct Copy(Vec<u8>);

impl Copy {
    /// The object as it was built.
    pub(super) fn of_probes() -> Result<Self, KernelError> {
        Ok(Self(probes()?.to_vec()))
    }

    /// The bytes to load.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Gives the values of an array map another size: aya sets a map's number of entries only.
    pub(super) fn set_value_size(
        &mut self,
        map: &'static str,
        bytes: u32,
    ) -> Result<(), KernelError> {
        let (start, _) = place(&self.0, map).ok_or_else(missing(map))?;
        let place = start + VALUE_SIZE as usize;
        let field = self.0.get_mut(place..place + 4);
        field
            .ok_or_else(missing(map))?
            .copy_from_slice(&bytes.to_ne_bytes());
        Ok(())
    }

    /// Makes the call of helper `marker` in a program one of the kernel's function with this BTF
    /// id: aya knows no calls of kernel functions.
    pub(super) fn set_kernel_call(
        &mut self,
        program: &'static str,
        marker: i32,
        id: u32,
    ) -> Result<(), KernelError> {
        let (start, bytes) = place(&self.0, program).ok_or_else(missing(program))?;
        let code = self.0.get_mut(start..start + bytes);
        let (instructions, _) = code.ok_or_else(missing(program))?.as_chunks_mut::<8>();
        let is_marker = |instruction: &&mut [u8; 8]| {
            instruction[..4] == [CALL, 0, 0, 0] && instruction[4..] == marker.to_le_bytes()
        };
        let call = instructions.iter_mut().find(is_marker);
        let call = call.ok_or_else(missing(program))?;
        call[1] = KFUNC;
        call[4..].copy_from_slice(&id.to_le_bytes());
        Ok(())
    }
}

fn missing(name: &'static str) -> impl Fn() -> KernelError {
    move || KernelError::Missing {
        object: "probes",
        name: name.into(),
    }
}

/// Where a map's definition or a program lies in the object's bytes, and how long it is.
fn place(object: &[u8], name: &str) -> Option<(usize, usize)> {
    let elf = ElfFile::<FileHeader64<object::Endianness>>::parse(object).ok()?;
    let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name))?;
    let section = elf.section_by_index(symbol.section_index()?).ok()?;
    let (start, _) = section.file_range()?;
    let start = usize::try_from(start + symbol.address()).ok()?;
    Some((start, usize::try_from(symbol.size()).ok()?))
}
