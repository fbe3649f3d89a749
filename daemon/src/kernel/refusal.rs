//! Turns the kernel's answer to a load or an attach into a reason, words and a remedy.

use std::io;

use aya::programs::{KProbeError, ProgramError};

use super::error::{KernelError, chain, errno};
use crate::probes::{Mechanism, Refusal};

/// `ENOTSUPP`: internal to the kernel and without a name in libc, yet it reaches user space.
const ENOTSUPP: i32 = 524;

/// What was being done when the kernel refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Handing the program to the verifier.
    Load,
    /// Putting it on its function.
    Attach,
}

/// Explains a refusal. `privileged` tells whether the process holds the capabilities that loading
/// takes: EPERM means something else then.
pub(super) fn explain(
    stage: Stage,
    mechanism: Mechanism,
    hook: &str,
    privileged: bool,
    error: &ProgramError,
) -> Refusal {
    let verb = match stage {
        Stage::Load => "load",
        Stage::Attach => "attach",
    };
    let code = errno(error);
    if let Some(file) = no_kprobes(error) {
        return Refusal {
            reason: "no_kprobes",
            detail: format!("{verb} {mechanism} `{hook}`: the kernel has no {file}"),
            remedy: "run a kernel built with CONFIG_KPROBE_EVENTS".into(),
        };
    }
    let (reason, remedy) = classify(
        stage,
        as_of_a_trampoline(stage, mechanism, code),
        privileged,
    );
    let words = match code {
        Some(ENOTSUPP) => "not supported for this function (errno 524)".to_owned(),
        Some(code) => io::Error::from_raw_os_error(code).to_string(),
        None => chain(error),
    };
    let mut detail = format!("{verb} {mechanism} `{hook}`: {words}");
    if let Some(tail) = verifier_tail(error) {
        detail.push_str("; verifier: ");
        detail.push_str(&tail);
    }
    Refusal {
        reason,
        detail,
        remedy: remedy.into(),
    }
}

/// The file that a kernel without kprobes does not have, if that is what failed.
fn no_kprobes(error: &ProgramError) -> Option<String> {
    match error {
        ProgramError::KProbeError(KProbeError::FileError { filename, io_error })
            if io_error.kind() == io::ErrorKind::NotFound =>
        {
            Some(filename.display().to_string())
        }
        _ => None,
    }
}

/// The errno that a trampoline would have met. A function that cannot be traced is EBUSY or ENODEV to
/// one, but EINVAL to a kprobe: `within_notrace_func` of kernel/trace/trace_kprobe.c, and the list of
/// functions that no kprobe may be on.
fn as_of_a_trampoline(stage: Stage, mechanism: Mechanism, code: Option<i32>) -> Option<i32> {
    match (stage, code) {
        (Stage::Attach, Some(libc::EINVAL)) if mechanism.is_suppressed() => Some(libc::ENODEV),
        (_, code) => code,
    }
}

/// Reason and remedy by errno.
fn classify(stage: Stage, code: Option<i32>, privileged: bool) -> (&'static str, &'static str) {
    match (stage, code) {
        (_, Some(libc::EPERM)) if !privileged => (
            "capability",
            "give the process CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN)",
        ),
        (_, Some(libc::EPERM)) => (
            "eperm",
            "this kernel refuses trampolines even to a privileged process (hardened, or locked \
             down): nothing to set here; a kernel that allows them shows the signal",
        ),
        (Stage::Attach, Some(libc::EBUSY | libc::ENODEV)) => (
            "notrace",
            "the function cannot be traced in this kernel (built without ftrace, as \
             `percpu_freelist.o` is since 6.13): a lesser way is used where there is one",
        ),
        (_, Some(ENOTSUPP)) => (
            "unsupported",
            "the kernel's trampolines cannot take this function; a newer one can",
        ),
        (_, Some(libc::ENOENT | libc::ESRCH)) => (
            "no_symbol",
            "the function is not in this kernel under this name",
        ),
        (Stage::Load, Some(libc::EINVAL | libc::EACCES)) => {
            ("verifier", "report the kernel's release and this text")
        }
        (_, Some(libc::ENOMEM)) => ("enomem", "raise the memory limit, or lower --probe-memory"),
        _ => ("other", "report the kernel's release and this text"),
    }
}

/// The verifier's last words, short enough for a log line.
fn verifier_tail(error: &ProgramError) -> Option<String> {
    let ProgramError::LoadError { verifier_log, .. } = error else {
        return None;
    };
    let log = verifier_log.to_string();
    let lines: Vec<_> = log
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("processed "))
        .collect();
    let tail = lines[lines.len().saturating_sub(3)..].join(" | ");
    (!tail.is_empty()).then_some(tail)
}

impl KernelError {
    /// The refusal of the whole object, which stands for every program in it; `None` for an error
    /// that is not the kernel's.
    pub fn refusal(&self, privileged: bool) -> Option<Refusal> {
        let Self::Load { object, source, .. } = self else {
            return None;
        };
        let code = errno(source.as_ref());
        let (reason, remedy) = match code {
            Some(libc::EPERM) if privileged => (
                "eperm",
                "something refuses bpf(2) to a privileged process: RLIMIT_MEMLOCK before 5.11 \
                 (LimitMEMLOCK=infinity in the service unit), a container's seccomp filter, or a \
                 security module",
            ),
            Some(libc::EPERM | libc::ENOMEM) => classify(Stage::Load, code, privileged),
            Some(libc::ENOSYS) => ("no_bpf", "run a kernel built with CONFIG_BPF_SYSCALL"),
            _ => classify(Stage::Load, None, privileged),
        };
        let words = code.map_or_else(
            || chain(source.as_ref()),
            |code| io::Error::from_raw_os_error(code).to_string(),
        );
        Some(Refusal {
            reason,
            detail: format!("create the maps of the BPF object `{object}`: {words}"),
            remedy: remedy.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o17_a_refusal_carries_symbol_attach_type_errno_text_and_remedy() {
        let error = ProgramError::SyscallError(aya::sys::SyscallError {
            call: "bpf_raw_tracepoint_open",
            io_error: io::Error::from_raw_os_error(libc::EBUSY),
        });
        let refusal = explain(
            Stage::Attach,
            Mechanism::Fexit,
            "__pcpu_freelist_pop",
            true,
            &error,
        );
        assert_eq!(refusal.reason, "notrace");
        for part in [
            "attach",
            "fexit",
            "__pcpu_freelist_pop",
            "Device or resource busy",
        ] {
            assert!(
                refusal.detail.contains(part),
                "`{part}` is not in `{}`",
                refusal.detail
            );
        }
        assert!(refusal.remedy.contains("6.13"));
    }

    #[test]
    fn o17_a_kprobe_on_a_function_that_cannot_be_traced_is_notrace_too() {
        let refused = |mechanism, code| {
            let error = ProgramError::SyscallError(aya::sys::SyscallError {
                call: "perf_event_open",
                io_error: io::Error::from_raw_os_error(code),
            });
            explain(
                Stage::Attach,
                mechanism,
                "__pcpu_freelist_pop",
                true,
                &error,
            )
        };
        for mechanism in [
            Mechanism::Kprobe,
            Mechanism::PairedKretprobe,
            Mechanism::Kretprobe,
        ] {
            let refusal = refused(mechanism, libc::EINVAL);
            assert_eq!(refusal.reason, "notrace");
            assert!(refusal.detail.contains("Invalid argument"), "{refusal:?}");
        }
        assert_eq!(refused(Mechanism::Fexit, libc::EINVAL).reason, "other");
        assert_eq!(refused(Mechanism::Kprobe, libc::EMFILE).reason, "other");
    }

    #[test]
    fn eperm_is_told_apart_by_what_the_process_holds() {
        assert_eq!(
            classify(Stage::Load, Some(libc::EPERM), false).0,
            "capability"
        );
        assert_eq!(classify(Stage::Load, Some(libc::EPERM), true).0, "eperm");
    }

    #[test]
    fn o02_an_object_that_is_refused_names_the_capability_that_is_missing() {
        let error = |code| KernelError::Load {
            object: "probes",
            source: Box::new(aya::EbpfError::FileError {
                path: "x".into(),
                error: io::Error::from_raw_os_error(code),
            }),
            remedy: "",
        };
        for (code, privileged, reason, words) in [
            (libc::EPERM, false, "capability", "CAP_BPF and CAP_PERFMON"),
            (libc::EPERM, true, "eperm", "seccomp"),
            (libc::ENOMEM, true, "enomem", "--probe-memory"),
            (libc::ENOSYS, true, "no_bpf", "CONFIG_BPF_SYSCALL"),
            (libc::EINVAL, true, "other", "report"),
        ] {
            let refusal = error(code).refusal(privileged).unwrap();
            assert_eq!(refusal.reason, reason);
            assert!(refusal.remedy.contains(words), "{refusal:?}");
        }
        assert_eq!(KernelError::Stub("probes").refusal(true), None);
    }

    #[test]
    fn o31_an_unknown_errno_still_gets_a_reason() {
        assert_eq!(classify(Stage::Attach, Some(4095), true).0, "other");
        assert_eq!(classify(Stage::Load, None, true).0, "other");
        assert_eq!(
            classify(Stage::Attach, Some(ENOTSUPP), true).0,
            "unsupported"
        );
    }
}
