//! The two types that maps of local storage are made with: BTF of a few words.

use std::{io, os::fd::OwnedFd};

use nix::libc;

use super::{Attr, address};

const BTF_LOAD: libc::c_long = 18;
/// `BTF_KIND_INT` in a type's `info`.
const INT: u32 = 1 << 24;

/// Id of a type of four bytes, for keys.
pub(super) const KEY: u32 = 1;
/// Id of a type of eight bytes, for values.
pub(super) const VALUE: u32 = 2;

/// Loads [`KEY`] and [`VALUE`] into the kernel.
pub(crate) fn load() -> io::Result<OwnedFd> {
    let mut words = [0_u32; 6 + 8];
    let names = *b"\0key\0value\0\0";
    // `struct btf_header`: magic and version, its length, then offset and length of types and names.
    words[0] = 0x0001_eb9f;
    words[1] = 24;
    words[3] = 32;
    words[4] = 32;
    words[5] = names.len() as u32;
    // Name, info, size in bytes, bits.
    words[6..10].copy_from_slice(&[1, INT, 4, 32]);
    words[10..14].copy_from_slice(&[5, INT, 8, 64]);
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(names);
    Attr::default()
        .with_long(0, address(&mut bytes[..]))
        .with(16, bytes.len() as u32)
        .open(BTF_LOAD)
}
