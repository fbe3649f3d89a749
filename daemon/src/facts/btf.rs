//! The running kernel's type information (BTF): where a member lies, which functions exist.
//!
//! A small reader of our own: it answers the few questions the daemon has and nothing else. It
//! trusts no byte of its input: every read is checked, every walk is bounded by the input's size.

mod error;
mod lookup;
mod raw;
#[cfg(test)]
pub(super) mod tests;

use std::{fs::File, io::Read as _, ops::Range, path::Path};

pub use error::BtfError;
use raw::{Header, Kind, Type};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

/// More than any kernel has (5.5 MB on 6.18), in bytes; a larger file is not read.
const MAX_BYTES: u64 = 64 << 20;

/// Parsed type information of one kernel: the bytes and an index over them.
#[derive(Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    strings: Range<usize>,
    /// Where in `bytes` each type stands; type id 1 comes first, id 0 is `void` and has no bytes.
    types: Vec<u32>,
    /// Ids of the structs and unions with a name, in file order; forward declarations are neither.
    composites: Vec<u32>,
    /// Ids of the functions, in file order.
    functions: Vec<u32>,
    /// Ids of the typedefs, in file order.
    typedefs: Vec<u32>,
}

impl Btf {
    /// Reads the file at `path`, normally `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// [`BtfError::Read`] when the file cannot be read, [`BtfError::In`] when it cannot be parsed.
    pub fn read(path: &Path) -> Result<Self, BtfError> {
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| BtfError::Read {
                path: path.into(),
                error,
            })?;
        Self::parse(bytes).map_err(|fault| BtfError::In {
            path: path.into(),
            fault: Box::new(fault),
        })
    }

    /// Indexes `bytes`, one pass over the types.
    ///
    /// # Errors
    /// What is wrong with the bytes, and where: no BTF, foreign byte order, unknown version or
    /// kind, an end too early, a name outside the strings.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Result<Self, BtfError> {
        let bytes = bytes.into();
        if bytes.len() as u64 > MAX_BYTES {
            return Err(BtfError::TooLarge { limit: MAX_BYTES });
        }
        let header = Header::parse(&bytes)?;
        let mut btf = Self {
            strings: header.strings,
            types: Vec::with_capacity(header.types.len() / 24),
            composites: Vec::new(),
            functions: Vec::new(),
            typedefs: Vec::new(),
            bytes,
        };
        btf.index(header.types)?;
        Ok(btf)
    }

    fn index(&mut self, section: Range<usize>) -> Result<(), BtfError> {
        let mut at = section.start;
        let mut id = 0;
        while at < section.end {
            id += 1;
            let ty = Type::at(&self.bytes[..section.end], at, id)?;
            if ty.name as usize >= self.strings.len() {
                return Err(BtfError::NameOutside { id });
            }
            match ty.kind {
                Kind::Struct | Kind::Union if ty.name != 0 => self.composites.push(id),
                Kind::Func => self.functions.push(id),
                Kind::Typedef => self.typedefs.push(id),
                _ => {}
            }
            self.types.push(at as u32);
            at += ty.len();
        }
        Ok(())
    }

    /// Number of types, `void` not counted.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Does it describe no type at all?
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Type `id`; `None` for `void` and for an id that is not there.
    fn get(&self, id: u32) -> Option<Type<'_>> {
        let at = *self.types.get((id as usize).checked_sub(1)?)?;
        Type::at(&self.bytes, at as usize, id).ok()
    }

    /// Does the string at `offset` read `name`?
    fn named(&self, offset: u32, name: &str) -> bool {
        self.bytes[self.strings.clone()]
            .get(offset as usize..)
            .and_then(|tail| tail.strip_prefix(name.as_bytes()))
            .is_some_and(|rest| rest.first() == Some(&0))
    }

    /// The first type of those `ids` that is called `name`.
    fn find(&self, ids: &[u32], name: &str) -> Option<Type<'_>> {
        ids.iter()
            .filter_map(|&id| self.get(id))
            .find(|ty| self.named(ty.name, name))
    }

    /// Is there a function called `name`? (That it can be traced is another question.)
    pub fn has_function(&self, name: &str) -> bool {
        self.find(&self.functions, name).is_some()
    }

    /// Number of parameters of the function `name`; `None` when there is no such function.
    pub fn function_params(&self, name: &str) -> Option<usize> {
        let function = self.find(&self.functions, name)?;
        let prototype = self.get(function.size_or_type)?;
        (prototype.kind == Kind::FuncProto).then_some(prototype.vlen)
    }

    /// Id of the function `name`; `None` when there is no such function.
    pub fn function_id(&self, name: &str) -> Option<u32> {
        Some(self.find(&self.functions, name)?.id)
    }

    /// Is there a tracepoint called `name`? The kernel has a type for each.
    pub fn has_tracepoint(&self, name: &str) -> bool {
        let name = format!("btf_trace_{name}");
        self.find(&self.typedefs, &name).is_some()
    }

    /// Size in bytes of the struct or union `name`. Of several with one name the first counts.
    ///
    /// # Errors
    /// [`BtfError::NoStruct`] when there is none, or only a forward declaration.
    pub fn struct_size(&self, name: &str) -> Result<u32, BtfError> {
        self.composite(name).map(|ty| ty.size_or_type)
    }

    fn composite(&self, name: &str) -> Result<Type<'_>, BtfError> {
        self.find(&self.composites, name)
            .ok_or_else(|| BtfError::NoStruct { name: name.into() })
    }
}

/// Only its size is worth writing.
impl Serialize for Btf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut summary = serializer.serialize_struct("Btf", 1)?;
        summary.serialize_field("types", &self.len())?;
        summary.end()
    }
}
