//! The cases, by what they are about, and the suites they form.

mod callers;
mod calm;
mod cpus;
mod crowd;
mod drill;
mod drills;
mod end;
mod exact;
mod exactness;
mod fill;
mod hosts;
mod kernel_log;
mod kprobes;
mod listing;
mod lockdown;
mod locks;
mod migrate;
mod nested;
mod privilege;
mod refusal;
mod scale;
mod sight;
mod storm;
mod who;

use crate::tools::suite::{Test, tests};

/// What runs on every kernel, the cheapest first.
const DEFAULT: &[Test] = tests![
    refusal::bad_flag,
    refusal::port_taken,
    privilege::o02_no_capability,
    sight::o01_o15_no_btf,
    kprobes::o15_kprobes_see_programs_only,
    kprobes::o05_kprobes_without_tracefs,
    kprobes::kprobes_storm,
    sight::o14_doctor_and_daemon_say_what_they_cannot_see,
    refusal::o17_require,
    exact::exact_program,
    exact::exact_syscall,
    exact::exact_kinds,
    exactness::exactness,
    migrate::batches_that_migrate,
    privilege::o02_bpf_and_perfmon_only,
    privilege::o36_unlimited_memory_stays_unlimited,
    hosts::o30_run_time_statistics_stay_off,
    nested::nested,
    listing::o07_fifty_maps_of_one_name,
    listing::o09_names_that_are_no_text,
    listing::o19_a_map_that_stays_is_always_listed,
    listing::o23_memory_is_what_the_kernel_says,
    listing::o24_ids_and_names_are_the_kernels,
    listing::o16_no_update_is_busy,
    listing::chosen_maps_and_names,
    listing::no_map_of_others_is_held,
    listing::maps_without_a_daemon,
    fill::o08_fill_is_exact_or_absent,
    fill::o33_fill_of_an_lru_map_is_approximate,
    drill::drill_agrees,
    calm::o20_calm,
    crowd::o21_one_key_is_never_a_full_map,
    who::users_of_a_map,
    callers::callers_by_program_and_by_syscall,
    callers::callers_of_slow_calls,
    callers::callers_in_softirq,
    callers::o12_callers_lost_are_counted,
    callers::o13_callers_without_addresses,
    end::clean_end,
    storm::o20_storm_cycles,
    kernel_log::o38_kernel_log_clean,
];

/// Storms of refusals, made by their drills, and how they end.
const STORMS: &[Test] = tests![
    drills::drill_of_full,
    drills::drills_by_syscall_name_their_process,
    drills::bursts_open_no_storm,
    drills::drill_of_alloc,
    drills::storm_ends_with_its_map,
    drills::storms_outlive_a_kill,
];

/// Storms of CPUs that fight, made by their drills.
const FIGHTS: &[Test] = tests![
    drills::drill_of_lru,
    drills::drill_of_hot_bucket,
    drills::drill_of_freelist,
];

/// A kernel that is locked down.
const LOCKDOWN: &[Test] = tests![lockdown::o27_lockdown, kernel_log::o27_kernel_log_clean,];

/// Locks that report who waits.
const LOCKS: &[Test] = tests![
    locks::locks_hot_bucket,
    locks::locks_freelist_fight,
    locks::locks_lru_fight,
];

/// Locks that report nothing.
const SILENT_LOCKS: &[Test] = tests![locks::silent_locks];

/// More processors possible than online.
const POSSIBLE_CPUS: &[Test] = tests![
    cpus::o04_program,
    cpus::o04_syscall,
    cpus::o04_kinds,
    cpus::o04_cpu_comes_and_goes,
    scale::o29_few_cpus,
    kernel_log::o04_kernel_log_clean,
];

/// Sixty-four processors possible, four online.
const SIXTY_FOUR: &[Test] = tests![
    hosts::o04_sixty_four_possible,
    kernel_log::o04_kernel_log_clean,
];

/// What must not matter: integrity lockdown, no tracefs, more lists than elements to fill them.
const UNUSUAL: &[Test] = tests![
    lockdown::o27_integrity,
    hosts::o05_no_tracefs,
    crowd::o34_stealing_is_no_full_map,
    kernel_log::o34_kernel_log_clean,
];

/// Probes that come and go while the functions they sit on are running.
const ATTACH: &[Test] = tests![end::o37_attach_under_load, kernel_log::o37_kernel_log_clean,];

/// Very many maps.
const SCALE: &[Test] = tests![
    scale::o06_ten_thousand_maps,
    scale::o10_hundred_thousand_maps,
    kernel_log::o10_kernel_log_clean,
];

/// As many possible processors as large hosts have.
const MANY_CPUS: &[Test] = tests![
    scale::o29_many_cpus,
    cpus::o28_program,
    kernel_log::o28_kernel_log_clean,
];

/// The suite of this name; the host knows which machine each wants.
pub(crate) fn suite(name: &str) -> Option<&'static [Test]> {
    match name {
        "default" => Some(DEFAULT),
        "storms" => Some(STORMS),
        "fights" => Some(FIGHTS),
        "lockdown" => Some(LOCKDOWN),
        "possible_cpus" => Some(POSSIBLE_CPUS),
        "attach" => Some(ATTACH),
        "scale" => Some(SCALE),
        "many_cpus" => Some(MANY_CPUS),
        "sixty_four" => Some(SIXTY_FOUR),
        "unusual" => Some(UNUSUAL),
        "locks" => Some(LOCKS),
        "silent_locks" => Some(SILENT_LOCKS),
        _ => None,
    }
}
