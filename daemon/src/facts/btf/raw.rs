//! The bytes of BTF: header and types, as `include/uapi/linux/btf.h` lays them out.

use std::ops::Range;

use super::BtfError;

const MAGIC: u16 = 0xeb9f;
const VERSION: u8 = 1;
/// The fields of the header that are read here; a newer header is longer, and says so itself.
const HEADER_LEN: usize = 24;
/// `struct btf_type`: name, info, size or type.
const TYPE_LEN: usize = 12;

/// Where the two sections lie in the file.
pub(super) struct Header {
    pub(super) types: Range<usize>,
    pub(super) strings: Range<usize>,
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, BtfError> {
        let short = || BtfError::Truncated {
            what: "header".into(),
            end: bytes.len(),
        };
        let magic = bytes.first_chunk().ok_or_else(short)?;
        match u16::from_le_bytes(*magic) {
            MAGIC => {}
            other if other.swap_bytes() == MAGIC => return Err(BtfError::BigEndian),
            found => return Err(BtfError::NotBtf { found }),
        }
        let version = *bytes.get(2).ok_or_else(short)?;
        if version != VERSION {
            return Err(BtfError::Version { found: version });
        }
        let field = |at| {
            word(bytes, at)
                .map(|value| value as usize)
                .ok_or_else(short)
        };
        let header_len = field(4)?;
        if header_len < HEADER_LEN {
            return Err(BtfError::HeaderLen { found: header_len });
        }
        let section = |at, what: &str| {
            let start = header_len.checked_add(field(at)?);
            let end = start.and_then(|start| Some(start..start.checked_add(field(at + 4).ok()?)?));
            end.filter(|range| range.end <= bytes.len())
                .ok_or_else(|| BtfError::Truncated {
                    what: what.into(),
                    end: bytes.len(),
                })
        };
        let types = section(8, "type section")?;
        let strings = section(16, "string section")?;
        match (
            bytes[strings.clone()].first(),
            bytes[strings.clone()].last(),
        ) {
            (Some(0), Some(0)) => Ok(Self { types, strings }),
            _ => Err(BtfError::Strings),
        }
    }
}

/// What a type is; numbers of `enum` in `uapi/linux/btf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Fwd,
    Typedef,
    Volatile,
    Const,
    Restrict,
    Func,
    FuncProto,
    Var,
    DataSec,
    Float,
    DeclTag,
    TypeTag,
    Enum64,
}

impl Kind {
    /// All kinds; number 1 comes first, 0 is `void` and never stands in a file.
    const ALL: [Self; 19] = [
        Self::Int,
        Self::Ptr,
        Self::Array,
        Self::Struct,
        Self::Union,
        Self::Enum,
        Self::Fwd,
        Self::Typedef,
        Self::Volatile,
        Self::Const,
        Self::Restrict,
        Self::Func,
        Self::FuncProto,
        Self::Var,
        Self::DataSec,
        Self::Float,
        Self::DeclTag,
        Self::TypeTag,
        Self::Enum64,
    ];

    fn of(number: u32) -> Option<Self> {
        Self::ALL.get((number as usize).checked_sub(1)?).copied()
    }

    /// Bytes that follow the type itself, given its count of members, values or parameters.
    fn tail(self, vlen: usize) -> usize {
        match self {
            Self::Int | Self::Var | Self::DeclTag => 4,
            Self::Array => 12,
            Self::Struct | Self::Union | Self::DataSec | Self::Enum64 => 12 * vlen,
            Self::Enum | Self::FuncProto => 8 * vlen,
            Self::Ptr
            | Self::Fwd
            | Self::Typedef
            | Self::Volatile
            | Self::Const
            | Self::Restrict
            | Self::Func
            | Self::Float
            | Self::TypeTag => 0,
        }
    }
}

/// One type, with the bytes that belong to it.
pub(super) struct Type<'a> {
    pub(super) id: u32,
    /// Offset of the name in the strings, 0 when it has none.
    pub(super) name: u32,
    pub(super) kind: Kind,
    /// Of a struct or union: its members' offsets share their word with a bitfield's size.
    flag: bool,
    /// Number of members, values or parameters.
    pub(super) vlen: usize,
    /// A size in bytes or the id of another type, by kind.
    pub(super) size_or_type: u32,
    tail: &'a [u8],
}

impl<'a> Type<'a> {
    /// The type that starts at byte `at`; `id` is for the error.
    pub(super) fn at(bytes: &'a [u8], at: usize, id: u32) -> Result<Self, BtfError> {
        let short = || BtfError::Truncated {
            what: format!("type {id}"),
            end: bytes.len(),
        };
        let body = bytes.get(at..).ok_or_else(short)?;
        let field = |at| word(body, at).ok_or_else(short);
        let info = field(4)?;
        // The bits between count and kind, and above the kind, are zero up to 7.3. They are read
        // as the upper bits of both: whatever they come to mean ends in an error, not in a guess.
        let (vlen, number) = ((info & 0x00ff_ffff) as usize, info >> 24 & 0x7f);
        let kind = Kind::of(number).ok_or(BtfError::UnknownKind { id, kind: number })?;
        let end = TYPE_LEN + kind.tail(vlen);
        Ok(Self {
            id,
            name: field(0)?,
            kind,
            flag: info >> 31 == 1,
            vlen,
            size_or_type: field(8)?,
            tail: body.get(TYPE_LEN..end).ok_or_else(short)?,
        })
    }

    /// Bytes that the type takes in the file.
    pub(super) fn len(&self) -> usize {
        TYPE_LEN + self.tail.len()
    }

    pub(super) fn is_composite(&self) -> bool {
        matches!(self.kind, Kind::Struct | Kind::Union)
    }

    /// Is this a mere name or qualifier of the type it refers to?
    pub(super) fn is_alias(&self) -> bool {
        matches!(
            self.kind,
            Kind::Typedef | Kind::Volatile | Kind::Const | Kind::Restrict | Kind::TypeTag
        )
    }

    /// Bits an integer really has, when that is fewer than its size: how bitfields were encoded
    /// before the kind flag.
    pub(super) fn is_narrowed_int(&self) -> bool {
        let bits = word(self.tail, 0).unwrap_or(0) & 0xff;
        self.kind == Kind::Int && u64::from(bits) != u64::from(self.size_or_type) * 8
    }

    /// Elements of an array; `None` for another kind.
    pub(super) fn array_len(&self) -> Option<u32> {
        // Type of the elements, type of the index, number.
        word(self.tail, 8).filter(|_| self.kind == Kind::Array)
    }

    /// Members of a struct or union; nothing for another kind.
    pub(super) fn members(&self) -> impl Iterator<Item = Member> + use<'a> {
        let flag = self.flag;
        let tail = if self.is_composite() { self.tail } else { &[] };
        tail.as_chunks::<12>().0.iter().filter_map(move |chunk| {
            let place = word(chunk, 8)?;
            Some(Member {
                name: word(chunk, 0)?,
                ty: word(chunk, 4)?,
                bit_offset: if flag { place & 0x00ff_ffff } else { place },
                bitfield: flag && place >> 24 != 0,
            })
        })
    }
}

/// One member of a struct or union.
pub(super) struct Member {
    /// Offset of the name in the strings, 0 when it has none.
    pub(super) name: u32,
    pub(super) ty: u32,
    /// From the start of the struct.
    pub(super) bit_offset: u32,
    pub(super) bitfield: bool,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let chunk = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*chunk))
}
