//! Files that a CLI reads at its start: written before it, and taken away after it where they hold secrets.

use std::io;
use std::path::{Path, PathBuf};

use crate::adapter::LaunchFile;
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
    let folder = file.path.parent().unwrap_or(Path::new("/"));
    files::ensure_folder(folder)?;
    // The agent of an earlier task may have put a link here that leads out of its own folders.
    let real = folder.canonicalize()?;
    if real != folder {
        return Err(io::Error::other(format!(
            "its folder must be named as it is, from the root and without links and \"..\"; it is {}",
            real.display()
        )));
    }
    files::replace(&file.path, &file.content, MODE)
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
