//! How this kernel's spinlocks wait, and so whether it reports who waits.
//!
//! On x86 the kernel chooses at boot by what the hypervisor says of itself (CPUID): a guest without
//! paravirtual locks gets test-and-set locks, which report no contention.

use std::arch::x86_64::{__cpuid, CpuidResult};

use serde::Serialize;

/// What a CPU that waits for a spinlock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spinlocks {
    /// It queues: bare metal.
    Queued,
    /// It queues, or sleeps in the hypervisor: a guest with paravirtual locks, or one that was told it
    /// does not need them.
    Paravirtual,
    /// It tries again and again, and nobody is told: a guest of any other hypervisor.
    TestAndSet,
}

/// Bit of CPUID leaf 1, register ECX: there is a hypervisor.
const IS_GUEST: u32 = 1 << 31;
/// Where a hypervisor's leaves begin; one that plays several has several beginnings, this far apart.
const FIRST: u32 = 0x4000_0000;
const APART: u32 = 0x100;
/// How many beginnings are looked at: KVM that plays Hyper-V, too, comes second.
const BEGINNINGS: u32 = 4;
/// `KVM_FEATURE_PV_UNHALT`.
const PV_UNHALT: u32 = 1 << 7;
/// `HV_MSR_GUEST_IDLE_AVAILABLE` and `HV_X64_CLUSTER_IPI_RECOMMENDED`.
const HYPERV_IDLE: u32 = 1 << 10;
const HYPERV_CLUSTER_IPI: u32 = 1 << 10;

impl Spinlocks {
    /// What the kernel that runs this program has chosen.
    pub fn running() -> Self {
        Self::of(__cpuid)
    }

    /// What a kernel chooses on a machine whose CPUID gives these answers.
    fn of(cpuid: impl Fn(u32) -> CpuidResult) -> Self {
        if cpuid(1).ecx & IS_GUEST == 0 {
            return Self::Queued;
        }
        let beginnings = (0..BEGINNINGS).map(|n| FIRST + n * APART);
        let find = |name: &[u8; 12]| {
            let mut beginnings = beginnings.clone();
            beginnings.find(|&leaf| signature(cpuid(leaf)) == *name)
        };
        // In the kernel's order: one that is KVM as well as Hyper-V is taken for KVM.
        let queued = if let Some(kvm) = find(b"KVMKVMKVM\0\0\0") {
            cpuid(kvm + 1).eax & PV_UNHALT != 0
        } else if find(b"XenVMMXenVMM").is_some() {
            true
        } else if let Some(hyperv) = find(b"Microsoft Hv") {
            cpuid(hyperv + 3).eax & HYPERV_IDLE != 0
                && cpuid(hyperv + 4).eax & HYPERV_CLUSTER_IPI != 0
        } else {
            false
        };
        if queued {
            Self::Paravirtual
        } else {
            Self::TestAndSet
        }
    }

    /// Does the kernel report waits?
    pub const fn report(self) -> bool {
        !matches!(self, Self::TestAndSet)
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Queued => "queued: waits are reported, but for a lock's first waiter's",
            Self::Paravirtual => {
                "queued, paravirtual: waits are reported, but for a lock's first waiter's"
            }
            Self::TestAndSet => {
                "test-and-set, in a guest without paravirtual locks: no wait is reported"
            }
        }
    }
}

/// The name in a hypervisor's first leaf.
fn signature(leaf: CpuidResult) -> [u8; 12] {
    let mut name = [0; 12];
    let words = [leaf.ebx, leaf.ecx, leaf.edx];
    for (bytes, word) in name.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: CpuidResult = CpuidResult {
        eax: 0,
        ebx: 0,
        ecx: 0,
        edx: 0,
    };

    fn named(name: &[u8; 12]) -> CpuidResult {
        let word =
            |at: usize| u32::from_le_bytes([name[at], name[at + 1], name[at + 2], name[at + 3]]);
        CpuidResult {
            ebx: word(0),
            ecx: word(4),
            edx: word(8),
            ..NOTHING
        }
    }

    fn eax(eax: u32) -> CpuidResult {
        CpuidResult { eax, ..NOTHING }
    }

    /// A guest with these leaves.
    fn guest(leaves: &[(u32, CpuidResult)]) -> Spinlocks {
        Spinlocks::of(|leaf| match leaf {
            1 => CpuidResult {
                ecx: IS_GUEST,
                ..NOTHING
            },
            _ => leaves
                .iter()
                .find(|(of, _)| *of == leaf)
                .map_or(NOTHING, |(_, answer)| *answer),
        })
    }

    #[test]
    fn bare_metal_queues_and_a_guest_does_what_its_hypervisor_lets_it() {
        let (kvm, hyperv) = (named(b"KVMKVMKVM\0\0\0"), named(b"Microsoft Hv"));
        assert_eq!(Spinlocks::of(|_| NOTHING), Spinlocks::Queued);
        for (leaves, spinlocks) in [
            (&[][..], Spinlocks::TestAndSet),
            (&[(FIRST, named(b"TCGTCGTCGTCG"))], Spinlocks::TestAndSet),
            (&[(FIRST, named(b"VMwareVMware"))], Spinlocks::TestAndSet),
            (&[(FIRST, kvm)], Spinlocks::TestAndSet),
            (
                &[(FIRST, kvm), (FIRST + 1, eax(PV_UNHALT))],
                Spinlocks::Paravirtual,
            ),
            (&[(FIRST, named(b"XenVMMXenVMM"))], Spinlocks::Paravirtual),
            (
                &[(FIRST, hyperv), (FIRST + 3, eax(HYPERV_IDLE))],
                Spinlocks::TestAndSet,
            ),
            (
                &[
                    (FIRST, hyperv),
                    (FIRST + 3, eax(HYPERV_IDLE)),
                    (FIRST + 4, eax(HYPERV_CLUSTER_IPI)),
                ],
                Spinlocks::Paravirtual,
            ),
            (
                &[
                    (FIRST, hyperv),
                    (FIRST + APART, kvm),
                    (FIRST + APART + 1, eax(PV_UNHALT)),
                ],
                Spinlocks::Paravirtual,
            ),
        ] {
            assert_eq!(guest(leaves), spinlocks, "{leaves:x?}");
        }
    }

    #[test]
    fn this_machine_has_an_answer() {
        assert!(!Spinlocks::running().words().is_empty());
    }
}
