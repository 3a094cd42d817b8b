//! Files that a CLI reads at its start: written before it, and taken away after it where they hold secrets.

use std::io;
use std::path::{Path, PathBuf};

use crate::adapter::{LaunchFile, LaunchLink};
use crate::files;

/// Rights of such a file.
const MODE: u32 = 0o600;

/// Those that were written. Dropping it removes the secret ones.
#[derive(Debug, Default)]
pub struct Written(Vec<PathBuf>);

impl Drop for Written {
    fn drop(&mut self) {
        for path in &self.0 {
            if let Err(error) = std::fs::remove_file(path)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(path = %path.display(), %error, "a file with secrets stays");
            }
        }
    }
}

/// Makes all of the links; they are of this run, as what is secret is.
///
/// # Errors
/// With the path, when one cannot be made.
pub fn link(wanted: &[LaunchLink], written: &mut Written) -> Result<(), String> {
    for link in wanted {
        link_one(link).map_err(|error| {
            let path = link.path.display();
            format!("{path} cannot be made for the agent's program: {error}")
        })?;
        written.0.push(link.path.clone());
    }
    Ok(())
}

fn link_one(link: &LaunchLink) -> io::Result<()> {
    if link.folder && !link.to.is_dir() {
        files::ensure_folder(&link.to)?;
    }
    real_folder(&link.path)?;
    std::os::unix::fs::symlink(&link.to, &link.path)
}

/// Writes all of them.
///
/// # Errors
/// With the path, when one cannot be written or would lie behind a link. Those before it are gone again, if secret.
pub fn write(wanted: &[LaunchFile]) -> Result<Written, String> {
    let mut written = Written::default();
    for file in wanted {
        if file.secret {
            written.0.push(file.path.clone());
        }
        write_one(file).map_err(|error| {
            format!(
                "{} cannot be written for the agent's program: {error}",
                file.path.display()
            )
        })?;
    }
    Ok(written)
}

fn write_one(file: &LaunchFile) -> io::Result<()> {
    real_folder(&file.path)?;
    files::replace(&file.path, &file.content, MODE)
}

/// Makes the folder of a file.
fn real_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    files::ensure_folder(folder)?;
    // The agent of an earlier task may have put a link here that leads out of its own folders.
    let real = folder.canonicalize()?;
    if real != folder {
        return Err(io::Error::other(format!(
            "its folder must be named as it is, from the root and without links and \"..\"; it is {}",
            real.display()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn file(path: PathBuf, secret: bool) -> LaunchFile {
        LaunchFile {
            path,
            content: b"value".to_vec(),
            secret,
        }
    }

    #[test]
    fn files_are_for_this_user_alone_and_secret_ones_go_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (plain, secret) = (root.join("a/b/plain"), root.join("a/secret"));
        let wanted = [file(plain.clone(), false), file(secret.clone(), true)];
        let written = write(&wanted).unwrap();
        let mode = std::fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        assert_eq!(std::fs::read(&plain).unwrap(), b"value");
        drop(written);
        assert!(plain.exists() && !secret.exists());
        assert!(!format!("{wanted:?}").contains("value"));
    }

    #[test]
    fn links_go_again_and_what_they_name_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let link = |name: &str, folder: bool| LaunchLink {
            path: root.join("run").join(name),
            to: root.join("kept").join(name),
            folder,
        };
        let wanted = [link("sessions", true), link("auth.json", false)];
        let mut written = Written::default();
        super::link(&wanted, &mut written).unwrap();
        std::fs::write(wanted[0].path.join("one"), "x").unwrap();
        assert!(std::fs::symlink_metadata(&wanted[1].path).is_ok());
        assert!(
            super::link(&wanted[..1], &mut Written::default()).is_err(),
            "once"
        );
        drop(written);
        assert!(wanted[0].to.join("one").exists());
        assert!(std::fs::symlink_metadata(&wanted[1].path).is_err());
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let elsewhere = root.join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, root.join("linked")).unwrap();
        let error = write(&[file(root.join("linked/file"), true)]).unwrap_err();
        assert!(error.contains("linked/file"), "{error}");
        assert!(!elsewhere.join("file").exists());
        let error = write(&[file(root.join("elsewhere/../file"), true)]).unwrap_err();
        assert!(
            error.ends_with(&format!("it is {}", root.display())),
            "{error}"
        );
        assert!(!root.join("file").exists());

        // A link in the place of the file is replaced, and what it names stays.
        let target = elsewhere.join("target");
        std::fs::write(&target, "theirs").unwrap();
        symlink(&target, root.join("file")).unwrap();
        let _written = write(&[file(root.join("file"), false)]).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"theirs");
        assert_eq!(std::fs::read(root.join("file")).unwrap(), b"value");
    }
}
