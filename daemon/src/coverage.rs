//! Which share of a signal the running kernel lets us see, by where an operation comes from. Known
//! from what was attached, never inferred from events that did not come.

use crate::{
    plan::{self, POP, UPDATE},
    probes::{Mechanism, ProbeStatus},
};

/// Coverage of one signal from one source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// The label `signal`.
    pub signal: &'static str,
    /// The label `source`: `program` or `syscall`.
    pub source: &'static str,
    /// 1 when all of it is seen, 0 when none is, a ratio when only some kinds of map are.
    pub ratio: f64,
}

/// Coverage of what is counted: updates and pops.
pub fn coverage(probes: &[ProbeStatus]) -> Vec<Coverage> {
    let mut coverage = Vec::new();
    for signal in [UPDATE, POP] {
        let kinds = plan::kinds(signal);
        let seen = |mechanisms: &[Mechanism]| {
            let is_seen = |hooks: &&Vec<&str>| {
                probes.iter().any(|probe| {
                    let counts = probe.attached() && mechanisms.contains(&probe.mechanism);
                    counts && probe.signal == signal && hooks.contains(&&*probe.hook)
                })
            };
            kinds.iter().filter(is_seen).count() as f64 / kinds.len() as f64
        };
        // A return probe is kept quiet while bpf(2) works on a map.
        let program = seen(&[Mechanism::Fexit, Mechanism::Kretprobe]);
        let syscall = seen(&[Mechanism::Fexit]);
        coverage.push(Coverage {
            signal,
            source: "program",
            ratio: program,
        });
        coverage.push(Coverage {
            signal,
            source: "syscall",
            ratio: syscall,
        });
    }
    coverage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(signal: &'static str, hook: &str, mechanism: Mechanism) -> ProbeStatus {
        ProbeStatus {
            probe: "a_probe",
            signal,
            hook: hook.into(),
            mechanism,
            refusal: None,
        }
    }

    fn ratio(probes: &[ProbeStatus], signal: &str, source: &str) -> f64 {
        let all = coverage(probes);
        let found = all
            .iter()
            .find(|c| c.signal == signal && c.source == source);
        found.expect("every signal has both sources").ratio
    }

    #[test]
    fn o15_a_return_probe_sees_programs_and_no_system_calls() {
        let probes = [attached(POP, "__pcpu_freelist_pop", Mechanism::Kretprobe)];
        assert_eq!(ratio(&probes, POP, "program"), 1.0);
        assert_eq!(ratio(&probes, POP, "syscall"), 0.0);
    }

    #[test]
    fn some_kinds_of_map_are_a_ratio() {
        let probes = [
            attached(UPDATE, "htab_map_update_elem", Mechanism::Fexit),
            attached(UPDATE, "htab_map_update_elem_in_place", Mechanism::Fexit),
            attached(UPDATE, "htab_lru_map_update_elem", Mechanism::Kretprobe),
        ];
        assert_eq!(ratio(&probes, UPDATE, "program"), 0.75);
        assert_eq!(ratio(&probes, UPDATE, "syscall"), 0.5);
    }

    #[test]
    fn nothing_attached_is_zero_and_not_absent() {
        assert!(coverage(&[]).iter().all(|c| c.ratio == 0.0));
        assert_eq!(coverage(&[]).len(), 4);
    }

    #[test]
    fn derived_pops_are_no_coverage() {
        let probes = [attached(POP, "htab_map_update_elem", Mechanism::Derived)];
        assert_eq!(ratio(&probes, POP, "program"), 0.0);
    }
}
