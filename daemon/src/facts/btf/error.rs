//! What can be wrong with type information, or missing from it.

use std::{io, path::PathBuf};

/// Why the kernel's type information cannot be had or does not answer.
#[derive(Debug, thiserror::Error)]
pub enum BtfError {
    /// The file cannot be read.
    #[error(
        "cannot read the kernel's type information {}: {error}; \
         the kernel must be built with CONFIG_DEBUG_INFO_BTF=y and /sys be mounted", path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file was read and is malformed.
    #[error("{}: {fault}", path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: Box<Self>,
    },
    /// More bytes than any kernel has.
    #[error("BTF is larger than {limit} bytes: not the type information of a kernel")]
    TooLarge {
        /// Bytes that would be accepted.
        limit: u64,
    },
    /// The first two bytes are not the magic number.
    #[error("not BTF: it starts with {found:#06x} instead of 0xeb9f")]
    NotBtf {
        /// The first two bytes, little-endian.
        found: u16,
    },
    /// The magic number stands in the other byte order.
    #[error("BTF is big-endian, this program reads little-endian only: it is of another machine")]
    BigEndian,
    /// A version this reader does not know.
    #[error("BTF version {found}, this program knows version 1: a newer mapstorm may know it")]
    Version {
        /// The version found.
        found: u8,
    },
    /// The header claims to be shorter than its fields.
    #[error("BTF header of {found} bytes, at least 24 are needed: the file is corrupt")]
    HeaderLen {
        /// Bytes the header claims.
        found: usize,
    },
    /// The bytes end before what was announced.
    #[error("BTF {what} reaches beyond the end at byte {end}: the file is cut off or corrupt")]
    Truncated {
        /// The part that is not complete.
        what: String,
        /// Where the bytes end.
        end: usize,
    },
    /// The string section lacks its leading or trailing zero byte.
    #[error("BTF string section does not start and end with a zero byte: the file is corrupt")]
    Strings,
    /// A type's name lies outside the string section.
    #[error("BTF type {id} has its name outside the string section: the file is corrupt")]
    NameOutside {
        /// The type.
        id: u32,
    },
    /// A kind of type this reader does not know, and so cannot step over.
    #[error("BTF type {id} is of unknown kind {kind}: a newer mapstorm may know it")]
    UnknownKind {
        /// The type.
        id: u32,
        /// The kind's number; this reader knows 1 to 19.
        kind: u32,
    },
    /// No complete struct or union has the name.
    #[error("this kernel's BTF has no struct {name}")]
    NoStruct {
        /// The struct asked for.
        name: String,
    },
    /// A struct has no such member, not even in an anonymous part.
    #[error("this kernel's BTF has no member {step} in struct {name} (asked for {name}.{path})")]
    NoMember {
        /// The struct asked for.
        name: String,
        /// The path asked for.
        path: String,
        /// The part of the path that was not found.
        step: String,
    },
    /// The member has no byte offset.
    #[error("{name}.{path} is a bitfield in this kernel's BTF: it has no offset in bytes")]
    Bitfield {
        /// The struct asked for.
        name: String,
        /// The path asked for.
        path: String,
    },
    /// The path goes on behind something that is no struct.
    #[error("{step} is not a struct in this kernel's BTF (asked for {name}.{path})")]
    NotStruct {
        /// The struct asked for.
        name: String,
        /// The path asked for.
        path: String,
        /// The part of the path that is no struct.
        step: String,
    },
    /// The member's offset is larger than its struct.
    #[error("{name}.{path} lies outside its struct of {size} bytes: this kernel's BTF is corrupt")]
    OutOfStruct {
        /// The struct asked for.
        name: String,
        /// The path asked for.
        path: String,
        /// Bytes of the struct.
        size: u32,
    },
}
