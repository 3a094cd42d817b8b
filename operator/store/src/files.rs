//! The contents of attachments: files on the operator's volume, each under the id of its row.
//!
//! A file is written beside, synced, and moved to its place before its row is written; a row goes before its file
//! does. So a row always has its file, and a crash leaves at most a file without a row, which [`Files::sweep`] takes
//! away.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use protocol::AttachmentId;
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use crate::tasks::new_id;
use crate::{Error, Store};

/// What is on its way has this ending.
const PART: &str = "part";
/// A file without a row may still get one as long as it is younger than this; no upload takes so long.
const SETTLED: Duration = Duration::from_secs(3600);
/// The database lies on the same volume. Of every so many bytes one is kept for it, …
const RESERVE: u64 = 10;
/// … but of a large volume no more than this.
const RESERVE_MOST: u64 = 512 * 1024 * 1024;

/// The folder with the contents. A clone is the same folder.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

/// A file on its way. Dropped without [`Incoming::keep`], it never was.
#[derive(Debug)]
pub struct Incoming {
    id: AttachmentId,
    files: Files,
    file: tokio::fs::File,
    digest: Sha256,
    bytes: u64,
    kept: bool,
}

/// A file that is in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Under which id.
    pub id: AttachmentId,
    /// Length.
    pub bytes: u64,
    /// SHA-256.
    pub digest: [u8; 32],
}

impl Files {
    /// Opens the folder, and makes it where it is not there. What was on its way when the last operator ended is
    /// taken away.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn open(root: &Path) -> Result<Self, Error> {
        let files = Self {
            root: root.to_owned(),
        };
        std::fs::create_dir_all(root).map_err(failed(root))?;
        for path in files.there()? {
            if path.extension().is_some_and(|ending| ending == PART) {
                std::fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        Ok(files)
    }

    /// Whether the volume has room for so many bytes more beside what the database needs.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn has_room(&self, bytes: u64) -> Result<bool, Error> {
        let volume = rustix::fs::statvfs(&self.root)
            .map_err(|error| failed(&self.root)(io::Error::from(error)))?;
        let free = volume.f_bavail.saturating_mul(volume.f_frsize);
        let whole = volume.f_blocks.saturating_mul(volume.f_frsize);
        let reserve = (whole / RESERVE).min(RESERVE_MOST);
        Ok(free.saturating_sub(reserve) >= bytes)
    }

    /// Begins a file.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Invalid`] for an instant before 1970.
    pub async fn begin(&self, now: Timestamp) -> Result<Incoming, Error> {
        let id = AttachmentId(new_id(now)?);
        let path = self.part(id);
        let mut options = tokio::fs::OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path).await.map_err(failed(&path))?;
        Ok(Incoming {
            id,
            files: self.clone(),
            file,
            digest: Sha256::new(),
            bytes: 0,
            kept: false,
        })
    }

    /// The content of an attachment.
    ///
    /// # Errors
    /// [`Error::File`], also when it is not there.
    pub async fn read(&self, id: AttachmentId) -> Result<tokio::fs::File, Error> {
        let path = self.place(id);
        tokio::fs::File::open(&path).await.map_err(failed(&path))
    }

    /// Takes away the content of an attachment that has no row. One that is gone already is no error.
    ///
    /// # Errors
    /// [`Error::File`].
    pub async fn remove(&self, id: AttachmentId) -> Result<(), Error> {
        let path = self.place(id);
        match tokio::fs::remove_file(&path).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Takes away what has no row and is old enough to get none, and says how many that were. Grows with the number
    /// of files, so it is done now and then, never for a request.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Unavailable`].
    pub async fn sweep(&self, store: &Store, now: Timestamp) -> Result<u64, Error> {
        let mut removed = 0;
        // A long list would keep the thread from its other work.
        let files = self.clone();
        let settled = tokio::task::spawn_blocking(move || files.settled(now));
        let settled = settled
            .await
            .map_err(|error| failed(&self.root)(io::Error::other(error)))??;
        for id in settled {
            if !store.has_attachment(id).await? {
                self.remove(id).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// What is old enough to have its row.
    fn settled(&self, now: Timestamp) -> Result<Vec<AttachmentId>, Error> {
        let there = self.there()?.into_iter();
        let settled = there.filter(|path| is_settled(path, now));
        Ok(settled.filter_map(|path| id(&path)).collect())
    }

    fn there(&self) -> Result<Vec<PathBuf>, Error> {
        let entries = std::fs::read_dir(&self.root).map_err(failed(&self.root))?;
        let path = |entry: io::Result<std::fs::DirEntry>| entry.map(|entry| entry.path());
        entries
            .map(path)
            .collect::<Result<_, _>>()
            .map_err(failed(&self.root))
    }

    fn place(&self, id: AttachmentId) -> PathBuf {
        self.root.join(id.to_string())
    }

    fn part(&self, id: AttachmentId) -> PathBuf {
        self.root.join(format!("{id}.{PART}"))
    }
}

impl Incoming {
    /// Appends to it.
    ///
    /// # Errors
    /// [`Error::File`].
    pub async fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.digest.update(chunk);
        self.bytes += chunk.len() as u64;
        let path = self.files.part(self.id);
        self.file.write_all(chunk).await.map_err(failed(&path))
    }

    /// How long it is so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes it last, in its place.
    ///
    /// # Errors
    /// [`Error::File`].
    pub async fn keep(mut self) -> Result<Kept, Error> {
        let part = self.files.part(self.id);
        self.file.flush().await.map_err(failed(&part))?;
        self.file.sync_all().await.map_err(failed(&part))?;
        let place = self.files.place(self.id);
        tokio::fs::rename(&part, &place)
            .await
            .map_err(failed(&place))?;
        self.kept = true;
        let root = &self.files.root;
        let folder = tokio::fs::File::open(root).await.map_err(failed(root))?;
        folder.sync_all().await.map_err(failed(root))?;
        Ok(Kept {
            id: self.id,
            bytes: self.bytes,
            digest: std::mem::take(&mut self.digest).finalize().into(),
        })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.kept {
            // What stays is taken away at the next start.
            let _ = std::fs::remove_file(self.files.part(self.id));
        }
    }
}

fn id(path: &Path) -> Option<AttachmentId> {
    path.file_name()?.to_str()?.parse().ok()
}

fn is_settled(path: &Path, now: Timestamp) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    let age = |modified| SystemTime::from(now).duration_since(modified).ok();
    modified.ok().and_then(age).is_some_and(|age| age > SETTLED)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::File { path, source }
}
