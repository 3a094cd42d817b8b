//! What we need from the machine, checked before anything starts, installed where that is possible.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::progress::step;

/// A Debian package and a file that shows that it, or something equal, is there.
///
/// A bare name is looked for in the folders of programs, a path as it stands; `*` stands for one folder.
#[derive(Debug)]
pub struct Package {
    name: &'static str,
    shown_by: &'static str,
}

const fn package(name: &'static str, shown_by: &'static str) -> Package {
    Package { name, shown_by }
}

/// What the cluster and its images need.
pub const CLUSTER: &[Package] = &[
    package("buildah", "buildah"),
    package("ca-certificates", "/etc/ssl/certs/ca-certificates.crt"),
    package("conntrack", "conntrack"),
    package("containernetworking-plugins", "/usr/lib/cni/bridge"),
    package("debootstrap", "debootstrap"),
    package("e2fsprogs", "mkfs.ext4"),
    package("gcc", "cc"),
    package("iproute2", "ip"),
    package("ipset", "ipset"),
    package("iptables", "iptables"),
    package("libc6-dev", "/usr/include/stdlib.h"),
    package("libseccomp-dev", "/usr/include/seccomp.h"),
    package("musl-tools", "musl-gcc"),
    package("nftables", "nft"),
    package("openssl", "openssl"),
    package("pkg-config", "pkg-config"),
    package("socat", "socat"),
    package("util-linux", "nsenter"),
];

/// What the demo needs beyond the cluster.
pub const DEMO: &[Package] = &[package("curl", "curl")];

/// What installing the real command lines needs.
pub const CLIS: &[Package] = &[package("npm", "npm")];

/// What tests on a real PostgreSQL need.
pub const POSTGRES: &[Package] = &[package("postgresql", "/usr/lib/postgresql/*/bin/initdb")];

/// Folders of programs that a root shell may lack in its PATH.
pub(crate) const SYSTEM_FOLDERS: &[&str] = &[
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Makes sure that root, Go, Rust's target for images and `packages` are there; installs what it can.
///
/// # Errors
/// When something lacks that cannot be installed from here; the message holds the command that brings it.
pub fn ensure(packages: &[Package]) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!(
            "the cluster needs root (network namespaces, mounts, cgroups): run this command as root"
        );
    }
    install(&missing(packages))?;
    if find("go").is_none() {
        bail!(
            "Go 1.26 or later is missing: it builds the cluster's programs. Install it from https://go.dev/dl/"
        );
    }
    Ok(())
}

/// Makes sure that Rust can build static programs for images.
///
/// # Errors
/// When the target is missing and rustup cannot add it.
pub fn ensure_static_target() -> Result<()> {
    let mut ask = Command::new("rustc");
    let folder = command::capture(ask.args([
        "--print",
        "target-libdir",
        "--target",
        crate::images::TARGET,
    ]))?;
    if Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    step("adding Rust's static target", || {
        command::run(Command::new("rustup").args(["target", "add", crate::images::TARGET]))
    })
}

/// The programs folder that holds `name`, as PATH and the system's own folders say.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Files that fit a path in which `*` stands for one folder name.
pub fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((parent, rest)) = pattern.split_once("/*/") else {
        return Some(PathBuf::from(pattern))
            .filter(|path| path.exists())
            .into_iter()
            .collect();
    };
    let folders = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = folders
        .map(|folder| folder.path().join(rest))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found
}

fn missing(packages: &[Package]) -> Vec<&'static str> {
    let there = |shown_by: &str| match shown_by.starts_with('/') {
        true => !matching(shown_by).is_empty(),
        false => find(shown_by).is_some(),
    };
    packages
        .iter()
        .filter(|package| !there(package.shown_by))
        .map(|package| package.name)
        .collect()
}

fn install(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if find("apt-get").is_none() {
        bail!("missing on this machine: {names} (on Debian: apt-get install {names})");
    }
    step(&format!("apt-get install {names}"), || {
        let apt = || {
            let mut apt = Command::new("apt-get");
            apt.env("DEBIAN_FRONTEND", "noninteractive");
            apt
        };
        command::run(apt().args(["update", "-q"]))?;
        command::run(
            apt()
                .args(["install", "-q", "-y", "--no-install-recommends"])
                .args(missing),
        )
    })
    .with_context(|| format!("install what is missing: apt-get install {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let wanted = [
            package("shell", "sh"),
            package("gone", "no-such-program"),
            package("gone-too", "/no/*/file"),
        ];
        assert_eq!(missing(&wanted), ["gone", "gone-too"]);
    }

    #[test]
    fn a_star_stands_for_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["15", "17"] {
            std::fs::create_dir_all(folder.path().join(version).join("bin")).unwrap();
        }
        let found = matching(&format!("{}/*/bin", folder.path().display()));
        assert_eq!(
            found,
            [folder.path().join("15/bin"), folder.path().join("17/bin")]
        );
    }
}
