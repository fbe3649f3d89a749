//! From facts to probes: what the plan needs of this host, and the one attempt to attach it all.

use mapstorm_abi::inventory::SUM_ELEM_COUNT;

use crate::{
    facts::{
        self, Capability, FactError, Facts, Kernel, Lockdown,
        kernel::TRAMPOLINE_FIX,
        privilege::memlock::{self, Memlock},
    },
    kernel::{Attached, Btf, Geometry, KernelError, Loaded, Parameters},
    memory::Memory,
    plan::{self, CALLERS, Ground, KernelFunctions, Plan, USERS},
    pops,
    probes::{ProbeStatus, Refusal},
};

/// Why nothing could even be tried.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// The tables cannot be sized.
    #[error("the probes' tables have a part for each possible CPU, and nobody tells how many: {0}")]
    Cpus(FactError),
    /// The attempt failed for a reason that is not the kernel's.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// A host that was looked at, and the plan for it.
pub struct Preflight {
    /// What was found.
    pub facts: Facts,
    /// What is to be tried.
    pub plan: Plan,
    parameters: Parameters,
    btf: Option<Btf>,
}

/// What became of the plan.
pub struct Attempt {
    /// Every probe, attached or not and why; derived signals at the end.
    pub statuses: Vec<ProbeStatus>,
    /// The probes on their hooks; `None` when the kernel refused all of them at once.
    pub attached: Option<Attached>,
}

impl Attempt {
    /// Can anything be seen?
    pub fn observable(&self) -> bool {
        self.statuses.iter().any(ProbeStatus::attached)
    }
}

impl KernelFunctions for facts::Btf {
    fn parameters(&self, function: &str) -> Option<usize> {
        self.function_params(function)
    }

    fn tracepoint(&self, name: &str) -> bool {
        self.has_tracepoint(name)
    }
}

impl Preflight {
    /// Makes the plan for a host of these `facts`, with tables of `probe_memory` bytes per possible
    /// CPU. With `no_trampolines` those are left alone.
    ///
    /// # Errors
    /// When the tables cannot be sized.
    pub fn new(
        facts: Facts,
        probe_memory: usize,
        no_trampolines: bool,
    ) -> Result<Self, PreflightError> {
        let cpus = match facts.cpus {
            Ok(ref cpus) => cpus.possible.table_len(),
            Err(error) => return Err(PreflightError::Cpus(error)),
        };
        let (mut plan, btf) = match types(&facts) {
            Ok((functions, btf)) => {
                let against = against_trampolines(&facts.kernel, functions, no_trampolines);
                let ground = Ground {
                    functions: Ok(functions),
                    no_trampolines: against.as_ref(),
                };
                (plan::plan_on(ground), Some(btf))
            }
            Err(refusal) => (plan::plan(Err(&refusal)), None),
        };
        if let Err(error) = &facts.program_offsets {
            plan.refuse(&[CALLERS, USERS], &no_offsets(error.to_string()));
        }
        let of_programs = facts.program_offsets.as_ref();
        let of_programs = of_programs.map_or_else(|_| Vec::new(), |of| of.globals().into());
        if !facts.spinlocks.report() {
            plan.refuse(&[plan::LOCK_WAIT], &silent_locks());
        }
        let offsets = facts.offsets.as_ref();
        let offsets: Vec<_> = offsets.map_or_else(|_| Vec::new(), |of| of.globals());
        let parameters = Parameters {
            geometry: Geometry::within(probe_memory, cpus),
            offsets: [offsets, of_programs].concat(),
            sum_elem_count: facts
                .btf
                .as_ref()
                .ok()
                .and_then(|btf| btf.function_id(SUM_ELEM_COUNT)),
            self_nesting: facts.kernel.self_nesting,
            counts_kprobe_misses: facts.kernel.counts_kprobe_misses,
            privileged: privileged(&facts),
        };
        Ok(Self {
            facts,
            plan,
            parameters,
            btf,
        })
    }

    /// Can it be told which of a hash map's locks is waited for?
    pub fn tells_locks_apart(&self) -> bool {
        let offsets = self.facts.offsets.as_ref();
        offsets.is_ok_and(|offsets| offsets.locks.is_some())
    }

    /// How this kernel tells a map's memory; `None` where its types are not known.
    pub fn memory(&self) -> Option<Memory> {
        let (btf, cpus) = (
            self.facts.btf.as_ref().ok()?,
            self.facts.cpus.as_ref().ok()?,
        );
        Some(Memory::of(btf, cpus.possible.len()))
    }

    /// Loads the probes and tries the plan. They look away until they are armed.
    ///
    /// # Errors
    /// When the build or this program is at fault; what the kernel refuses is in the statuses.
    pub fn attach(&self) -> Result<Attempt, PreflightError> {
        raise_memlock(&self.facts.kernel);
        let attached = match Loaded::load(&self.parameters) {
            Ok(loaded) => Ok(loaded.attach(&self.plan, self.btf.as_ref())),
            Err(error) => Err(error.refusal(self.parameters.privileged).ok_or(error)?),
        };
        let mut statuses = match &attached {
            Ok(attached) => attached.statuses().to_vec(),
            Err(refusal) => self.refused_by(refusal),
        };
        for refusal in statuses.iter_mut().filter_map(|s| s.refusal.as_mut()) {
            sharpen(refusal, &self.facts);
        }
        statuses.extend(pops::derived(&statuses));
        Ok(Attempt {
            statuses,
            attached: attached.ok(),
        })
    }

    /// The record when the kernel took nothing: what the plan knew already, else `refusal`.
    fn refused_by(&self, refusal: &Refusal) -> Vec<ProbeStatus> {
        let alternatives = self
            .plan
            .signals
            .iter()
            .flat_map(|signal| signal.alternatives.iter().map(move |a| (signal, a)));
        let probes = alternatives.flat_map(|(signal, alternative)| {
            alternative.probes.iter().map(move |probe| ProbeStatus {
                probe: probe.name,
                signal: signal.name,
                hook: alternative.hook.to_owned(),
                mechanism: probe.mechanism,
                refusal: Some(alternative.refusal.as_ref().unwrap_or(refusal).clone()),
            })
        });
        probes.collect()
    }
}

/// The kernel's types, as the plan and as the loader read them, or why typed probes cannot be had.
fn types(facts: &Facts) -> Result<(&facts::Btf, Btf), Refusal> {
    const REMEDY: &str = "run a kernel built with CONFIG_DEBUG_INFO_BTF, and let the process read \
                          /sys/kernel/btf/vmlinux";
    let no_btf = |detail: String| Refusal {
        reason: "no_btf",
        detail,
        remedy: REMEDY.into(),
    };
    let functions = facts.btf.as_ref();
    let functions = functions.map_err(|error| no_btf(error.to_string()))?;
    if let Err(error) = &facts.offsets {
        return Err(no_offsets(error.to_string()));
    }
    let btf = Btf::from_sys_fs();
    let btf = btf.map_err(|error| no_btf(format!("the kernel's BTF cannot be parsed: {error}")))?;
    Ok((functions, btf))
}

/// The kernel's types are there, but not what the probes read.
fn no_offsets(detail: String) -> Refusal {
    Refusal {
        reason: "no_offsets",
        detail,
        remedy: "report the kernel's release: the probes must learn this layout".into(),
    }
}

/// Why trampolines are to be left alone: somebody said so, or they can crash this kernel.
fn against_trampolines(
    kernel: &Kernel,
    functions: &dyn KernelFunctions,
    no_trampolines: bool,
) -> Option<Refusal> {
    if no_trampolines {
        return Some(Refusal {
            reason: "no_trampolines",
            detail: "trampolines are left alone, by --no-trampolines or MAPSTORM_NO_TRAMPOLINES"
                .into(),
            remedy: "take the flag away where the kernel's trampolines are to be trusted".into(),
        });
    }
    let unfixed = kernel.unsafe_trampolines && functions.parameters(TRAMPOLINE_FIX).is_none();
    unfixed.then(|| Refusal {
        reason: "unsafe_trampolines",
        detail: format!(
            "trampolines can crash this kernel when they come and go: it is older than 5.12 and \
             has no `{TRAMPOLINE_FIX}`"
        ),
        remedy: "run 5.12 or newer, or a stable 5.10 with the fix (commit e21aa341785c)".into(),
    })
}

/// Why waits for locks cannot be seen in a guest whose spinlocks do not queue.
fn silent_locks() -> Refusal {
    Refusal {
        reason: "silent_locks",
        detail: "this kernel is a guest without paravirtual locks: its spinlocks are \
                 test-and-set, and nobody is told who waits"
            .into(),
        remedy: "give the virtual machine paravirtual locks (KVM: the CPU feature kvm-pv-unhalt)"
            .into(),
    }
}

/// Does the process hold what loading takes, where it counts?
fn privileged(facts: &Facts) -> bool {
    let capabilities = facts.privilege.capabilities.as_ref();
    capabilities.is_ok_and(|held| held.missing_to_trace().is_empty()) && !is_contained(facts)
}

/// Is the process in a user namespace, where capabilities do not count for tracing?
fn is_contained(facts: &Facts) -> bool {
    matches!(facts.privilege.user_namespace, Ok(true))
}

/// Puts into a refusal what only the facts know: which capability, and whether it is lockdown.
fn sharpen(refusal: &mut Refusal, facts: &Facts) {
    let locked_down = matches!(facts.security.lockdown, Ok(Lockdown::Confidentiality));
    match refusal.reason {
        "verifier" if locked_down && refusal.detail.contains("helper") => {
            refusal.reason = "lockdown";
            refusal.remedy = "the kernel is locked down (lockdown=confidentiality) and lets no \
                              program read its memory: boot it with lockdown=integrity or none"
                .into();
        }
        "eperm" if locked_down => {
            refusal.reason = "lockdown";
            refusal.remedy = "the kernel is locked down (lockdown=confidentiality): boot it with \
                              lockdown=integrity or none"
                .into();
        }
        "capability" if is_contained(facts) => {
            refusal.remedy = "run it outside of a user namespace: capabilities inside of one do \
                              not count for tracing"
                .into();
        }
        "capability" => {
            let held = facts.privilege.capabilities.as_ref();
            let missing = held.map_or_else(|_| Vec::new(), |held| held.missing_to_trace());
            if !missing.is_empty() {
                let missing: Vec<_> = missing.into_iter().map(Capability::name).collect();
                let missing = missing.join(" and ");
                refusal.remedy = format!(
                    "the process lacks {missing}: give it both CAP_BPF and CAP_PERFMON (or \
                     CAP_SYS_ADMIN), or run it as root"
                );
            }
        }
        _ => {}
    }
}

/// Raises the limit on locked memory where BPF counts against it.
pub fn raise_memlock(kernel: &Kernel) {
    match memlock::raise(kernel) {
        Ok(Memlock::NotNeeded | Memlock::Unlimited) => {}
        Ok(Memlock::Raised { from }) => tracing::debug!(from, "raised RLIMIT_MEMLOCK"),
        Ok(Memlock::Capped { limit, .. }) => tracing::warn!(
            limit,
            "RLIMIT_MEMLOCK cannot be raised beyond its hard limit: loading may fail"
        ),
        Err(error) => tracing::warn!(%error, "RLIMIT_MEMLOCK stays as it is"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with these functions.
    struct Has(&'static [&'static str]);

    impl KernelFunctions for Has {
        fn parameters(&self, function: &str) -> Option<usize> {
            self.0.contains(&function).then_some(1)
        }

        fn tracepoint(&self, _name: &str) -> bool {
            false
        }
    }

    fn against(release: &str, has: &'static [&'static str], asked: bool) -> Option<&'static str> {
        let kernel = Kernel::new(release, "x86_64").unwrap();
        against_trampolines(&kernel, &Has(has), asked).map(|refusal| refusal.reason)
    }

    #[test]
    fn o37_trampolines_that_can_crash_the_kernel_are_left_alone() {
        let crash = Some("unsafe_trampolines");
        assert_eq!(against("5.10.20", &[], false), crash);
        assert_eq!(against("5.8.0-53-generic", &[], false), crash);
        assert_eq!(against("vendor", &[], false), crash);
        assert_eq!(
            against("5.10.0-46-cloud-amd64", &[TRAMPOLINE_FIX], false),
            None
        );
        // A kernel that never had the fault may call its functions as it likes.
        assert_eq!(against("7.9.0", &[], false), None);
    }

    #[test]
    fn trampolines_are_left_alone_where_somebody_says_so() {
        let asked = Some("no_trampolines");
        assert_eq!(against("6.12.0", &[TRAMPOLINE_FIX], true), asked);
        assert_eq!(against("5.10.20", &[], true), asked);
    }
}
