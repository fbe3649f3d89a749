//! How much memory a map takes: by the running kernel's own formula, so that it agrees with what
//! fdinfo and bpftool call `memlock`. Sizes of structs come from the kernel's BTF.

use serde::Serialize;

use crate::{
    facts::{Btf, BtfError},
    identity::{MapType, NO_PREALLOC},
    kernel::MapIdentity,
};

/// Bytes of a page; x86-64 has no other.
const PAGE: u64 = 4096;
/// Bytes of a pointer.
const POINTER: u64 = 8;
/// `BPF_F_MMAPABLE`.
const MMAPABLE: u32 = 1 << 10;

/// What this kernel says a map takes.
#[derive(Clone, Debug)]
pub struct Memory {
    formula: Formula,
    /// `num_possible_cpus()`.
    cpus: u64,
}

/// How a kernel comes to its number.
#[derive(Clone, Debug)]
enum Formula {
    /// Before 5.11: it adds up what it charges, in pages.
    Charged,
    /// 5.11 to 6.3: keys and values, whatever the type (commit 80ee81e0403c).
    Rough,
    /// Since 6.4: each type computes its own (commit 90a5527d7686).
    ByType(Sizes),
}

/// Sizes of the kernel's structs, bytes; what is not there makes the maps unknown that need it.
#[derive(Clone, Debug, Default)]
struct Sizes {
    array: Option<u64>,
    htab: Option<u64>,
    bucket: Option<u64>,
    element: Option<u64>,
    /// Words per CPU against re-entry of a bucket's lock, up to 6.14.
    reentry_words: u64,
    ring: Option<u64>,
    /// Pages in front of a ring's data.
    ring_meta_pages: Option<u64>,
    stacks: Option<u64>,
    stack: Option<u64>,
    queue: Option<u64>,
}

/// How good the numbers are; the API says it so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// What the kernel has allocated, by its own account.
    #[default]
    Exact,
    /// The kernel's rough estimate: without its own structs, and blind to preallocation.
    Estimated,
}

impl Memory {
    /// The formula of a kernel with these types and so many possible CPUs.
    pub fn of(btf: &Btf, cpus: usize) -> Self {
        let formula = if btf.member_offset("bpf_map", "memory.pages").is_ok() {
            Formula::Charged
        } else if btf.has_function("array_map_mem_usage") {
            Formula::ByType(Sizes::of(btf))
        } else {
            Formula::Rough
        };
        let cpus = cpus as u64;
        Self { formula, cpus }
    }

    /// How good the numbers are on this kernel.
    pub fn quality(&self) -> Quality {
        match self.formula {
            Formula::Charged | Formula::ByType(_) => Quality::Exact,
            Formula::Rough => Quality::Estimated,
        }
    }

    /// What the map takes, bytes; `None` where the kernel's formula needs what is not known here.
    pub fn bytes(&self, map: &MapIdentity) -> Option<u64> {
        match &self.formula {
            Formula::Charged => Some(u64::from(map.pages) * PAGE),
            Formula::Rough => Some(self.rough(map)),
            Formula::ByType(sizes) => self.by_type(sizes, map),
        }
    }

    fn rough(&self, map: &MapIdentity) -> u64 {
        let value = match MapType(map.map_type) {
            kind if kind.is_per_cpu() => eights(map.value_size) * self.cpus,
            kind if kind.holds_fds() => 4,
            _ => map.value_size.into(),
        };
        let element = (u64::from(map.key_size) + value).next_multiple_of(8);
        (u64::from(map.max_entries) * element).next_multiple_of(PAGE)
    }

    fn by_type(&self, sizes: &Sizes, map: &MapIdentity) -> Option<u64> {
        let entries = u64::from(map.max_entries);
        Some(match MapType(map.map_type) {
            MapType::HASH
            | MapType::PERCPU_HASH
            | MapType::LRU_HASH
            | MapType::LRU_PERCPU_HASH
            | MapType::HASH_OF_MAPS => self.hash(sizes, map)?,
            MapType::PERCPU_ARRAY => {
                sizes.array? + entries * (POINTER + eights(map.value_size) * self.cpus)
            }
            MapType::ARRAY if map.flags & MMAPABLE != 0 => {
                let elements = entries * eights(map.value_size);
                sizes.array?.next_multiple_of(PAGE) + elements.next_multiple_of(PAGE)
            }
            MapType::ARRAY
            | MapType::PROG_ARRAY
            | MapType::PERF_EVENT_ARRAY
            | MapType::CGROUP_ARRAY
            | MapType::ARRAY_OF_MAPS => sizes.array? + entries * eights(map.value_size),
            MapType::STACK_TRACE => {
                let buckets = entries.next_power_of_two() * POINTER;
                sizes.stacks? + buckets + entries * (sizes.stack? + u64::from(map.value_size))
            }
            MapType::QUEUE | MapType::STACK => {
                sizes.queue? + (entries + 1) * u64::from(map.value_size)
            }
            MapType::RINGBUF | MapType::USER_RINGBUF => {
                let (meta, data) = (sizes.ring_meta_pages?, entries / PAGE);
                sizes.ring? + (meta + data) * PAGE + (meta + 2 * data) * POINTER
            }
            _ => return None,
        })
    }

    /// `htab_map_mem_usage`.
    fn hash(&self, sizes: &Sizes, map: &MapIdentity) -> Option<u64> {
        let kind = MapType(map.map_type);
        let (per_cpu, lru) = (kind.is_per_cpu(), kind.is_lru());
        let value = eights(map.value_size);
        let inside = if per_cpu { POINTER } else { value };
        let element = sizes.element? + eights(map.key_size) + inside;
        let buckets = u64::from(map.max_entries).next_power_of_two();
        let locks = 4 * sizes.reentry_words * self.cpus;
        let head = sizes.htab? + sizes.bucket? * buckets + locks;
        if map.flags & NO_PREALLOC != 0 {
            let entries = map.entries?;
            let per_cpu = if per_cpu {
                2 * POINTER + value * self.cpus
            } else {
                0
            };
            return Some(head + entries * (element + POINTER + per_cpu));
        }
        let mut entries = u64::from(map.max_entries);
        // One element to spare for each CPU; not for maps of maps since 6.15, like the words.
        let of_maps_replaces = sizes.reentry_words != 0 || kind != MapType::HASH_OF_MAPS;
        if !per_cpu && !lru && of_maps_replaces {
            entries += self.cpus;
        }
        let spare = match (per_cpu, lru) {
            (true, _) => value * self.cpus * entries,
            (false, true) => 0,
            (false, false) => POINTER * self.cpus,
        };
        Some(head + element * entries + spare)
    }
}

impl Sizes {
    fn of(btf: &Btf) -> Self {
        let size = |name| btf.struct_size(name).ok().map(u64::from);
        let meta = || -> Result<u64, BtfError> {
            // The positions of consumer and producer have a page each.
            let first = btf.member_offset("bpf_ringbuf", "consumer_pos")?;
            Ok(u64::from(first) / PAGE + 2)
        };
        Self {
            array: size("bpf_array"),
            htab: size("bpf_htab"),
            bucket: size("bucket"),
            element: size("htab_elem"),
            reentry_words: btf.array_len("bpf_htab", "map_locked").unwrap_or(0).into(),
            ring: size("bpf_ringbuf_map"),
            ring_meta_pages: meta().ok(),
            stacks: size("bpf_stack_map"),
            stack: size("stack_map_bucket"),
            queue: size("bpf_queue_stack"),
        }
    }
}

/// Rounded up to eight bytes.
fn eights(bytes: u32) -> u64 {
    u64::from(bytes).next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(formula: Formula) -> Memory {
        Memory { formula, cpus: 4 }
    }

    /// Sizes of 6.12.
    fn sizes(reentry_words: u64) -> Sizes {
        Sizes {
            array: Some(264),
            htab: Some(896),
            bucket: Some(16),
            element: Some(48),
            reentry_words,
            ..Sizes::default()
        }
    }

    fn map(kind: MapType, flags: u32, entries: Option<u64>) -> MapIdentity {
        MapIdentity {
            map_type: kind.0,
            max_entries: 1000,
            flags,
            key_size: 4,
            value_size: 12,
            pages: 7,
            entries,
            ..MapIdentity::default()
        }
    }

    #[test]
    fn o23_charged_pages_and_the_rough_formula() {
        let hash = map(MapType::PERCPU_HASH, 0, None);
        assert_eq!(memory(Formula::Charged).bytes(&hash), Some(7 * 4096));
        let rough = memory(Formula::Rough);
        // 4 + 16 × 4 → 72; 72,000 → 18 pages.
        assert_eq!(rough.bytes(&hash), Some(18 * 4096));
        assert_eq!(
            rough.bytes(&map(MapType::PROG_ARRAY, 0, None)),
            Some(2 * 4096)
        );
        assert_eq!(rough.quality(), Quality::Estimated);
    }

    #[test]
    fn o23_by_type_with_and_without_preallocation() {
        let now = memory(Formula::ByType(sizes(8)));
        let head = 896 + 16 * 1024 + 4 * 8 * 4;
        let hash = |flags, entries| now.bytes(&map(MapType::HASH, flags, entries));
        assert_eq!(hash(0, None), Some(head + 72 * 1004 + 32));
        assert_eq!(hash(NO_PREALLOC, Some(10)), Some(head + 80 * 10));
        assert_eq!(hash(NO_PREALLOC, None), None, "it depends on what is in it");
        let lru = now.bytes(&map(MapType::LRU_HASH, 0, None));
        assert_eq!(lru, Some(head + 72 * 1000));
        assert_eq!(now.bytes(&map(MapType(11), 0, None)), None, "a trie");
    }

    #[test]
    fn maps_of_maps_have_no_spare_elements_since_the_words_against_reentry_are_gone() {
        let of_maps = map(MapType::HASH_OF_MAPS, 0, None);
        let [before, since] = [8, 0].map(|words| {
            let memory = memory(Formula::ByType(sizes(words)));
            memory.bytes(&of_maps).unwrap()
        });
        assert_eq!(before - since, 4 * 72 + 4 * 8 * 4);
    }
}
