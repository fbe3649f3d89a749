//! The cases, by what they are about, and the suites they form.

mod calm;
mod cpus;
mod drill;
mod end;
mod exact;
mod kernel_log;
mod lockdown;
mod nested;
mod privilege;
mod refusal;
mod sight;
mod storm;

use crate::tools::suite::{Test, tests};

/// What runs on every kernel, the cheapest first.
const DEFAULT: &[Test] = tests![
    refusal::bad_flag,
    refusal::port_taken,
    privilege::o02_no_capability,
    sight::o01_o15_no_btf,
    sight::o14_doctor_and_daemon_say_what_they_cannot_see,
    refusal::require,
    exact::exact_program,
    exact::exact_syscall,
    exact::exact_kinds,
    privilege::o02_bpf_and_perfmon_only,
    nested::nested,
    drill::drill_agrees,
    calm::calm,
    end::clean_end,
    storm::storm_cycles,
    kernel_log::o38_kernel_log_clean,
];

/// A kernel that is locked down.
const LOCKDOWN: &[Test] = tests![lockdown::o27_lockdown, kernel_log::o27_kernel_log_clean,];

/// More processors possible than online.
const POSSIBLE_CPUS: &[Test] = tests![
    cpus::o04_program,
    cpus::o04_syscall,
    cpus::o04_kinds,
    cpus::o04_cpu_comes_and_goes,
    kernel_log::o04_kernel_log_clean,
];

/// Probes that come and go while the functions they sit on are running.
const ATTACH: &[Test] = tests![end::o37_attach_under_load, kernel_log::o37_kernel_log_clean,];

/// The suite of this name; the host knows which machine each wants.
pub(crate) fn suite(name: &str) -> Option<&'static [Test]> {
    match name {
        "default" => Some(DEFAULT),
        "lockdown" => Some(LOCKDOWN),
        "possible_cpus" => Some(POSSIBLE_CPUS),
        "attach" => Some(ATTACH),
        _ => None,
    }
}
