//! The two images that are made from nothing: a small Debian, and the container that holds a pod's namespaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::build::{buildah, export};
use super::{BASE, Image, PAUSE};
use crate::command;
use crate::home::Home;
use crate::progress::step;

const SUITE: &str = "bookworm";
const PAUSE_SOURCE: &str = include_str!("pause.c");

/// The Debian that images are built on here; made once.
///
/// # Errors
/// When debootstrap or buildah fail.
pub fn base(home: &Home) -> Result<Image> {
    make(
        home,
        BASE,
        &format!("debootstrap minbase {SUITE}, without documentation"),
        |root| {
            let mut debootstrap = Command::new("debootstrap");
            debootstrap.args(["--variant=minbase", SUITE]).arg(root);
            step(&format!("debootstrap {SUITE} (once)"), || {
                command::run(&mut debootstrap)
            })?;
            // What apt fetched, and what people read, is of no use inside; it would be imported with every cluster.
            for folder in [
                "var/cache/apt/archives",
                "var/lib/apt/lists",
                "usr/share/doc",
                "usr/share/locale",
                "usr/share/man",
            ] {
                fs::remove_dir_all(root.join(folder))
                    .with_context(|| format!("remove {folder}"))?;
            }
            for folder in [
                "var/cache/apt/archives/partial",
                "var/lib/apt/lists/partial",
            ] {
                fs::create_dir_all(root.join(folder)).context("keep apt's folders")?;
            }
            Ok(&["--cmd", "bash"])
        },
    )
}

/// The image of the sandbox container.
///
/// # Errors
/// When the compiler or buildah fail.
pub fn pause(home: &Home) -> Result<Image> {
    make(home, PAUSE, PAUSE_SOURCE, |root| {
        let source = root.with_extension("c");
        fs::write(&source, PAUSE_SOURCE)?;
        command::run(
            Command::new("cc")
                .args(["-Os", "-static", "-s", "-o"])
                .arg(root.join("pause"))
                .arg(&source),
        )?;
        fs::remove_file(&source)?;
        Ok(&["--entrypoint", r#"["/pause"]"#])
    })
}

/// Fills a folder and makes an image of it, unless one from the same recipe is there.
fn make(
    home: &Home,
    reference: &str,
    recipe: &str,
    fill: impl FnOnce(&Path) -> Result<&'static [&'static str]>,
) -> Result<Image> {
    let key = &hex::encode(Sha256::digest(recipe))[..12];
    let name = reference
        .rsplit('/')
        .next()
        .unwrap_or(reference)
        .replace(':', "-");
    let archive = home.images().join(format!("{name}-{key}.tar"));
    if archive.exists() {
        return Ok(Image {
            reference: reference.to_owned(),
            archive,
        });
    }
    let root: PathBuf = home.images().join(format!("{name}.root"));
    if root.exists() {
        fs::remove_dir_all(&root).context("remove what an interrupted build left")?;
    }
    fs::create_dir_all(&root)?;
    let configuration = fill(&root)?;
    let container = command::capture(buildah(home).args(["from", "scratch"]))?;
    let container = container.trim();
    let made = step(&format!("making the image {reference}"), || {
        command::run(
            buildah(home)
                .args(["copy", "--quiet", container])
                .arg(&root)
                .arg("/"),
        )?;
        command::run(
            buildah(home)
                .arg("config")
                .args(configuration)
                .arg(container),
        )?;
        command::run(buildah(home).args(["commit", "--quiet", container, reference]))?;
        export(home, reference, &archive)
    });
    let removed = command::run(buildah(home).args(["rm", container]));
    made.and(removed)?;
    fs::remove_dir_all(&root).context("remove the folder of the image")?;
    Ok(Image {
        reference: reference.to_owned(),
        archive,
    })
}
