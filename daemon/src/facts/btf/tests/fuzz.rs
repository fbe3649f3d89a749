//! Arbitrary bytes and damaged files: an answer or an error, never a panic, never without an end.

use proptest::prelude::*;

use super::{super::Btf, kernel_like};

/// Asks everything that can be asked.
fn interrogate(bytes: Vec<u8>) {
    let Ok(btf) = Btf::parse(bytes) else { return };
    for name in ["bpf_map", "bpf_htab", "pcpu_freelist", "", "x"] {
        let size = btf.struct_size(name);
        for path in ["id", "map.id", "freelist", "lru.nr_scans", "parent.id", ""] {
            if let Ok(offset) = btf.member_offset(name, path) {
                assert!(offset <= *size.as_ref().unwrap());
            }
        }
    }
    let params = btf.function_params("htab_map_update_elem");
    assert!(params.is_none() || btf.has_function("htab_map_update_elem"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        interrogate(bytes);
    }

    #[test]
    fn arbitrary_types_behind_a_good_header(
        words in prop::collection::vec(
            prop_oneof![0u32..32, (0u32..0x100).prop_map(|byte| byte << 24 | 2), any::<u32>()],
            0..96,
        ),
    ) {
        let types = words.len() as u32 * 4;
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, types, types, 33].iter().chain(&words) {
            bytes.extend(u32::to_le_bytes(*word));
        }
        bytes.extend(b"\0bpf_map\0id\0map\0htab_map_update\0\0");
        interrogate(bytes);
    }

    #[test]
    fn a_good_file_with_some_bytes_changed(
        shift in 0u32..64,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = kernel_like(shift).bytes();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        interrogate(bytes);
    }

    #[test]
    fn a_good_file_with_small_numbers_rewired(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0u8..24), 1..24),
    ) {
        let mut bytes = kernel_like(0).bytes();
        for (index, byte) in changes {
            let at = 24 + 4 * index.index((bytes.len() - 24) / 4);
            bytes[at] = byte;
        }
        interrogate(bytes);
    }
}
