//! The BPF programs of the host: what they are called, where their machine code lies, which maps
//! they use.

use std::{borrow::Cow, collections::BTreeMap};

use mapstorm_abi::programs::CodeRange;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::identity::MapId;

/// Id of a BPF program, as the kernel gives it; never zero.
pub type ProgramId = u32;

/// A program's type by number, `enum bpf_prog_type` of the kernel's uapi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramType(pub u32);

impl ProgramType {
    /// Names by number, as bpftool prints them.
    const NAMES: [&str; 33] = [
        "unspec",
        "socket_filter",
        "kprobe",
        "sched_cls",
        "sched_act",
        "tracepoint",
        "xdp",
        "perf_event",
        "cgroup_skb",
        "cgroup_sock",
        "lwt_in",
        "lwt_out",
        "lwt_xmit",
        "sock_ops",
        "sk_skb",
        "cgroup_device",
        "sk_msg",
        "raw_tracepoint",
        "cgroup_sock_addr",
        "lwt_seg6local",
        "lirc_mode2",
        "sk_reuseport",
        "flow_dissector",
        "cgroup_sysctl",
        "raw_tracepoint_writable",
        "cgroup_sockopt",
        "tracing",
        "struct_ops",
        "ext",
        "lsm",
        "sk_lookup",
        "syscall",
        "netfilter",
    ];

    /// Value of the label `prog_type`: the name bpftool prints, `type_N` for a newer one.
    pub fn label(self) -> Cow<'static, str> {
        match Self::NAMES.get(self.0 as usize) {
            Some(&name) => name.into(),
            None => format!("type_{}", self.0).into(),
        }
    }
}

impl<'de> Deserialize<'de> for ProgramType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let label = String::deserialize(deserializer)?;
        let known = Self::NAMES.iter().position(|&name| name == label);
        let known = known.and_then(|number| u32::try_from(number).ok());
        let number = known.or_else(|| label.strip_prefix("type_")?.parse().ok());
        let unknown = || D::Error::custom(format_args!("no type of programs: {label}"));
        number.map(Self).ok_or_else(unknown)
    }
}

impl Serialize for ProgramType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.label())
    }
}

/// One program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name, escaped so that distinct names stay distinct.
    pub name: String,
    /// Its type.
    pub kind: ProgramType,
    /// The kernel's digest of its instructions.
    pub tag: [u8; 8],
    /// When it was loaded, nanoseconds since boot, suspended time included.
    pub loaded_ns: u64,
    /// Where its machine code lies, its functions' included where they can be read.
    pub code: Vec<CodeRange>,
    /// The maps it uses, where they can be read.
    pub maps: Vec<MapId>,
}

/// All programs of the host, as they were last listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    programs: BTreeMap<ProgramId, Program>,
    /// Code by its first address, with its end.
    code: BTreeMap<u64, (u64, ProgramId)>,
    users: BTreeMap<MapId, Vec<ProgramId>>,
}

impl Programs {
    /// The list of these programs.
    pub fn new(programs: BTreeMap<ProgramId, Program>) -> Self {
        let mut code = BTreeMap::new();
        let mut users = BTreeMap::<_, Vec<_>>::new();
        for (&id, program) in &programs {
            let ranges = program.code.iter().filter(|code| code.start < code.end);
            code.extend(ranges.map(|range| (range.start, (range.end, id))));
            for &map in &program.maps {
                let users = users.entry(map).or_default();
                if users.last() != Some(&id) {
                    users.push(id);
                }
            }
        }
        Self {
            programs,
            code,
            users,
        }
    }

    /// The program of this id.
    pub fn get(&self, id: ProgramId) -> Option<&Program> {
        self.programs.get(&id)
    }

    /// The program whose machine code holds `address`.
    pub fn at(&self, address: u64) -> Option<ProgramId> {
        let (_, &(end, id)) = self.code.range(..=address).next_back()?;
        (address < end).then_some(id)
    }

    /// The programs that use a map, by id.
    pub fn users(&self, map: MapId) -> impl Iterator<Item = (ProgramId, &Program)> {
        let ids = self.users.get(&map).into_iter().flatten();
        ids.filter_map(|&id| Some((id, self.get(id)?)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    impl Programs {
        /// The list without one of them.
        pub(in crate::who) fn without(mut self, id: ProgramId) -> Self {
            self.programs.remove(&id);
            Self::new(self.programs)
        }
    }

    /// Programs 3 and 5, of two pieces of code and of one, both users of map 7; and 9, our own.
    pub(crate) fn two() -> Programs {
        let program = |name: &str, loaded_ns, code: &[[u64; 2]], maps: &[MapId]| Program {
            name: name.to_owned(),
            kind: ProgramType(17),
            tag: [0; 8],
            loaded_ns,
            code: code
                .iter()
                .map(|&[start, end]| CodeRange { start, end })
                .collect(),
            maps: maps.to_vec(),
        };
        let jit = 0xffff_ffff_c000_0000;
        Programs::new(BTreeMap::from([
            (
                3,
                program(
                    "flows",
                    0,
                    &[
                        [jit + 0x1000, jit + 0x1100],
                        [jit + 0x1000, jit + 0x1100],
                        [jit + 0x4000, jit + 0x4010],
                    ],
                    &[7, 7, 9],
                ),
            ),
            (
                5,
                program(
                    "drops",
                    500,
                    &[[jit + 0x1100, jit + 0x1200], [0, 0]],
                    &[7, 0],
                ),
            ),
            (9, program("ours", 0, &[[jit + 0x3000, jit + 0x3100]], &[])),
        ]))
    }

    #[test]
    fn an_address_belongs_to_the_program_whose_code_holds_it_and_to_none_beside() {
        let programs = two();
        for (offset, program) in [
            (0xfff, None),
            (0x1000, Some(3)),
            (0x10ff, Some(3)),
            (0x1100, Some(5)),
            (0x11ff, Some(5)),
            (0x1200, None),
            (0x400f, Some(3)),
            (0x4010, None),
        ] {
            assert_eq!(
                programs.at(0xffff_ffff_c000_0000 + offset),
                program,
                "{offset:#x}"
            );
        }
        assert_eq!(programs.at(0), None, "an interpreted program has no code");
    }

    #[test]
    fn a_user_is_listed_once_however_often_it_names_the_map() {
        let programs = two();
        let users = |map| {
            let users = programs.users(map);
            users.map(|(id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(users(7), [3, 5]);
        assert_eq!(users(9), [3]);
        assert!(users(8).is_empty());
    }

    #[test]
    fn types_are_named_as_bpftool_does_and_unknown_ones_by_number() {
        assert_eq!(ProgramType(32).label(), "netfilter");
        assert_eq!(ProgramType(26).label(), "tracing");
        assert_eq!(ProgramType(99).label(), "type_99");
    }
}
