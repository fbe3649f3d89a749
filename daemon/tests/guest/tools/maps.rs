//! Maps made by bare bpf(2): of any type, size and name, and what the kernel itself says of them.

use std::{
    fs, io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
};

use anyhow::{Context as _, Result, bail};
use mapstorm::identity::{MapId, MapType};
use nix::libc;

/// Commands of bpf(2).
const CREATE: libc::c_long = 0;
const UPDATE: libc::c_long = 2;
const DELETE: libc::c_long = 3;
const NEXT_KEY: libc::c_long = 4;
const INFO: libc::c_long = 15;
/// Words of `union bpf_attr` that are set here.
type Attr = [u32; 18];

/// What a map is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec<'a> {
    pub(crate) kind: MapType,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) max_entries: u32,
    pub(crate) flags: u32,
    pub(crate) name: &'a [u8],
}

impl Default for Spec<'_> {
    fn default() -> Self {
        Self {
            kind: MapType::HASH,
            key_size: 4,
            value_size: 8,
            max_entries: 100,
            flags: 0,
            name: b"",
        }
    }
}

/// A map that lives as long as this does.
#[derive(Debug)]
pub(crate) struct RawMap {
    fd: OwnedFd,
    /// Bytes that an update hands over: of a per-CPU map for every possible CPU.
    value: Vec<u8>,
}

impl RawMap {
    /// Creates the map; `inner` is the descriptor of a map of maps' pattern.
    pub(crate) fn create(spec: Spec<'_>, inner: Option<&Self>, cpus: usize) -> Result<Self> {
        let mut attr = Attr::default();
        attr[..5].copy_from_slice(&[
            spec.kind.0,
            spec.key_size,
            spec.value_size,
            spec.max_entries,
            spec.flags,
        ]);
        // inner_map_fd, numa_node, and the name in the 16 bytes that follow.
        attr[5] = inner.map_or(0, |inner| inner.fd.as_raw_fd() as u32);
        for (i, &byte) in spec.name.iter().take(15).enumerate() {
            attr[7 + i / 4] |= u32::from(byte) << (8 * (i % 4));
        }
        let fd = bpf(CREATE, &mut attr).with_context(|| format!("creating {spec:?}"))?;
        let per_cpu = (spec.value_size as usize).next_multiple_of(8) * cpus;
        let value = match inner {
            Some(inner) => (inner.fd.as_raw_fd() as u32).to_ne_bytes().to_vec(),
            None if spec.kind.is_per_cpu() => vec![0; per_cpu],
            None => vec![0; spec.value_size as usize],
        };
        Ok(Self {
            // SAFETY: the kernel has just returned the descriptor to this call alone.
            fd: unsafe { OwnedFd::from_raw_fd(fd as i32) },
            value,
        })
    }

    /// Inserts or replaces `key`.
    pub(crate) fn update(&self, key: u32) -> io::Result<()> {
        self.element(UPDATE, key)
    }

    /// Removes `key`.
    pub(crate) fn delete(&self, key: u32) -> io::Result<()> {
        self.element(DELETE, key)
    }

    /// How many elements there are, by walking through a map of four-byte keys that nobody touches.
    pub(crate) fn count(&self) -> Result<u64> {
        let (mut key, mut next) = (None, 0_u32);
        for count in 0.. {
            let mut attr = Attr::default();
            attr[0] = self.fd.as_raw_fd() as u32;
            if let Some(key) = &key {
                set_pointer(&mut attr, 2, std::ptr::from_ref::<u32>(key).cast());
            }
            set_pointer(&mut attr, 4, (&raw mut next).cast());
            match bpf(NEXT_KEY, &mut attr) {
                Ok(_) => key = Some(next),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(count),
                Err(error) => return Err(error).context("walking the map"),
            }
        }
        bail!("the map has no end")
    }

    fn element(&self, command: libc::c_long, key: u32) -> io::Result<()> {
        // Longer than any key in use, and zero behind the number.
        let mut long = [0_u32; 16];
        long[0] = key;
        let mut attr = Attr::default();
        attr[0] = self.fd.as_raw_fd() as u32;
        set_pointer(&mut attr, 2, long.as_ptr().cast());
        if command == UPDATE {
            set_pointer(&mut attr, 4, self.value.as_ptr());
        }
        bpf(command, &mut attr).map(drop)
    }

    /// Its id and its name's 16 bytes, as the kernel gives them.
    pub(crate) fn identity(&self) -> Result<(MapId, [u8; 16])> {
        // `struct bpf_map_info`: type, id, four numbers, the name.
        let mut info = [0_u32; 32];
        let mut attr = Attr::default();
        attr[..2].copy_from_slice(&[self.fd.as_raw_fd() as u32, size_of_val(&info) as u32]);
        set_pointer(&mut attr, 2, info.as_mut_ptr().cast());
        bpf(INFO, &mut attr).context("the map's info")?;
        let mut name = [0; 16];
        for (bytes, word) in name.chunks_exact_mut(4).zip(&info[6..10]) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        Ok((info[1], name))
    }

    /// Its id as label values have it.
    pub(crate) fn id(&self) -> Result<String> {
        Ok(self.identity()?.0.to_string())
    }

    /// What the kernel says it takes, bytes: what bpftool prints.
    pub(crate) fn memlock(&self) -> Result<u64> {
        let path = format!("/proc/self/fdinfo/{}", self.fd.as_raw_fd());
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        let mut lines = text.lines();
        let bytes = lines.find_map(|line| line.strip_prefix("memlock:"));
        let bytes = bytes.with_context(|| format!("{path} has no memlock: {text}"))?;
        Ok(bytes.trim().parse()?)
    }
}

/// A pointer takes two words.
fn set_pointer(attr: &mut Attr, word: usize, pointer: *const u8) {
    let address = pointer as u64;
    attr[word] = address as u32;
    attr[word + 1] = (address >> 32) as u32;
}

fn bpf(command: libc::c_long, attr: &mut Attr) -> io::Result<libc::c_long> {
    // SAFETY: the attribute lives for the call, and so does what the pointers in it, set by the
    // callers in this file, lead to.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attr.as_mut_ptr(), size_of_val(attr)) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
