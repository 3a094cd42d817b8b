//! What an image is built from: a folder of its own, and a key of everything in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// Copies an image's files and the programs that its Dockerfile names as `bin/<program>` into `target`.
///
/// Sources of programs that live in the same folder are not part of an image.
pub(super) fn assemble(image: &Path, programs: &[PathBuf], target: &Path) -> Result<()> {
    if target.exists() {
        fs::remove_dir_all(target).context("remove an older build context")?;
    }
    fs::create_dir_all(target.join("bin"))?;
    let dockerfile = image.join("Dockerfile");
    let text = fs::read_to_string(&dockerfile)
        .with_context(|| format!("read {}", dockerfile.display()))?;
    copy(image, target)?;
    for name in named_programs(&text) {
        let Some(program) = programs
            .iter()
            .find(|program| program.file_name().is_some_and(|file| file == name))
        else {
            bail!(
                "{} names bin/{name}, which is none of our programs",
                dockerfile.display()
            );
        };
        fs::copy(program, target.join("bin").join(name))
            .with_context(|| format!("copy {}", program.display()))?;
    }
    Ok(())
}

/// A key of all files below a folder, with their names, and of `more`.
pub(super) fn key(folder: &Path, more: &[&str]) -> Result<String> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        let content = fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        let name = file.strip_prefix(folder).unwrap_or(&file);
        digest.update(format!("{}\0{}\0", name.display(), content.len()));
        digest.update(content);
    }
    more.iter()
        .for_each(|text| digest.update(format!("{text}\0")));
    Ok(hex::encode(digest.finalize())[..12].to_owned())
}

/// Programs that a Dockerfile copies out of `bin/`.
fn named_programs(dockerfile: &str) -> Vec<&str> {
    let copies = dockerfile
        .lines()
        .filter(|line| line.starts_with("COPY") || line.starts_with("ADD"));
    copies
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.strip_prefix("bin/"))
        .collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_file() {
            if entry.file_name() != "Cargo.toml" {
                fs::copy(entry.path(), target)?;
            }
        } else if !["src", "tests"]
            .iter()
            .any(|sources| entry.file_name() == *sources)
        {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(dockerfile: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("image/Dockerfile", dockerfile),
            ("image/src/main.rs", "x"),
            ("image/etc/a", "a"),
            ("moor", "m"),
            ("x", "x"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn a_context_holds_files_and_named_programs() {
        let folder = image("FROM x\nCOPY bin/moor /bin/\n");
        let at = |name: &str| folder.path().join(name);
        assemble(&at("image"), &[at("moor"), at("x")], &at("context")).unwrap();
        let mut files = Vec::new();
        list(&at("context"), &mut files).unwrap();
        files.sort();
        assert_eq!(
            files,
            [
                at("context/Dockerfile"),
                at("context/bin/moor"),
                at("context/etc/a")
            ]
        );
    }

    #[test]
    fn an_unknown_program_is_an_error() {
        let folder = image("COPY bin/gone /\n");
        let error = assemble(
            &folder.path().join("image"),
            &[],
            &folder.path().join("context"),
        )
        .unwrap_err();
        assert!(error.to_string().contains("names bin/gone"), "{error}");
    }

    #[test]
    fn the_key_follows_content_names_and_base() {
        let folder = image("FROM x\n");
        let of = |base: &str| key(&folder.path().join("image"), &[base]).unwrap();
        let before = of("a");
        assert_eq!(before, of("a"));
        assert_ne!(before, of("b"));
        fs::rename(
            folder.path().join("image/etc/a"),
            folder.path().join("image/etc/b"),
        )
        .unwrap();
        assert_ne!(before, of("a"));
    }
}
