//! The boots of the matrix: which suite wants which machine, and which kernels it runs on.

use crate::vm::{Cpus, qemu};

/// A suite of the guest program, and the machine it wants.
pub(super) struct Suite {
    /// What the program calls it.
    pub(super) name: &'static str,
    /// The kernels it runs on; empty means all.
    pub(super) kernels: &'static [&'static str],
    pub(super) cpus: Cpus,
    /// QEMU's model of the processor.
    pub(super) cpu: &'static str,
    /// Parameters for the kernel.
    pub(super) append: &'static [&'static str],
}

/// Every boot of the matrix, those that take longest first: what starts last should be short. A
/// suite that wants another machine gets a line of its own.
pub(super) const SUITES: [Suite; 12] = [
    DEFAULT,
    Suite {
        name: "storms",
        ..DEFAULT
    },
    Suite {
        name: "fights",
        ..DEFAULT
    },
    Suite {
        name: "scale",
        kernels: &["5.10", "6.12"],
        cpus: Cpus::all_online(2),
        ..DEFAULT
    },
    Suite {
        name: "possible_cpus",
        kernels: &["5.10", "6.12"],
        cpus: Cpus {
            online: 2,
            possible: 8,
        },
        ..DEFAULT
    },
    // From 5.19 on there is something to see.
    Suite {
        name: "locks",
        kernels: &["6.1", "6.12", "6.12-rt", "7.3"],
        ..DEFAULT
    },
    Suite {
        name: "silent_locks",
        kernels: &["6.12"],
        cpu: "max",
        ..DEFAULT
    },
    Suite {
        name: "many_cpus",
        // Since 6.9 the parameter only takes CPUs away (seen: 4 of 64 on 6.12), and QEMU's own way
        // ends at 255 of them.
        kernels: &["6.1"],
        cpus: Cpus::all_online(2),
        append: &["possible_cpus=300"],
        ..DEFAULT
    },
    Suite {
        name: "sixty_four",
        kernels: &["5.10", "6.12"],
        // The parameter `possible_cpus` only takes CPUs away since 6.9: QEMU must have them.
        cpus: Cpus {
            online: 4,
            possible: 64,
        },
        ..DEFAULT
    },
    Suite {
        name: "unusual",
        kernels: &["6.1", "7.3"],
        cpus: Cpus {
            online: 4,
            possible: 32,
        },
        append: &["lockdown=integrity"],
        ..DEFAULT
    },
    Suite {
        name: "lockdown",
        kernels: &["6.12"],
        append: &["lockdown=confidentiality"],
        ..DEFAULT
    },
    Suite {
        name: "attach",
        kernels: &["5.10", "6.12", "7.3"],
        cpus: Cpus::all_online(2),
        ..DEFAULT
    },
];

/// Everything that needs no machine of its own, on every kernel.
const DEFAULT: Suite = Suite {
    name: "default",
    kernels: &[],
    cpus: Cpus::all_online(4),
    cpu: qemu::DEFAULT_CPU,
    append: &[],
};

impl Suite {
    /// Does it run on this kernel?
    pub(super) fn runs_on(&self, era: &str) -> bool {
        self.kernels.is_empty() || self.kernels.contains(&era)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::catalog::Era;

    #[test]
    fn suites_have_names_of_their_own_and_kernels_of_the_matrix() {
        for (at, suite) in SUITES.iter().enumerate() {
            assert!(SUITES[..at].iter().all(|other| other.name != suite.name));
            for era in suite.kernels {
                assert!(Era::find(era).is_some(), "{}: {era}", suite.name);
            }
        }
    }
}
