//! The BTF reader against blobs built by hand, damaged blobs and the running kernel.

mod blob;
mod fuzz;

use std::path::Path;

use blob::{Blob, Member};

use super::{Btf, BtfError};

/// `bpf_map` and `bpf_htab` in the shape of a kernel's, with `shift` bytes in front of the id.
pub(in crate::facts) fn kernel_like(shift: u32) -> Blob {
    let mut blob = Blob::default();
    let int = blob.int("unsigned int", 4, 32);
    let chars = blob.array(int, 16);
    let list = blob.composite(4, "pcpu_freelist", 32, &[Member::at("freelist", int, 0)]);
    let lru = blob.composite(4, "bpf_lru", 16, &[Member::at("nr_scans", int, 4)]);
    blob.forward("bpf_map");
    let map = blob.composite(
        4,
        "bpf_map",
        64 + shift,
        &[
            Member::at("map_type", int, 24),
            Member::at("key_size", int, 28),
            Member::at("value_size", int, 32),
            Member::at("max_entries", int, 36),
            Member::at("map_flags", int, 44),
            Member::at("id", int, 48 + shift),
            Member::at("name", chars, 52 + shift),
        ],
    );
    let typedef = blob.reference(8, "bpf_map_t", map);
    let constant = blob.reference(10, "", typedef);
    let union = blob.composite(
        5,
        "",
        32,
        &[Member::at("freelist", list, 0), Member::at("lru", lru, 0)],
    );
    let pointer = blob.reference(2, "", map);
    blob.composite(
        4,
        "bpf_htab",
        512,
        &[
            Member::at("map", constant, 0),
            Member::at("parent", pointer, 128 + shift),
            Member::at("", union, 320 + shift),
            Member::at("n_buckets", int, 352 + shift),
        ],
    );
    let prototype = blob.prototype(&[int, int, int]);
    blob.reference(12, "htab_map_update_elem", prototype);
    blob
}

fn offset(btf: &Btf, name: &str, path: &str) -> u32 {
    btf.member_offset(name, path).unwrap()
}

fn message(btf: &Btf, name: &str, path: &str) -> String {
    btf.member_offset(name, path).unwrap_err().to_string()
}

#[test]
fn members_are_found_where_they_stand_and_inside_anonymous_unions() {
    let btf = Btf::parse(kernel_like(0).bytes()).unwrap();
    assert_eq!(offset(&btf, "bpf_map", "id"), 48);
    assert_eq!(offset(&btf, "bpf_htab", "freelist"), 320);
    assert_eq!(offset(&btf, "bpf_htab", "lru.nr_scans"), 324);
    assert_eq!(btf.struct_size("bpf_map").unwrap(), 64);
    assert_eq!(btf.array_len("bpf_map", "name"), Some(16));
    assert_eq!(btf.array_len("bpf_map", "id"), None);
}

#[test]
fn a_path_leads_through_typedefs_and_qualifiers_but_not_through_pointers() {
    let btf = Btf::parse(kernel_like(0).bytes()).unwrap();
    assert_eq!(offset(&btf, "bpf_htab", "map.id"), 48);
    assert_eq!(
        message(&btf, "bpf_htab", "parent.id"),
        "parent is not a struct in this kernel's BTF (asked for bpf_htab.parent.id)"
    );
}

#[test]
fn o24_a_field_that_moved_is_found_where_it_is_now() {
    let btf = Btf::parse(kernel_like(16).bytes()).unwrap();
    assert_eq!(offset(&btf, "bpf_map", "id"), 64);
    assert_eq!(offset(&btf, "bpf_htab", "map.id"), 64);
    assert_eq!(offset(&btf, "bpf_htab", "freelist"), 336);
}

#[test]
fn what_is_missing_is_named() {
    let btf = Btf::parse(kernel_like(0).bytes()).unwrap();
    assert_eq!(
        message(&btf, "bpf_map", "elem_count"),
        "this kernel's BTF has no member elem_count in struct bpf_map \
         (asked for bpf_map.elem_count)"
    );
    assert_eq!(
        message(&btf, "bpf_trie", "root"),
        "this kernel's BTF has no struct bpf_trie"
    );
    for path in ["", ".", "map.", "map..id", "freelist.nothing"] {
        assert!(btf.member_offset("bpf_htab", path).is_err(), "{path:?}");
    }
}

#[test]
fn a_forward_declaration_is_no_struct_and_the_first_of_two_structs_counts() {
    let mut blob = Blob::default();
    let int = blob.int("int", 4, 32);
    blob.forward("bucket");
    assert!(matches!(
        Btf::parse(blob.bytes()).unwrap().struct_size("bucket"),
        Err(BtfError::NoStruct { .. })
    ));
    blob.composite(4, "bucket", 16, &[Member::at("lock", int, 8)]);
    blob.composite(4, "bucket", 99, &[Member::at("lock", int, 0)]);
    let btf = Btf::parse(blob.bytes()).unwrap();
    assert_eq!(btf.struct_size("bucket").unwrap(), 16);
    assert_eq!(offset(&btf, "bucket", "lock"), 8);
}

#[test]
fn bitfields_are_refused_in_both_encodings_and_their_neighbours_are_not() {
    let mut blob = Blob::default();
    let int = blob.int("int", 4, 32);
    let narrow = blob.int("narrow", 4, 3);
    let members = [
        Member::at("whole", int, 4),
        Member::bits("part", int, 64, 3),
        Member::bits("aligned_part", int, 72, 8),
    ];
    blob.flagged(4, "flagged", 16, &members);
    let members = [Member::at("part", narrow, 4), Member::at("whole", int, 8)];
    blob.composite(4, "old", 16, &members);
    let btf = Btf::parse(blob.bytes()).unwrap();
    assert_eq!(offset(&btf, "flagged", "whole"), 4);
    assert_eq!(offset(&btf, "old", "whole"), 8);
    for (name, path) in [
        ("flagged", "part"),
        ("flagged", "aligned_part"),
        ("old", "part"),
    ] {
        assert!(
            matches!(
                btf.member_offset(name, path),
                Err(BtfError::Bitfield { .. })
            ),
            "{name}.{path}"
        );
    }
}

#[test]
fn functions_are_known_by_their_whole_name_and_count_their_parameters() {
    let btf = Btf::parse(kernel_like(0).bytes()).unwrap();
    assert_eq!(btf.function_params("htab_map_update_elem"), Some(3));
    assert!(btf.has_function("htab_map_update_elem"));
    for name in ["htab_map_update", "htab_map_update_elem_x", "", "bpf_map"] {
        assert!(!btf.has_function(name), "{name:?}");
        assert_eq!(btf.function_params(name), None, "{name:?}");
    }
}

#[test]
fn structs_that_contain_themselves_and_typedefs_in_circles_come_to_an_end() {
    let mut blob = Blob::default();
    let next = blob.next_id();
    blob.reference(8, "a", next + 1);
    blob.reference(8, "b", next);
    let anonymous = blob.next_id();
    let inner = [Member::at("", anonymous, 0), Member::at("", next, 0)];
    blob.composite(4, "", 8, &inner);
    blob.composite(4, "outer", 8, &[Member::at("", anonymous, 0)]);
    let btf = Btf::parse(blob.bytes()).unwrap();
    assert!(matches!(
        btf.member_offset("outer", "x"),
        Err(BtfError::NoMember { .. })
    ));
}

#[test]
fn an_offset_beyond_its_struct_is_refused() {
    let mut blob = Blob::default();
    let int = blob.int("int", 4, 32);
    blob.composite(4, "small", 8, &[Member::at("far", int, 12)]);
    let btf = Btf::parse(blob.bytes()).unwrap();
    assert!(matches!(
        btf.member_offset("small", "far"),
        Err(BtfError::OutOfStruct { size: 8, .. })
    ));
}

#[test]
fn what_is_not_btf_of_this_machine_is_refused_in_words() {
    let good = kernel_like(0).bytes();
    let patched = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Btf::parse(bytes).unwrap_err().to_string()
    };
    let mut swapped = good.clone();
    swapped.swap(0, 1);
    let swapped = Btf::parse(swapped).unwrap_err().to_string();
    assert!(swapped.contains("big-endian"), "{swapped}");
    assert!(patched(0, 0).contains("0xeb00 instead of 0xeb9f"));
    assert!(patched(2, 2).contains("version 2"));
    assert!(patched(4, 23).contains("header of 23 bytes"));
    let end = good.len() - 1;
    assert!(patched(end, b'x').contains("zero byte"));
    // The first type's info word: kind 20 is one more than there is.
    assert!(patched(24 + 7, 20).contains("type 1 is of unknown kind 20"));
    assert!(patched(24 + 7, 0).contains("type 1 is of unknown kind 0"));
    assert!(patched(24 + 2, 0x7f).contains("type 1 has its name outside"));
    for len in 0..good.len() {
        assert!(Btf::parse(&good[..len]).is_err(), "cut at byte {len}");
    }
}

#[test]
fn the_running_kernel_agrees_with_itself() {
    let path = Path::new("/sys/kernel/btf/vmlinux");
    let btf = match Btf::read(path) {
        Ok(btf) => btf,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let size = btf.struct_size("bpf_map").unwrap();
    for member in ["id", "map_type", "max_entries", "map_flags", "name"] {
        let direct = offset(&btf, "bpf_map", member);
        assert!(direct < size);
        assert_eq!(direct, offset(&btf, "bpf_htab", &format!("map.{member}")));
    }
    let freelist = offset(&btf, "bpf_htab", "freelist");
    assert_eq!(freelist, offset(&btf, "bpf_htab", "lru"));
    assert!(size <= freelist && freelist < btf.struct_size("bpf_htab").unwrap());
    assert_eq!(btf.function_params("htab_map_update_elem"), Some(4));
}

#[test]
fn a_file_that_is_not_there_is_named_with_its_remedy() {
    let text = Btf::read(Path::new("/nonexistent/vmlinux"))
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("/nonexistent/vmlinux: No such file"),
        "{text}"
    );
    assert!(text.contains("CONFIG_DEBUG_INFO_BTF=y"), "{text}");
}
