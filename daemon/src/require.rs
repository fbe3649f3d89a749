//! `--require`: probes and signals without which the daemon must not start.

use crate::{
    plan::{Alternative, Plan, Signal},
    probes::{Mechanism, ProbeStatus, Refusal},
};

/// Something that was required cannot be had.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmet {
    /// It was refused.
    #[error("`{name}` is required and cannot be had: {}; {}", refusal.detail, refusal.remedy)]
    Refused {
        /// What was asked for.
        name: String,
        /// Why it is not there.
        refusal: Refusal,
    },
    /// This kernel's plan has no place for it.
    #[error(
        "`{0}` is required and has no place on this kernel, where its signal is seen in another \
         way; require the signal instead (`mapstorm doctor` tells which)"
    )]
    Unused(String),
}

/// Are all names met by what became of the plan? A signal is met when each of its parts is seen in
/// some way, be it a lesser one; a probe when it is attached.
///
/// # Errors
/// The first name that is not met.
pub fn check(names: &[String], plan: &Plan, statuses: &[ProbeStatus]) -> Result<(), Unmet> {
    names.iter().try_for_each(|name| {
        let mut parts = plan.signals.iter().filter(|s| s.name == name).peekable();
        if parts.peek().is_none() {
            return probe(name, statuses);
        }
        parts.try_for_each(|part| seen(part, statuses))
    })
}

fn probe(name: &str, statuses: &[ProbeStatus]) -> Result<(), Unmet> {
    let mut tries = statuses.iter().filter(|s| s.probe == name);
    let Some(last) = tries.next_back() else {
        return Err(Unmet::Unused(name.to_owned()));
    };
    refused(name, last)
}

/// A part of a signal is seen when all probes of one of its alternatives are attached. A return
/// probe is not enough: it knows no map and is blind to system calls.
fn seen(part: &Signal, statuses: &[ProbeStatus]) -> Result<(), Unmet> {
    let mut result = Ok(());
    let by_map = |a: &&Alternative| a.probes.iter().all(|p| p.mechanism != Mechanism::Kretprobe);
    for alternative in part.alternatives.iter().filter(by_map) {
        result = alternative.probes.iter().try_for_each(|probe| {
            let tried = |s: &&ProbeStatus| s.probe == probe.name && s.hook == alternative.hook;
            let status = statuses.iter().find(tried);
            status.map_or(Ok(()), |status| refused(part.name, status))
        });
        if result.is_ok() {
            break;
        }
    }
    result
}

fn refused(name: &str, status: &ProbeStatus) -> Result<(), Unmet> {
    status.refusal.as_ref().map_or(Ok(()), |refusal| {
        Err(Unmet::Refused {
            name: name.to_owned(),
            refusal: refusal.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, KernelFunctions};

    /// A kernel with every function the plan asks for, in its older form.
    struct Old;

    impl KernelFunctions for Old {
        fn parameters(&self, function: &str) -> Option<usize> {
            match function {
                "htab_map_update_elem" | "htab_lru_map_update_elem" => Some(4),
                "__htab_percpu_map_update_elem" | "__htab_lru_percpu_map_update_elem" => Some(5),
                "__pcpu_freelist_pop" => Some(1),
                "alloc_htab_elem" => Some(8),
                "bpf_iter_bpf_map" => Some(2),
                _ => None,
            }
        }

        fn tracepoint(&self, _: &str) -> bool {
            true
        }
    }

    /// What becomes of the plan when these hooks are refused and nothing is tried in vain.
    fn statuses(plan: &Plan, refused: &[&str]) -> Vec<ProbeStatus> {
        let mut statuses = Vec::new();
        for signal in &plan.signals {
            for alternative in &signal.alternatives {
                let refusal = refused.contains(&alternative.hook).then(|| Refusal {
                    reason: "notrace",
                    detail: format!("attach fexit `{}`: busy", alternative.hook),
                    remedy: "none".into(),
                });
                statuses.extend(alternative.probes.iter().map(|probe| ProbeStatus {
                    probe: probe.name,
                    signal: signal.name,
                    hook: alternative.hook.to_owned(),
                    mechanism: probe.mechanism,
                    refusal: refusal.clone(),
                }));
                if refusal.is_none() {
                    break;
                }
            }
        }
        statuses
    }

    fn checked(name: &str, refused: &[&str]) -> Result<(), String> {
        let plan = plan::plan(Ok(&Old));
        let statuses = statuses(&plan, refused);
        check(&[name.to_owned()], &plan, &statuses).map_err(|unmet| unmet.to_string())
    }

    #[test]
    fn a_signal_is_met_by_a_lesser_way_and_a_probe_only_by_itself() {
        let pop = "__pcpu_freelist_pop";
        assert_eq!(checked("pop", &[]), Ok(()));
        assert_eq!(checked("pop", &[pop]), Ok(()));
        assert_eq!(checked("alloc_out", &[pop]), Ok(()));
        let error = checked("pop_out", &[pop]).unwrap_err();
        assert_eq!(
            error,
            "`pop_out` is required and cannot be had: attach fexit `__pcpu_freelist_pop`: busy; none"
        );
        let error = checked("pop", &[pop, "alloc_htab_elem"]).unwrap_err();
        assert!(error.contains("alloc_htab_elem"), "{error}");
    }

    #[test]
    fn every_part_of_a_signal_must_be_seen() {
        let error = checked("update", &["htab_lru_map_update_elem"]).unwrap_err();
        assert!(error.starts_with("`update` is required"), "{error}");
        assert!(error.contains("htab_lru_map_update_elem"), "{error}");
        assert_eq!(checked("maps", &["htab_lru_map_update_elem"]), Ok(()));
    }

    #[test]
    fn a_probe_that_this_kernel_does_not_need_is_no_answer() {
        let error = checked("alloc_out", &[]).unwrap_err();
        assert!(error.contains("has no place on this kernel"), "{error}");
    }
}
