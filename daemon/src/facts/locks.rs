//! Where the locks of a hash map lie in this kernel: what tells a lock's class by its address.

use mapstorm_abi::globals;
use serde::Serialize;

use super::btf::{Btf, BtfError};

/// Offsets and sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LockLayout {
    /// `bpf_htab.buckets`, a pointer.
    pub htab_buckets: u32,
    /// `bpf_htab.n_buckets`.
    pub htab_n_buckets: u32,
    /// `struct bucket`.
    pub bucket: u32,
    /// `bpf_htab.freelist.freelist`, a pointer into the CPUs' memory.
    pub htab_freelists: u32,
    /// `struct pcpu_freelist`.
    pub freelist: u32,
    /// `struct pcpu_freelist_head`.
    pub freelist_head: u32,
    /// `bpf_htab.lru`.
    pub htab_lru: u32,
    /// `struct bpf_lru`.
    pub lru: u32,
    /// `bpf_htab.lru.common_lru.local_list`, a pointer into the CPUs' memory.
    pub htab_lru_local: u32,
    /// `struct bpf_lru_locallist`.
    pub lru_local: u32,
    /// `bpf_htab.lru.percpu_lru`, a pointer into the CPUs' memory.
    pub htab_lru_percpu: u32,
    /// `struct bpf_lru_list`.
    pub lru_list: u32,
    /// `bpf_array.pptrs`.
    pub array_pptrs: u32,
}

impl LockLayout {
    /// Looks everything up.
    ///
    /// # Errors
    /// Names the first struct or member that this kernel does not have.
    pub fn of(btf: &Btf) -> Result<Self, BtfError> {
        let htab = |member| btf.member_offset("bpf_htab", member);
        // Another struct of this name would have other members.
        btf.member_offset("bucket", "head")?;
        Ok(Self {
            htab_buckets: htab("buckets")?,
            htab_n_buckets: htab("n_buckets")?,
            bucket: btf.struct_size("bucket")?,
            htab_freelists: htab("freelist.freelist")?,
            freelist: btf.struct_size("pcpu_freelist")?,
            freelist_head: btf.struct_size("pcpu_freelist_head")?,
            htab_lru: htab("lru")?,
            lru: btf.struct_size("bpf_lru")?,
            htab_lru_local: htab("lru.common_lru.local_list")?,
            lru_local: btf.struct_size("bpf_lru_locallist")?,
            htab_lru_percpu: htab("lru.percpu_lru")?,
            lru_list: btf.struct_size("bpf_lru_list")?,
            array_pptrs: btf.member_offset("bpf_array", "pptrs")?,
        })
    }

    /// Each number with the name of the probes' global that takes it.
    pub fn globals(&self) -> [(&'static str, u32); 13] {
        [
            (globals::OFFSET_HTAB_BUCKETS, self.htab_buckets),
            (globals::OFFSET_HTAB_N_BUCKETS, self.htab_n_buckets),
            (globals::SIZE_BUCKET, self.bucket),
            (globals::OFFSET_HTAB_FREELISTS, self.htab_freelists),
            (globals::SIZE_FREELIST, self.freelist),
            (globals::SIZE_FREELIST_HEAD, self.freelist_head),
            (globals::OFFSET_HTAB_LRU, self.htab_lru),
            (globals::SIZE_LRU, self.lru),
            (globals::OFFSET_HTAB_LRU_LOCAL, self.htab_lru_local),
            (globals::SIZE_LRU_LOCAL, self.lru_local),
            (globals::OFFSET_HTAB_LRU_PERCPU, self.htab_lru_percpu),
            (globals::SIZE_LRU_LIST, self.lru_list),
            (globals::OFFSET_ARRAY_PPTRS, self.array_pptrs),
        ]
    }
}
