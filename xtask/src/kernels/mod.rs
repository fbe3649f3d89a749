//! The test kernels: Debian's own packages, verified by apt, kept in the cache.

mod apt;
pub mod catalog;
mod sources;
pub mod version;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::setup::{self, Purpose};
use crate::{paths, process};
use apt::Apt;
use catalog::{Choice, ERAS, Era};

/// The era that guests run when nobody says otherwise.
pub const DEFAULT: &str = "6.12";

/// A kernel ready to boot.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The era's name, or the file's for an image of one's own.
    pub name: String,
    /// As `uname -r` says it; the file's name for an image of one's own.
    pub release: String,
    /// The bzImage.
    pub image: PathBuf,
    /// Directory of its modules; an image of one's own has none.
    pub modules: Option<PathBuf>,
}

/// Finds the kernel that `name` means: an era, fetched if it is not in the cache, or a path.
///
/// # Errors
/// There is no such era or file, or an era cannot be fetched.
pub fn resolve(name: &str) -> Result<Kernel> {
    if let Some(era) = Era::find(name) {
        return match cached(era)? {
            Some(kernel) => Ok(kernel),
            None => fetch(&[era])?
                .pop()
                .with_context(|| format!("kernel {name} was not fetched")),
        };
    }
    let image = PathBuf::from(name);
    if !image.is_file() {
        bail!(
            "no kernel {name}: give one of {}, or the path of an image",
            catalog::names()
        );
    }
    let release = image
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(Kernel {
        name: release.clone(),
        release,
        image,
        modules: None,
    })
}

/// `cargo xtask kernels list`.
///
/// # Errors
/// The cache cannot be read.
pub fn list() -> Result<()> {
    for era in &ERAS {
        let release = cached(era)?.map(|kernel| kernel.release);
        let release = release.as_deref().unwrap_or("not fetched");
        println!("{:8} {release:28} {}", era.name, era.why);
    }
    Ok(())
}

/// `cargo xtask kernels fetch`: the newest package of each named era, or of all.
///
/// # Errors
/// A name is unknown, or a package cannot be fetched.
pub fn fetch_named(names: &[String]) -> Result<()> {
    let mut eras = Vec::new();
    for name in names {
        match Era::find(name) {
            Some(era) => eras.push(era),
            None if name == "all" => eras.extend(&ERAS),
            None => bail!("no kernel {name}: give one of {}, or all", catalog::names()),
        }
    }
    for kernel in fetch(&eras)? {
        println!(
            "{:8} {:28} {}",
            kernel.name,
            kernel.release,
            kernel.image.display()
        );
    }
    Ok(())
}

/// Fetches the newest kernel of each of `eras`; one in the cache already is not fetched again.
///
/// # Errors
/// The mirror has no package for an era, or a package cannot be fetched or unpacked.
pub fn fetch(eras: &[&'static Era]) -> Result<Vec<Kernel>> {
    setup::ensure(&[Purpose::Guests])?;
    let dir = dir()?;
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    // Two of us may want kernels at once; apt's lists have room for one.
    let lock = dir.join("lock");
    let lock = File::create(&lock).with_context(|| format!("cannot write {}", lock.display()))?;
    lock.lock().context("cannot lock the kernel cache")?;
    let apt = Apt::open(&dir.join("apt"))?;
    eras.iter().map(|era| fetch_one(era, &apt, &dir)).collect()
}

fn fetch_one(era: &'static Era, apt: &Apt, dir: &Path) -> Result<Kernel> {
    let mut available = Vec::new();
    for prefix in era.prefixes() {
        available.extend(apt.names(&prefix)?);
    }
    let Some(choice) = era.newest(&available) else {
        bail!(
            "the mirror has no package for kernel {} (looked for {})",
            era.name,
            era.prefixes()
                .map(|prefix| prefix + "*")
                .collect::<Vec<_>>()
                .join(", ")
        );
    };
    let home = dir.join(era.name).join(&choice.release);
    if !home.is_dir() {
        eprintln!("kernels: fetching {}", choice.packages.join(" "));
        unpack(&choice, apt, &home)?;
    }
    Ok(kernel_in(era, choice.release, &home))
}

/// Downloads the packages of `choice` and leaves image and modules in `home`, or leaves nothing.
fn unpack(choice: &Choice, apt: &Apt, home: &Path) -> Result<()> {
    let scratch = home.with_extension(format!("partial-{}", std::process::id()));
    let staged = scratch.join("staged");
    let tree = scratch.join("tree");
    fs::create_dir_all(&staged).with_context(|| format!("cannot create {}", staged.display()))?;
    for package in apt.download(&choice.packages, &scratch)? {
        process::capture(Command::new("dpkg-deb").arg("-x").arg(package).arg(&tree))?;
    }
    let release = &choice.release;
    let images = [
        format!("boot/vmlinuz-{release}"),
        format!("usr/lib/modules/{release}/vmlinuz"),
    ];
    take(&tree, &images, &staged.join("vmlinuz"))?;
    let modules = [
        format!("lib/modules/{release}"),
        format!("usr/lib/modules/{release}"),
    ];
    take(&tree, &modules, &staged.join("modules"))?;
    fs::rename(&staged, home).with_context(|| format!("cannot create {}", home.display()))?;
    fs::remove_dir_all(&scratch).with_context(|| format!("cannot remove {}", scratch.display()))
}

/// Moves the first of `places` in `tree` that exists to `to`.
fn take(tree: &Path, places: &[String], to: &Path) -> Result<()> {
    let found = places
        .iter()
        .map(|place| tree.join(place))
        .find(|place| place.exists());
    let found =
        found.with_context(|| format!("the package holds none of {}", places.join(", ")))?;
    fs::rename(&found, to).with_context(|| format!("cannot move {}", found.display()))
}

/// The newest kernel of `era` in the cache.
fn cached(era: &'static Era) -> Result<Option<Kernel>> {
    let Ok(entries) = fs::read_dir(dir()?.join(era.name)) else {
        return Ok(None);
    };
    let homes = entries.flatten().map(|entry| entry.path());
    let newest = homes
        .filter(|home| home.join("vmlinuz").is_file())
        .filter_map(|home| Some((home.file_name()?.to_str()?.to_owned(), home.clone())))
        .max_by(|(left, _), (right, _)| version::compare(left, right));
    Ok(newest.map(|(release, home)| kernel_in(era, release, &home)))
}

fn kernel_in(era: &Era, release: String, home: &Path) -> Kernel {
    Kernel {
        name: era.name.to_owned(),
        release,
        image: home.join("vmlinuz"),
        modules: Some(home.join("modules")),
    }
}

fn dir() -> Result<PathBuf> {
    Ok(paths::cache()?.join("kernels"))
}
