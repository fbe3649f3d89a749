//! All facts together: a host from fixtures, a host with nothing, and the one that runs this test.

use std::path::Path;

use serde_json::{Value, json};

use super::{btf::tests::kernel_like, *};

const FUNCTIONS: [&str; 2] = ["htab_map_update_elem", "__pcpu_freelist_pop"];

fn facts(root: &Path) -> Facts {
    let kernel = Kernel::new("5.10.0-46-cloud-amd64", "x86_64").unwrap();
    let roots = Roots {
        proc: root.join("proc"),
        sys: root.join("sys"),
    };
    Facts::of(kernel, &roots, &FUNCTIONS)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn a_host_is_read_from_its_files_and_each_gap_is_explained() {
    let facts = facts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/host"));
    let written = serde_json::to_value(&facts).unwrap();
    assert_eq!(
        written["kernel"],
        json!({
            "release": "5.10.0-46-cloud-amd64",
            "version": {"major": 5, "minor": 10},
            "generation": "locks_every_list",
            "self_nesting": true,
            "unsafe_trampolines": true,
            "counts_kprobe_misses": false,
            "charges_memlock": true,
        })
    );
    assert_eq!(
        written["cpus"],
        json!({"possible": "0-319", "online": "0-95,160-255"})
    );
    assert_eq!(written["security"]["lockdown"], "integrity");
    assert_eq!(written["security"]["kptr_restrict"], 2);
    assert_eq!(
        written["privilege"],
        json!({"capabilities": ["CAP_PERFMON", "CAP_BPF"], "user_namespace": false})
    );
    assert_eq!(written["symbols"]["addresses_hidden"], true);
    let symbols = facts.symbols.unwrap();
    assert_eq!(symbols.traceable(FUNCTIONS[0]), Traceable::Yes);
    assert_eq!(symbols.traceable(FUNCTIONS[1]), Traceable::No);

    let paranoid = text(&written["security"]["perf_event_paranoid"]["unknown"]);
    assert!(paranoid.ends_with("perf_event_paranoid says \"nonsense\": expected one whole number"));
    let btf = text(&written["btf"]["unknown"]);
    assert!(btf.contains("kernel/btf/vmlinux: No such file"), "{btf}");
    let offsets = text(&written["offsets"]["unknown"]);
    assert_eq!(
        offsets,
        "no field offsets without the kernel's type information"
    );
}

#[test]
fn a_host_that_tells_nothing_leaves_every_fact_unknown_and_nothing_panics() {
    let facts = facts(Path::new("/nonexistent"));
    let written = serde_json::to_value(&facts).unwrap();
    for pointer in [
        "/cpus",
        "/security/lockdown",
        "/privilege/capabilities",
        "/privilege/user_namespace",
        "/btf",
        "/offsets",
        "/symbols",
    ] {
        let reason = written.pointer(pointer).map(|fact| text(&fact["unknown"]));
        assert!(reason.is_some_and(|reason| !reason.is_empty()), "{pointer}");
    }
}

#[test]
fn o24_offsets_come_with_the_globals_that_take_them_and_a_missing_member_is_named() {
    let btf = Btf::parse(kernel_like(16).bytes()).unwrap();
    let offsets = Offsets::of(&btf).unwrap();
    assert_eq!(
        offsets.globals(),
        [
            ("OFFSET_MAP_ID", 64),
            ("OFFSET_MAP_TYPE", 24),
            ("OFFSET_MAP_MAX_ENTRIES", 36),
            ("OFFSET_MAP_FLAGS", 44),
            ("OFFSET_MAP_NAME", 68),
            ("OFFSET_MAP_KEY_SIZE", 28),
            ("OFFSET_MAP_VALUE_SIZE", 32),
            ("OFFSET_HTAB_FREELIST", 336),
            ("OFFSET_MAP_PAGES", 0),
            ("OFFSET_MAP_ELEM_COUNT", 0),
            ("OFFSET_HTAB_COUNT", 0),
            ("OFFSET_HTAB_USES_PERCPU", 0),
        ]
    );
    let mut renamed = kernel_like(0).bytes();
    let at = renamed
        .windows(10)
        .position(|text| text == b"\0map_flags")
        .unwrap();
    renamed[at + 1] = b'M';
    let error = Offsets::of(&Btf::parse(renamed).unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no member map_flags in struct bpf_map")
    );
}

#[test]
fn a_kernel_that_tells_nothing_of_programs_loses_them_alone() {
    let btf = Btf::parse(kernel_like(0).bytes()).unwrap();
    assert!(Offsets::of(&btf).is_ok());
    let error = ProgramOffsets::of(&btf).unwrap_err().to_string();
    assert!(error.contains("bpf_prog"), "{error}");
}

#[test]
fn this_host_can_be_asked() {
    let facts = Facts::gather(&Roots::default(), &FUNCTIONS).unwrap();
    let cpus = facts.cpus.unwrap();
    assert!(cpus.possible.len() >= cpus.online.len());
    assert!(facts.kernel.version.is_some());
    assert!(facts.privilege.capabilities.is_ok());
    // Where members lie is each kernel's own affair (one 6.18 differs from the next); the parts of a map
    // lie inside of it, one behind the other.
    if let Ok(offsets) = facts.offsets {
        assert!(offsets.map_max_entries < offsets.map_id, "{offsets:?}");
        assert!(offsets.map_id < offsets.map_name, "{offsets:?}");
        assert!(offsets.map_name < offsets.htab_freelist, "{offsets:?}");
        assert!(facts.program_offsets.is_ok());
    }
}
