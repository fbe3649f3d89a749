//! Symbol tables as they are met in the field.

use proptest::prelude::*;

use super::*;

const WANTED: [&str; 3] = [
    "alloc_htab_elem",
    "htab_map_update_elem",
    "__pcpu_freelist_pop",
];

fn fixture(name: &str) -> BufReader<File> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/symbols");
    BufReader::new(File::open(path.join(name)).unwrap())
}

fn symbols(name: &str) -> Symbols {
    Symbols::parse(fixture(name), &WANTED).unwrap()
}

fn name_of(resolution: Resolution<'_>) -> String {
    match resolution {
        Resolution::Absent => "absent".into(),
        Resolution::Exact(one) => format!("exact {}", one.name),
        Resolution::Twin(one) => format!("twin {}", one.name),
        Resolution::Ambiguous(all) => {
            let describe = |one: &Symbol| {
                let module = one.module.as_deref().unwrap_or("kernel");
                format!(" {}@{module}", one.name)
            };
            let all: String = all.into_iter().map(describe).collect();
            format!("ambiguous{all}")
        }
    }
}

#[test]
fn o03_a_function_under_a_suffixed_name_is_resolved_to_it() {
    let symbols = symbols("suffixed");
    let resolved = WANTED.map(|name| name_of(symbols.resolve(name)));
    assert_eq!(
        resolved,
        [
            "twin alloc_htab_elem.isra.0",
            "exact htab_map_update_elem",
            "ambiguous __pcpu_freelist_pop.constprop.0@kernel __pcpu_freelist_pop.llvm.913@kernel",
        ]
    );
}

#[test]
fn a_clone_beside_the_function_does_not_hide() {
    let text = b"10 T alloc_htab_elem\n20 t alloc_htab_elem.constprop.0\n";
    let symbols = Symbols::parse(&text[..], &WANTED).unwrap();
    assert_eq!(
        name_of(symbols.resolve("alloc_htab_elem")),
        "exact alloc_htab_elem"
    );
    let twins: Vec<_> = symbols.twins("alloc_htab_elem").map(|s| &s.name).collect();
    assert_eq!(twins, ["alloc_htab_elem.constprop.0"]);
}

#[test]
fn a_piece_of_a_function_never_stands_for_it() {
    for symbol in [
        "f.cold",
        "f.isra.0.cold",
        "f.cold.7",
        "f.part.0",
        "f.",
        "f..1",
    ] {
        assert_eq!(whole_function(symbol), None, "{symbol}");
    }
    for symbol in [
        "f",
        "f.isra.0",
        "f.constprop.0.isra.0",
        "f.llvm.17",
        "f.lto_priv.0",
    ] {
        assert_eq!(whole_function(symbol), Some("f"), "{symbol}");
    }
}

#[test]
fn o26_duplicates_are_listed_with_their_modules() {
    let symbols = symbols("duplicate");
    assert_eq!(
        name_of(symbols.resolve("htab_map_update_elem")),
        "ambiguous htab_map_update_elem@kernel htab_map_update_elem@other_htab"
    );
    // A variable of the same name is no function.
    assert_eq!(
        name_of(symbols.resolve("alloc_htab_elem")),
        "exact alloc_htab_elem"
    );
    let Resolution::Ambiguous(all) = symbols.resolve("htab_map_update_elem") else {
        panic!("two functions of one name");
    };
    assert_eq!(all[1].address, Some(0xffff_ffff_c012_3450));
}

#[test]
fn o13_hidden_addresses_are_noticed_and_names_still_resolve() {
    let symbols = symbols("hidden");
    assert!(symbols.addresses_hidden);
    let Resolution::Exact(one) = symbols.resolve("htab_map_update_elem") else {
        panic!("one function");
    };
    assert_eq!(one.address, None);
    // Per-CPU symbols stand at zero on every kernel: one address that is shown is enough.
    assert!(!self::symbols("suffixed").addresses_hidden);
    assert!(!Symbols::parse(&b""[..], &WANTED).unwrap().addresses_hidden);
}

#[test]
fn o14_what_ftrace_does_not_list_is_not_traceable_and_without_a_list_nobody_knows() {
    let mut symbols = symbols("suffixed");
    assert_eq!(
        symbols.traceable("alloc_htab_elem.isra.0"),
        Traceable::Unknown
    );
    symbols.traceable = Some(parse_filter(fixture("filter_functions"), &WANTED).unwrap());
    assert_eq!(symbols.traceable("alloc_htab_elem.isra.0"), Traceable::Yes);
    assert_eq!(symbols.traceable("htab_map_update_elem"), Traceable::Yes);
    assert_eq!(symbols.traceable("__pcpu_freelist_pop"), Traceable::No);
}

#[test]
fn lines_of_another_shape_are_passed_over() {
    let text = b"\n\xff\xfe\nffffffff81000000\nffffffff81000000 T\nzzz T alloc_htab_elem\n\
        ffffffff81000010 T alloc_htab_elem";
    let symbols = Symbols::parse(&text[..], &WANTED).unwrap();
    assert_eq!(
        name_of(symbols.resolve("alloc_htab_elem")),
        "exact alloc_htab_elem"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_to_its_end(text in prop::collection::vec(any::<u8>(), 0..256)) {
        prop_assert!(Symbols::parse(&text[..], &WANTED).is_ok());
        prop_assert!(parse_filter(&text[..], &WANTED).is_ok());
    }
}
