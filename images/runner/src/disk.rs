//! Whether the volume is full: what fails then fails in many ways, and this is what a person has to know.
//!
//! A little room is kept for that day: an agent that cannot note what it does cannot delete anything either.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// With less room than this a program cannot note what it does.
const LITTLE: u64 = 512 * 1024;
/// Name of the file that keeps room, among ours on the volume. An agent that removes it has had its room.
pub const RESERVE: &str = "reserve";
/// Bytes that it keeps: enough for a turn that deletes something.
pub const RESERVE_BYTES: u64 = 4 * 1024 * 1024;
/// It is made where this many times as much is free.
const PLENTY: u64 = 4;

/// Keeps some room, where there is enough. What cannot be kept is not missed.
pub fn reserve(state: &Path) {
    let path = state.join(RESERVE);
    let is_kept = fs::symlink_metadata(&path).is_ok_and(|found| {
        found.is_file() && found.nlink() == 1 && found.blocks() * 512 >= RESERVE_BYTES
    });
    let is_wide = || {
        let found = statvfs(state);
        found.is_ok_and(|found| {
            found.f_bavail.saturating_mul(found.f_frsize) >= PLENTY * RESERVE_BYTES
        })
    };
    if is_kept || !is_wide() {
        return;
    }
    let made = fill(&path);
    if made.is_err() {
        // Half of it would be taken for something of the agent's.
        let _ = fs::remove_file(&path);
    }
}

fn fill(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // Only a new file: an agent may have left a pipe or a link under this name.
    let file = File::create_new(path)?;
    fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES)?;
    Ok(())
}

/// Gives up what is kept, if the volume is full. True when there was something.
#[must_use]
pub fn give_up(state: &Path) -> bool {
    full(state).is_some() && fs::remove_file(state.join(RESERVE)).is_ok()
}

/// Words about a volume that is full, and what can be done; `None` while there is room, and where nobody knows.
#[must_use]
pub fn full(volume: &Path) -> Option<String> {
    let found = statvfs(volume).ok()?;
    let room = Room {
        bytes: found.f_blocks.saturating_mul(found.f_frsize),
        free: found.f_bavail.saturating_mul(found.f_frsize),
        // Some file systems make them as they are needed, and count none.
        has_names: found.f_files == 0 || found.f_favail > 0,
    };
    room.words()
}

/// What is known of a volume.
#[derive(Clone, Copy, Debug)]
struct Room {
    bytes: u64,
    /// Bytes for the likes of us.
    free: u64,
    /// A further file can be made.
    has_names: bool,
}

impl Room {
    fn words(self) -> Option<String> {
        // A volume that is smaller than what is little says so by itself.
        let little = LITTLE.min(self.bytes / 2);
        let what = if !self.has_names {
            "it can hold no further file".to_owned()
        } else if self.free <= little {
            let (free, bytes) = (self.free / 1024, self.bytes / 1024);
            format!("{free} KiB of {bytes} KiB are left")
        } else {
            return None;
        };
        Some(format!(
            "the session's volume is full ({what}): have the agent delete what it does not need, in a task on the same \
             subject, or enlarge the volume's claim"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_full_when_nothing_more_can_be_noted() {
        let room = |bytes, free, has_names| Room {
            bytes,
            free,
            has_names,
        };
        const GIB: u64 = 1 << 30;
        for (room, wanted) in [
            (room(GIB, GIB / 2, true), None),
            (room(GIB, LITTLE + 1, true), None),
            (room(GIB, 4096, true), Some("4 KiB of 1048576 KiB")),
            (room(GIB, 0, true), Some("0 KiB of")),
            (room(GIB, GIB, false), Some("no further file")),
            (room(LITTLE, LITTLE, true), None),
            (room(0, 0, true), Some("0 KiB of 0 KiB")),
        ] {
            let words = room.words();
            assert_eq!(words.is_some(), wanted.is_some(), "{room:?}");
            let wanted = wanted.unwrap_or_default();
            assert!(words.unwrap_or_default().contains(wanted), "{room:?}");
        }
        assert_eq!(full(Path::new("/no/such/volume")), None);
    }

    #[test]
    fn room_is_kept_once_and_whatever_is_in_its_place_goes() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join(RESERVE);
        reserve(state.path());
        let first = fs::metadata(&path).unwrap();
        assert_eq!(first.len(), RESERVE_BYTES);
        reserve(state.path());
        assert_eq!(fs::metadata(&path).unwrap().ino(), first.ino());
        let elsewhere = state.path().join("elsewhere");
        fs::write(&elsewhere, "important").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        reserve(state.path());
        assert_eq!(fs::symlink_metadata(&path).unwrap().len(), RESERVE_BYTES);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "important");
        assert!(!give_up(state.path()), "there is room");
        assert!(path.exists());
    }
}
