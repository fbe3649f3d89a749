//! Which modules a guest loads, in which order, and their bytes.
//!
//! Packages bring no modules.dep (depmod writes it on installation), so the order comes from what
//! each module says of itself: the `depends=` string in its `.modinfo`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// What every guest loads where it is not built in: the bus and the card of QEMU's network.
const ALWAYS: [&str; 2] = ["virtio_pci", "virtio_net"];

/// A module ready to be loaded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// Its name, with underscores.
    pub(super) name: String,
    /// The object, decompressed.
    pub(super) object: Vec<u8>,
}

/// The modules to load from the tree `dir`, dependencies first: those every guest needs, then
/// `extra`.
///
/// # Errors
/// One of `extra` is not in the tree, or a file cannot be read or decompressed.
pub(super) fn collect(dir: &Path, extra: &[String]) -> Result<Vec<Module>> {
    let mut files = BTreeMap::new();
    index(dir, &mut files)?;
    let mut wanted: Vec<String> = ALWAYS
        .iter()
        .filter(|name| files.contains_key(**name))
        .map(|name| (*name).into())
        .collect();
    for name in extra {
        let name = module_name(name);
        if !files.contains_key(&name) {
            bail!("no module {name} in {}: it may be built in", dir.display());
        }
        wanted.push(name);
    }
    let mut loaded = Vec::new();
    for name in &wanted {
        load_after_dependencies(name, &files, &mut loaded)?;
    }
    Ok(loaded)
}

/// Appends `name` to `loaded`, what it depends on before it. What has no file is built in.
fn load_after_dependencies(
    name: &str,
    files: &BTreeMap<String, PathBuf>,
    loaded: &mut Vec<Module>,
) -> Result<()> {
    let Some(file) = files.get(name) else {
        return Ok(());
    };
    if loaded.iter().any(|module| module.name == name) {
        return Ok(());
    }
    let object = read(file)?;
    for dependency in dependencies(&object) {
        load_after_dependencies(&dependency, files, loaded)?;
    }
    loaded.push(Module {
        name: name.to_owned(),
        object,
    });
    Ok(())
}

/// Fills `files` with every module below `dir`, by name.
fn index(dir: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", dir.display()))?;
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            index(&path, files)?;
        } else if let Some((name, _)) = entry.file_name().to_string_lossy().split_once(".ko") {
            files.insert(module_name(name), path);
        }
    }
    Ok(())
}

/// A module's name: file names may have dashes where names have underscores.
fn module_name(file: &str) -> String {
    file.replace('-', "_")
}

/// The module's object, decompressed by what its name ends with.
fn read(file: &Path) -> Result<Vec<u8>> {
    let program = match file.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(file).with_context(|| format!("cannot read {}", file.display())),
    };
    let mut command = Command::new(program);
    let output = command
        .args(["--decompress", "--stdout"])
        .arg(file)
        .output();
    let output = output.with_context(|| format!("cannot start {program}: please install it"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("cannot decompress {}: {}", file.display(), said.trim_end());
    }
    Ok(output.stdout)
}

/// The names in the `depends=` string of a module. The strings of `.modinfo` follow each other,
/// each ended by a zero byte, and nothing else in a module begins so.
fn dependencies(object: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = object.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let value = object.get(at + KEY.len()..).unwrap_or_default();
    let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value);
    names
        .split(',')
        .filter(|name| !name.is_empty())
        .map(module_name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, modules: &[(&str, &str)]) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("mapstorm-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join("kernel/drivers")).unwrap();
        for (file, depends) in modules {
            let object = format!("ELF\0license=GPL\0depends={depends}\0name=x\0");
            fs::write(dir.join("kernel/drivers").join(file), object).unwrap();
        }
        dir
    }

    #[test]
    fn dependencies_come_first_and_once() {
        let dir = tree(
            "order",
            &[
                ("virtio_net.ko", "virtio,virtio_ring,net_failover"),
                ("net_failover.ko", "failover"),
                ("failover.ko", ""),
                ("virtio_ring.ko", "virtio"),
                ("virtio.ko", ""),
                ("virtio_pci.ko", "virtio,virtio_ring"),
                ("veth-pair.ko", ""),
            ],
        );
        let modules = collect(&dir, &["veth-pair".into()]).unwrap();
        let names: Vec<_> = modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "virtio",
                "virtio_ring",
                "virtio_pci",
                "failover",
                "net_failover",
                "virtio_net",
                "veth_pair"
            ]
        );
        let error = collect(&dir, &["absent".into()]).unwrap_err().to_string();
        assert!(error.starts_with("no module absent in"));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_has_no_file_is_built_in() {
        let dir = tree(
            "builtin",
            &[
                ("virtio_net.ko", "net_failover"),
                ("net_failover.ko", "failover"),
            ],
        );
        let modules = collect(&dir, &[]).unwrap();
        assert_eq!(modules.len(), 2);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_module_may_depend_on_nothing() {
        assert!(dependencies(b"\0depends=\0retpoline=Y\0").is_empty());
        assert!(dependencies(b"no modinfo at all").is_empty());
    }
}
