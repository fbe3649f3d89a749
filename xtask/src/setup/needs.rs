//! What each purpose needs, the Debian package that brings it, and advice for other systems.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Purpose;
use crate::process;
use crate::toolchain::{BPF_LINKER_VERSION, LLVM_MAJOR};

/// One prerequisite: what proves it, the Debian package that brings it.
pub(super) struct Need {
    /// An absolute path, or a program to be found in `PATH`.
    pub(super) proof: String,
    /// The package.
    pub(super) package: String,
    /// What it is for.
    purpose: &'static str,
}

impl Need {
    fn new(proof: &str, package: &str, purpose: &'static str) -> Self {
        Self {
            proof: proof.into(),
            package: package.into(),
            purpose,
        }
    }

    /// Whether the proof is there.
    pub(super) fn is_met(&self) -> bool {
        if self.proof.starts_with('/') {
            Path::new(&self.proof).exists()
        } else {
            process::find(&self.proof).is_some()
        }
    }
}

/// Everything that `purposes` need, met or not. Debian's compiler is needed where rustup has none
/// that fits, LLVM where bpf-linker is still to be built.
pub(super) fn of(purposes: &[Purpose], debian_compiler: bool, build_linker: bool) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut add = |proof: &str, package: &str, purpose| {
        needs.push(Need::new(proof, package, purpose));
    };
    if purposes.contains(&Purpose::Bpf) && debian_compiler {
        let purpose = "compile the BPF objects";
        add("/usr/bin/rustc", "rustc-web", purpose);
        add("/usr/bin/cargo", "cargo-web", purpose);
        add(
            "/usr/lib/rustlib/src/rust/library/core",
            "rust-web-src",
            purpose,
        );
    }
    if build_linker {
        let config = llvm_prefix().join("bin/llvm-config");
        let package = format!("llvm-{LLVM_MAJOR}-dev");
        add(&config.to_string_lossy(), &package, "build bpf-linker");
    }
    if purposes.contains(&Purpose::BpfLints) && debian_compiler {
        add(
            "/usr/bin/clippy-driver",
            "rust-web-clippy",
            "lint the BPF objects",
        );
    }
    if purposes.contains(&Purpose::Guests) {
        let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
        add("qemu-system-x86_64", "qemu-system-x86", "boot guests");
        add("dpkg-deb", "dpkg", "unpack kernels");
        add("xz", "xz-utils", "unpack kernel modules");
        add(keyring, "debian-archive-keyring", "verify kernels");
    }
    if purposes.contains(&Purpose::Terminal) {
        add("tmux", "tmux", "drive the terminal view in its tests");
    }
    if purposes.contains(&Purpose::Browser) {
        let font = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
        add("chromium", "chromium", "look at the page");
        add(font, "fonts-dejavu-core", "write on it");
    }
    if purposes.contains(&Purpose::Fuzzer) && !python_has_pip() {
        // Debian's python3 has no pip of its own without this package, which has no program.
        let proof = "/usr/share/doc/python3-venv";
        add(proof, "python3-venv", "run schemathesis");
    }
    needs
}

/// Whether the Python in `PATH` can make an environment with pip in it.
fn python_has_pip() -> bool {
    process::capture(Command::new("python3").args(["-c", "import ensurepip"])).is_ok()
}

/// Where Debian puts the LLVM that bpf-linker links with.
pub(super) fn llvm_prefix() -> PathBuf {
    PathBuf::from(format!("/usr/lib/llvm-{LLVM_MAJOR}"))
}

/// What to install by hand where apt-get and dpkg are not.
pub(super) fn advice(missing: &[Need], wants_linker: bool) -> String {
    let mut text = String::from(
        "this is not a Debian system, so nothing can be installed for you. Please install:\n",
    );
    for Need {
        proof,
        package,
        purpose,
    } in missing
    {
        text += &format!("  {proof} (Debian: {package}), to {purpose}\n");
    }
    if wants_linker {
        let version = BPF_LINKER_VERSION;
        text += &format!(
            "  bpf-linker {version} in PATH: cargo install bpf-linker --version {version}\n"
        );
    }
    text += "Instead of Debian's compiler a rustup toolchain serves: rustup component add rust-src";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_each_thing_its_package_and_its_use() {
        let need = Need::new("qemu-system-x86_64", "qemu-system-x86", "boot guests");
        let text = advice(&[need], true);
        assert!(text.contains("  qemu-system-x86_64 (Debian: qemu-system-x86), to boot guests\n"));
        assert!(text.contains("bpf-linker 0.13.0 in PATH"));
    }

    #[test]
    fn a_rustup_toolchain_spares_the_packaged_compiler() {
        let packages = |debian_compiler| -> Vec<String> {
            let needs = of(&[Purpose::Bpf, Purpose::BpfLints], debian_compiler, false);
            needs.into_iter().map(|need| need.package).collect()
        };
        assert_eq!(packages(true).len(), 4);
        assert!(packages(false).is_empty());
    }

    #[test]
    fn llvm_is_only_for_building_the_linker() {
        let packages = of(&[Purpose::Bpf], false, true);
        assert_eq!(packages.len(), 1);
        assert!(packages[0].proof.ends_with("llvm-22/bin/llvm-config"));
    }
}
