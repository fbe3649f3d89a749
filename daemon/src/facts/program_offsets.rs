//! Where the fields that tell of a BPF program lie in this kernel: a fact of its own, so that a
//! kernel that has moved one of them loses the callers and the users of maps, and nothing else.

use mapstorm_abi::globals;
use serde::Serialize;

use super::btf::{Btf, BtfError};

/// Offsets in bytes from the start of the struct named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramOffsets {
    /// `bpf_prog.type`.
    pub kind: u32,
    /// `bpf_prog.tag`, 8 bytes.
    pub tag: u32,
    /// `bpf_prog.aux`.
    pub aux: u32,
    /// `bpf_prog_aux.id`.
    pub id: u32,
    /// `bpf_prog_aux.name`, 16 bytes.
    pub name: u32,
    /// `bpf_prog_aux.ksym.start`, with `end` behind it.
    pub code: u32,
    /// `bpf_prog_aux.load_time`.
    pub loaded: u32,
    /// `bpf_prog_aux.used_maps`.
    pub maps: u32,
    /// `bpf_prog_aux.used_map_cnt`.
    pub map_count: u32,
    /// `bpf_prog_aux.func`.
    pub functions: u32,
    /// `bpf_prog_aux.func_cnt`.
    pub function_count: u32,
}

impl ProgramOffsets {
    /// Looks every offset up.
    ///
    /// # Errors
    /// Names the first struct or member that this kernel does not have, or has elsewhere than the
    /// programs read it.
    pub fn of(btf: &Btf) -> Result<Self, BtfError> {
        let program = |member| btf.member_offset("bpf_prog", member);
        let aux = |member| btf.member_offset("bpf_prog_aux", member);
        let code = aux("ksym.start")?;
        if aux("ksym.end")? != code + 8 {
            return Err(BtfError::NoMember {
                name: "bpf_ksym".into(),
                path: "ksym.end".into(),
                step: "end, behind start".into(),
            });
        }
        Ok(Self {
            kind: program("type")?,
            tag: program("tag")?,
            aux: program("aux")?,
            id: aux("id")?,
            name: aux("name")?,
            code,
            loaded: aux("load_time")?,
            maps: aux("used_maps")?,
            map_count: aux("used_map_cnt")?,
            functions: aux("func")?,
            function_count: aux("func_cnt")?,
        })
    }

    /// Each offset with the name of the probes' global that takes it.
    pub fn globals(&self) -> [(&'static str, u32); 11] {
        [
            (globals::OFFSET_PROG_TYPE, self.kind),
            (globals::OFFSET_PROG_TAG, self.tag),
            (globals::OFFSET_PROG_AUX, self.aux),
            (globals::OFFSET_AUX_ID, self.id),
            (globals::OFFSET_AUX_NAME, self.name),
            (globals::OFFSET_AUX_CODE, self.code),
            (globals::OFFSET_AUX_LOADED, self.loaded),
            (globals::OFFSET_AUX_MAPS, self.maps),
            (globals::OFFSET_AUX_MAP_COUNT, self.map_count),
            (globals::OFFSET_AUX_FUNCTIONS, self.functions),
            (globals::OFFSET_AUX_FUNCTION_COUNT, self.function_count),
        ]
    }
}
