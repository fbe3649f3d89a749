//! The BPF objects inside this binary.

use aya::include_bytes_aligned;

use super::error::KernelError;

/// The observing programs.
static PROBES: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/probes"));
/// The programs of drills and benches.
static WORKLOAD: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/workload"));

/// Bytes of the object `probes`.
pub(super) fn probes() -> Result<&'static [u8], KernelError> {
    built("probes", PROBES)
}

/// Bytes of the object `workload`.
pub(super) fn workload() -> Result<&'static [u8], KernelError> {
    built("workload", WORKLOAD)
}

fn built(name: &'static str, bytes: &'static [u8]) -> Result<&'static [u8], KernelError> {
    if bytes.is_empty() {
        Err(KernelError::Stub(name))
    } else {
        Ok(bytes)
    }
}
