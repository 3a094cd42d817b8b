//! Small files in folders where an agent can write: links are not followed, pipes are not waited for, sizes are
//! bounded, and nobody ever sees half a file.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// All rights of the owner.
const OWN: u32 = 0o700;
/// Names that are tried for what is moved aside.
const ASIDE: u32 = 100;
/// Links that are followed in one path, as the kernel does.
const LINKS: u32 = 40;

/// Makes a folder for this user alone, with those above it. True when it was there already; then this user may
/// use it again, should an agent have taken away its rights.
///
/// # Errors
/// When something else has its name, or it cannot be made.
pub fn ensure_folder(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            let mode = found.permissions().mode() & 0o7777;
            if mode & OWN != OWN {
                fs::set_permissions(path, fs::Permissions::from_mode(mode | OWN))?;
            }
            Ok(true)
        }
        Ok(_) => Err(io::Error::other(format!(
            "{} is not a folder",
            path.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(OWN).create(path)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The same for a folder of our own, in which nothing of value lies: what else has its name is removed.
///
/// # Errors
/// When it cannot be removed or made.
pub fn ensure_own_folder(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir()) {
        fs::remove_file(path)?;
    }
    ensure_folder(path).map(|_| ())
}

/// Moves what has this name to the first free one of `name.set-aside-1` and so on, in the same folder. A link is
/// moved itself, and nothing is removed.
///
/// # Errors
/// When it cannot be moved, or all those names are taken.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=ASIDE {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".set-aside-{number}"));
        let aside = path.with_file_name(name);
        // Not the flag by which the kernel looks itself: network file systems lack it, and nobody else is
        // at work here yet.
        match fs::symlink_metadata(&aside) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::rename(path, &aside)?;
                return Ok(aside);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!(
        "it is in the way, and {ASIDE} others were moved aside before it: remove some of those"
    )))
}

/// Moves what has this name to `name.set-aside`. What was moved there before is removed; where that cannot be, it gets a name
/// that nobody can have taken.
///
/// # Errors
/// When it cannot be moved.
pub fn set_aside_anew(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".set-aside");
    let aside = path.with_file_name(name);
    let removed = match fs::symlink_metadata(&aside) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&aside),
        Ok(_) => fs::remove_file(&aside),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    let aside = match removed {
        Ok(()) => aside,
        Err(_) => aside.with_extension(format!("{:016x}", rand::random::<u64>())),
    };
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// What a whole path leads to, link by link, whether it is there or not. What the kernel shows of processes it shows of each
/// one differently, so that stays as it is written.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut real, mut rest, mut links) = (PathBuf::from("/"), parts(path), 0);
    while let Some(part) = rest.pop() {
        let Some(part) = Path::new(&part).components().next() else {
            continue;
        };
        match part {
            Component::Prefix(_) | Component::CurDir => continue,
            Component::RootDir => {
                real = PathBuf::from("/");
                continue;
            }
            Component::ParentDir => {
                real.pop();
                continue;
            }
            Component::Normal(_) => {}
        }
        let next = real.join(part);
        if real == Path::new("/proc") && is_process(part) {
            real = next;
            real.extend(rest.iter().rev());
            return real;
        }
        match fs::read_link(&next) {
            Ok(target) if links < LINKS => {
                links += 1;
                rest.extend(parts(&target));
            }
            Ok(_) | Err(_) => real = next,
        }
    }
    real
}

/// True for a name under `/proc` that stands for a process.
pub(crate) fn is_process(name: Component<'_>) -> bool {
    let name = name.as_os_str().as_encoded_bytes();
    matches!(name, b"self" | b"thread-self")
        || !name.is_empty() && name.iter().all(u8::is_ascii_digit)
}

/// Reads a file of at most `limit` bytes; `None` when there is none.
///
/// # Errors
/// When it is a link, no regular file, too large, or cannot be read.
pub fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(io::Error::other("it is a link"));
        }
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(Some(bytes))
}

/// Replaces a file in one step. What had its name is gone, unless it was a folder.
///
/// # Errors
/// When it cannot be written; then the old one stays.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // A name that nobody can have taken: an agent could leave a folder under one that it knows.
    name.push(format!(".{:016x}.new", rand::random::<u64>()));
    let new = path.with_file_name(name);
    let written = write_new(&new, bytes, mode).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // What is left of it must not stop the next try.
        let _ = fs::remove_file(&new);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    // The mode asked for, whatever the umask.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_file_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("plain"), "text").unwrap();
        std::os::unix::fs::symlink(at("plain"), at("link")).unwrap();
        let pipe = at("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(read(&at("plain"), 4).unwrap(), Some(b"text".to_vec()));
        assert_eq!(read(&at("none"), 4).unwrap(), None);
        for (name, limit) in [("plain", 3), ("link", 9), ("pipe", 9), (".", 9)] {
            assert!(read(&at(name), limit).is_err(), "{name}");
        }
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        replace(&link, b"new", 0o640).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old");
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert_eq!(
            fs::metadata(&link).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_moved_aside_is_moved_itself_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("target"), "old").unwrap();
        std::os::unix::fs::symlink(at("target"), at("x")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("x.set-aside-1")).unwrap();
        assert_eq!(set_aside(&at("x")).unwrap(), at("x.set-aside-2"));
        assert_eq!(fs::read_link(at("x.set-aside-2")).unwrap(), at("target"));
        assert_eq!(fs::read(at("target")).unwrap(), b"old");
        fs::create_dir(at("x")).unwrap();
        fs::write(at("x/inner"), "kept").unwrap();
        assert_eq!(set_aside(&at("x")).unwrap(), at("x.set-aside-3"));
        assert_eq!(fs::read(at("x.set-aside-3/inner")).unwrap(), b"kept");

        for number in 4..=ASIDE {
            fs::write(at(&format!("x.set-aside-{number}")), "mine").unwrap();
        }
        fs::write(at("x"), "stays").unwrap();
        let error = set_aside(&at("x")).unwrap_err().to_string();
        assert!(error.contains("remove some"), "{error}");
        assert_eq!(fs::read(at("x")).unwrap(), b"stays");
        assert_eq!(fs::read(at("x.set-aside-4")).unwrap(), b"mine");
    }

    #[test]
    fn one_of_a_name_is_kept_aside() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for number in 0..=ASIDE {
            match number % 2 {
                0 => fs::write(at("x"), "old").unwrap(),
                _ => fs::create_dir_all(at("x/inner")).unwrap(),
            }
            assert_eq!(set_aside_anew(&at("x")).unwrap(), at("x.set-aside"));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_made_once_and_nothing_else_taken_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        assert!(!ensure_folder(&folder).unwrap());
        assert!(ensure_folder(&folder).unwrap());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(ensure_folder(&link).is_err());
    }
}
