//! Turns the kernel's answer to a load or an attach into a reason, words and a remedy.

use std::{error::Error, io};

use aya::programs::ProgramError;

use super::error::{chain, errno};
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
    let (reason, remedy) = classify(stage, code, privileged);
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

/// Is any cause of the error a lack of BTF?
pub(super) fn no_btf(error: &(dyn Error + 'static)) -> Refusal {
    Refusal {
        reason: "no_btf",
        detail: format!("the kernel's BTF cannot be read: {}", chain(error)),
        remedy: "run a kernel built with CONFIG_DEBUG_INFO_BTF, and let the process read \
                 /sys/kernel/btf/vmlinux"
            .into(),
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
    fn eperm_is_told_apart_by_what_the_process_holds() {
        assert_eq!(
            classify(Stage::Load, Some(libc::EPERM), false).0,
            "capability"
        );
        assert_eq!(classify(Stage::Load, Some(libc::EPERM), true).0, "eperm");
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
