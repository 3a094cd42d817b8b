//! Who may use a SQLite file: one operator, on a file system whose locks can be trusted, and only as long
//! as the path still is the file that was opened.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// The held lock, and what identifies the file that it is for.
#[derive(Debug)]
pub(crate) struct FileLock {
    database: PathBuf,
    lock_path: PathBuf,
    // Held until dropped. A file of its own: closing any handle of the database file drops SQLite's locks.
    lock: File,
    opened: OnceLock<Identity>,
    lost: AtomicBool,
}

/// What tells a file from another one that has taken its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

impl FileLock {
    /// Locks the database at `database` for this process, before the file itself is opened.
    ///
    /// # Errors
    /// [`Error::Locked`] when another operator has it, [`Error::NetworkFileSystem`], [`Error::File`].
    pub(crate) fn acquire(database: &Path) -> Result<Self, Error> {
        let lock_path = beside(database, ".lock");
        let file_error = |source| Error::File {
            path: lock_path.clone(),
            source,
        };
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(file_error)?;
        let kind = rustix::fs::fstatfs(&lock)
            .map_err(|error| file_error(error.into()))?
            .f_type;
        if let Some(kind) = untrusted(kind) {
            return Err(Error::NetworkFileSystem {
                path: database.to_owned(),
                kind,
            });
        }
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Locked { path: lock_path }),
            Err(TryLockError::Error(source)) => {
                return Err(Error::File {
                    path: lock_path,
                    source,
                });
            }
        }
        let (database, lost) = (database.to_owned(), AtomicBool::new(false));
        Ok(Self {
            database,
            lock_path,
            lock,
            opened: OnceLock::new(),
            lost,
        })
    }

    /// Remembers which file the path is now that SQLite has opened it.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be looked at.
    pub(crate) fn remember(&self) -> Result<(), Error> {
        let metadata = std::fs::metadata(&self.database).map_err(|source| Error::File {
            path: self.database.clone(),
            source,
        })?;
        self.opened.get_or_init(|| Identity::of(&metadata));
        self.check()
    }

    /// Looks whether path and lock still are the files that were opened. SQLite itself would write on into
    /// a deleted file. Once lost is lost for ever: what was put in its place is another store.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        let lost = || Error::Lost {
            path: self.database.clone(),
        };
        if self.lost.load(Ordering::Acquire) {
            return Err(lost());
        }
        let now = |path: &Path| {
            std::fs::metadata(path)
                .ok()
                .map(|metadata| Identity::of(&metadata))
        };
        let locked = self
            .lock
            .metadata()
            .ok()
            .map(|metadata| Identity::of(&metadata));
        let same_lock = locked.is_some() && now(&self.lock_path) == locked;
        if same_lock && now(&self.database) == self.opened.get().copied() {
            return Ok(());
        }
        self.lost.store(true, Ordering::Release);
        Err(lost())
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The name of a file system on which SQLite's locks or its shared memory are not safe, by the magic number
/// of `statfs(2)`. FUSE is among them: what lies behind it cannot be known.
fn untrusted(magic: i64) -> Option<&'static str> {
    const KINDS: &[(i64, &str)] = &[
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB 2"),
        (0x00c3_6400, "CephFS"),
        (0x5346_414f, "AFS"),
        (0x6b41_4653, "kAFS"),
        (0x7375_7245, "Coda"),
        (0x0102_1997, "9P"),
        (0x0bd0_0bd0, "Lustre"),
        (0x4750_4653, "GPFS"),
        (0x7461_636f, "OCFS2"),
        (0x0116_1970, "GFS2"),
        (0x6573_5546, "FUSE"),
        (0x786f_4256, "VirtualBox shared folders"),
    ];
    // The field is signed and of 32 bits on some machines.
    let magic = magic & 0xffff_ffff;
    KINDS
        .iter()
        .find(|(known, _)| *known == magic)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        for (magic, wanted) in [
            (0x6969, Some("NFS")),
            (0xff53_4d42_u32 as i32 as i64, Some("CIFS")),
            (0x6573_5546, Some("FUSE")),
            (0xef53, None),
            (0x5846_5342, None),
            (0x9123_683e, None),
            (0x0102_1994, None),
            (0x794c_7630, None),
        ] {
            assert_eq!(untrusted(magic), wanted, "{magic:x}");
        }
    }

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let first = FileLock::acquire(&path).unwrap();
        assert!(matches!(
            FileLock::acquire(&path),
            Err(Error::Locked { .. })
        ));
        drop(first);
        FileLock::acquire(&path).unwrap();
    }

    #[test]
    fn a_file_that_was_taken_away_or_replaced_is_lost_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        for victim in ["store.db", "store.db.lock"] {
            let path = folder.path().join("store.db");
            std::fs::write(&path, "one").unwrap();
            let lock = FileLock::acquire(&path).unwrap();
            lock.remember().unwrap();
            lock.check().unwrap();
            let (victim, aside) = (folder.path().join(victim), folder.path().join("aside"));
            std::fs::rename(&victim, &aside).unwrap();
            assert!(matches!(lock.check(), Err(Error::Lost { .. })));
            std::fs::rename(&aside, &victim).unwrap();
            assert!(matches!(lock.check(), Err(Error::Lost { .. })));
        }
    }
}
