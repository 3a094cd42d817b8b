//! Builds images from their Dockerfiles, and the programs that go into them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{BASE, Image, context};
use crate::command;
use crate::home::Home;
use crate::packages;
use crate::progress::step;

/// Programs in images are static, so that they run on any base.
pub const TARGET: &str = "x86_64-unknown-linux-musl";

const PACKAGES: [&str; 4] = ["operator", "runner", "cli", "fakes"];
const PROGRAMS: [&str; 4] = [
    "mooring-operator",
    "mooring-runner",
    "moor",
    "mooring-fake-agent",
];
/// Certificates of the machine, for npm: a network may have its own authority.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Where RUN steps see them. Not where Debian keeps them, else its package of certificates could not be installed.
const CERTIFICATES_INSIDE: &str = "/run/build-ca.crt";

/// Builds the programs that go into images and returns their files.
///
/// # Errors
/// When the static target is missing or a program does not compile.
pub fn programs(checkout: &Path) -> Result<Vec<PathBuf>> {
    packages::ensure_static_target()?;
    let mut cargo = Command::new("cargo");
    cargo.current_dir(checkout).args([
        "build",
        "--release",
        "--target",
        TARGET,
        "--message-format=short",
    ]);
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    step("compiling the programs of the images", || {
        command::run(&mut cargo)
    })?;
    let metadata = command::capture(Command::new("cargo").current_dir(checkout).args([
        "metadata",
        "--no-deps",
        "--format-version=1",
    ]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"]
        .as_str()
        .context("cargo metadata without a target directory")?;
    let folder = Path::new(target).join(TARGET).join("release");
    Ok(PROGRAMS
        .iter()
        .map(|program| folder.join(program))
        .collect())
}

/// Builds the image `name` from a folder with a Dockerfile, unless the same content was built before.
///
/// # Errors
/// When its Dockerfile names a program that is not among `programs`, or the build fails.
pub fn build(home: &Home, name: &str, folder: &Path, programs: &[PathBuf]) -> Result<Image> {
    let base = super::base(home)?;
    let scratch = home.images().join(format!("{name}.context"));
    context::assemble(folder, programs, &scratch)?;
    let tag = context::key(&scratch, &[&base.archive.to_string_lossy()])?;
    let reference = format!("localhost/mooring/{name}:{tag}");
    let archive = home.images().join(format!("{name}-{tag}.tar"));
    if !archive.exists() {
        step(&format!("building the image {reference}"), || {
            load_base(home, &base)?;
            command::run(dockerfile(home, &reference, &scratch).arg(&scratch))?;
            export(home, &reference, &archive)
        })?;
        forget_older(home, name, &archive)?;
    }
    fs::remove_dir_all(&scratch).context("remove the build context")?;
    Ok(Image { reference, archive })
}

/// The builder with storage of our own.
pub(super) fn buildah(home: &Home) -> Command {
    let mut buildah = Command::new("buildah");
    buildah.env("BUILDAH_ISOLATION", "chroot");
    buildah.arg(format!("--root={}", home.root().join("buildah").display()));
    buildah.arg(format!(
        "--runroot={}",
        home.root().join("buildah-run").display()
    ));
    buildah.arg("--storage-driver=overlay");
    buildah
}

/// Writes an image as an archive that appears when it is whole.
pub(super) fn export(home: &Home, reference: &str, archive: &Path) -> Result<()> {
    fs::create_dir_all(home.images())?;
    let partial = archive.with_extension("partial");
    if partial.exists() {
        fs::remove_file(&partial)?;
    }
    let target = format!("oci-archive:{}:{reference}", partial.display());
    command::run(buildah(home).args([
        "push",
        "--quiet",
        "--disable-compression",
        reference,
        &target,
    ]))?;
    fs::rename(&partial, archive).context("keep the archive")
}

/// RUN steps see the machine's network, certificates and npm settings, none of which is written down here.
fn dockerfile(home: &Home, reference: &str, scratch: &Path) -> Command {
    let mut build = buildah(home);
    build.args([
        "build",
        "--quiet",
        "--pull-never",
        "--layers=false",
        "--network=host",
        "--tag",
        reference,
    ]);
    build.arg(format!("--build-arg=BASE={BASE}"));
    if Path::new(CERTIFICATES).exists() {
        build.arg(format!("--volume={CERTIFICATES}:{CERTIFICATES_INSIDE}:ro"));
        build.arg(format!(
            "--build-arg=NODE_EXTRA_CA_CERTS={CERTIFICATES_INSIDE}"
        ));
    }
    let npm = std::env::home_dir()
        .map(|home| home.join(".npmrc"))
        .filter(|file| file.exists());
    if let Some(npm) = npm {
        build.arg(format!("--volume={}:/root/.npmrc:ro", npm.display()));
    }
    build.arg("--file").arg(scratch.join("Dockerfile"));
    build
}

/// The base is known to the builder's storage, unless someone emptied that.
fn load_base(home: &Home, base: &Image) -> Result<()> {
    if command::succeeds(buildah(home).args(["inspect", "--type=image", BASE])) {
        return Ok(());
    }
    command::run(
        buildah(home)
            .arg("pull")
            .arg(format!("oci-archive:{}", base.archive.display())),
    )
}

/// Keeps the newest archive of an image: every change of a program makes another.
fn forget_older(home: &Home, name: &str, newest: &Path) -> Result<()> {
    for entry in fs::read_dir(home.images())? {
        let path = entry?.path();
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let tag = file
            .strip_prefix(&format!("{name}-"))
            .and_then(|rest| rest.strip_suffix(".tar"));
        if path != newest && tag.is_some_and(|tag| tag.len() == 12 && !tag.contains('-')) {
            fs::remove_file(&path)?;
            let _ = command::run(buildah(home).args([
                "rmi",
                &format!("localhost/mooring/{name}:{}", tag.unwrap_or_default()),
            ]));
        }
    }
    Ok(())
}
