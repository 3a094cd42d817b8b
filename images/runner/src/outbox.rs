//! Events on the volume: written and fsynced before they are sent, each line with its MAC.
//!
//! The runner's memory is what it sends from; these files are for whoever comes after it, should it die. An agent can write here,
//! so a line without a MAC of the attempt's own key is nothing.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use protocol::{AttemptId, Event, MacKey, OutboxLine};

use crate::{disk, files, raw};

/// A file that is longer is followed by a new one; a file is removed once all of it is acknowledged.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;
/// Files of dead attempts that are kept, newest last; without a bound they would fill the volume.
const FOREIGN_FILES: usize = 16;
/// Names that are looked at and told of, so that a full folder costs no memory.
const NAMES: usize = 10_000;
/// Names of removed files that are kept, of those that had been changed.
const CHANGED: usize = 16;

/// One attempt's events on the volume.
#[derive(Debug)]
pub struct Outbox {
    dir: PathBuf,
    attempt: AttemptId,
    key: MacKey,
    segments: VecDeque<Segment>,
    made: u64,
    /// Names of removed files that were not as they were written.
    changed: Vec<String>,
}

#[derive(Debug)]
struct Segment {
    path: PathBuf,
    file: File,
    length: u64,
    last_seq: u64,
}

impl Outbox {
    /// The outbox of `attempt` in the folder `state`. Also gives the names of what lay there already.
    ///
    /// # Errors
    /// When the folder can neither be made nor read.
    pub fn open(state: &Path, attempt: AttemptId, key: MacKey) -> io::Result<(Self, Vec<String>)> {
        let dir = state.join("outbox");
        files::ensure_own_folder(state)?;
        files::ensure_own_folder(&dir)?;
        let foreign = foreign(state, &dir)?;
        let outbox = Self {
            dir,
            attempt,
            key,
            segments: VecDeque::new(),
            made: 0,
            changed: Vec::new(),
        };
        Ok((outbox, foreign))
    }

    /// Writes events and waits until they are on the disk.
    ///
    /// # Errors
    /// When they could not be written; what was written before stays.
    pub fn append(&mut self, events: &[Event]) -> io::Result<()> {
        let Some(last) = events.last() else {
            return Ok(());
        };
        let mut lines = String::new();
        for event in events {
            lines.push_str(&OutboxLine::encode(&self.key, event)?);
            lines.push('\n');
        }
        if self
            .segments
            .back()
            .is_none_or(|segment| segment.length >= SEGMENT_BYTES)
        {
            let segment = self.create()?;
            self.segments.push_back(segment);
        }
        if let Some(segment) = self.segments.back_mut() {
            segment.file.write_all(lines.as_bytes())?;
            segment.file.sync_data()?;
            segment.length += lines.len() as u64;
            segment.last_seq = last.seq;
        }
        Ok(())
    }

    /// Removes the files of which everything is acknowledged.
    pub fn acknowledged(&mut self, seq: u64) {
        while let Some(segment) = self.segments.pop_front_if(|first| first.last_seq <= seq) {
            if segment.is_changed() && self.changed.len() < CHANGED {
                self.changed.push(name_of(&segment.path));
            }
            // One that stays is removed with the foreign ones of a later attempt.
            let _ = fs::remove_file(&segment.path);
        }
    }

    /// Names of the files that are not as they were written, or were not when they were removed.
    #[must_use]
    pub fn changed(&self) -> Vec<String> {
        let segments = self.segments.iter().filter(|segment| segment.is_changed());
        let names = segments.map(|segment| name_of(&segment.path));
        self.changed.iter().cloned().chain(names).collect()
    }

    fn create(&mut self) -> io::Result<Segment> {
        self.made += 1;
        let AttemptId { task, number } = self.attempt;
        let path = self
            .dir
            .join(format!("{task}-{number}-{}.jsonl", self.made));
        // Only a new file: an agent may have left a pipe or a link under this name.
        let file = File::options().append(true).create_new(true).open(&path)?;
        File::open(&self.dir)?.sync_all()?;
        Ok(Segment {
            path,
            file,
            length: 0,
            last_seq: 0,
        })
    }
}

impl Segment {
    fn is_changed(&self) -> bool {
        let found = fs::symlink_metadata(&self.path);
        !found.is_ok_and(|found| found.is_file() && found.len() == self.length)
    }
}

/// What lies in our folders and is not of this attempt. The oldest files of the outbox beyond the bound go.
fn foreign(state: &Path, outbox: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = entries(state)?
        .into_iter()
        .map(|path| name_of(&path))
        .filter(|name| name != "outbox" && name != raw::FOLDER && name != disk::RESERVE)
        .collect();
    let mut files = entries(outbox)?;
    // Names begin with the task's id, and those sort by time.
    files.sort();
    let surplus = files.len().saturating_sub(FOREIGN_FILES);
    for path in files.drain(..surplus) {
        let _ = fs::remove_file(path);
    }
    names.extend(files.iter().map(|path| format!("outbox/{}", name_of(path))));
    names.sort();
    Ok(names)
}

fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(dir)?
        .take(NAMES)
        .map(|entry| entry.map(|entry| entry.path()))
        .collect()
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use protocol::{EventBody, TaskId};

    use super::*;

    fn attempt() -> AttemptId {
        AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number: 2,
        }
    }

    fn key() -> MacKey {
        MacKey::from_wire(&"A".repeat(43)).unwrap()
    }

    fn event(seq: u64, content: &str) -> Event {
        Event {
            seq,
            at: Timestamp::UNIX_EPOCH,
            body: EventBody::Text {
                content: content.into(),
            },
        }
    }

    fn lines(state: &Path) -> Vec<Event> {
        let mut files = entries(&state.join("outbox")).unwrap();
        files.sort();
        files
            .iter()
            .flat_map(|path| {
                let text = fs::read_to_string(path).unwrap();
                text.lines()
                    .map(|line| OutboxLine::decode(&key(), line).unwrap())
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn what_is_not_acknowledged_is_on_the_disk(
            batches in proptest::collection::vec(1usize..5, 1..8),
            content in ".{0,30}",
            acknowledged in 0u64..40,
        ) {
            let state = tempfile::tempdir().unwrap();
            let (mut outbox, foreign) = Outbox::open(state.path(), attempt(), key()).unwrap();
            prop_assert!(foreign.is_empty());
            let (mut seq, mut all) = (0, Vec::new());
            for batch in batches {
                let events: Vec<_> = (0..batch).map(|_| { seq += 1; event(seq, &content) }).collect();
                outbox.append(&events).unwrap();
                all.extend(events);
            }
            outbox.acknowledged(acknowledged);
            let kept = lines(state.path());
            let wanted = if acknowledged >= seq { Vec::new() } else { all };
            prop_assert_eq!(kept, wanted);
        }
    }

    #[test]
    fn whole_files_go_as_they_are_acknowledged() {
        let state = tempfile::tempdir().unwrap();
        let (mut outbox, _) = Outbox::open(state.path(), attempt(), key()).unwrap();
        let large = "x".repeat(1024 * 1024);
        for seq in 1..=10 {
            outbox.append(&[event(seq, &large)]).unwrap();
        }
        assert_eq!(outbox.segments.len(), 3);
        outbox.acknowledged(3);
        assert_eq!(lines(state.path()).len(), 10);
        outbox.acknowledged(4);
        assert_eq!(lines(state.path())[0].seq, 5);
        outbox.acknowledged(10);
        assert!(lines(state.path()).is_empty());
    }

    #[test]
    fn changed_files_show_and_foreign_ones_are_named_and_bounded() {
        let state = tempfile::tempdir().unwrap();
        let (mut outbox, _) = Outbox::open(state.path(), attempt(), key()).unwrap();
        outbox.append(&[event(1, "a")]).unwrap();
        assert!(outbox.changed().is_empty());
        let name = name_of(&outbox.segments[0].path);
        let mut file = File::options()
            .append(true)
            .open(&outbox.segments[0].path)
            .unwrap();
        file.write_all(b"AAAA {}\n").unwrap();
        assert_eq!(outbox.changed(), std::slice::from_ref(&name));

        fs::create_dir(state.path().join(raw::FOLDER)).unwrap();
        fs::write(state.path().join("forged"), "x").unwrap();
        for number in 0..40 {
            fs::write(state.path().join(format!("outbox/0-{number:02}")), "x").unwrap();
        }
        let other = AttemptId {
            number: 3,
            ..attempt()
        };
        let (_, foreign) = Outbox::open(state.path(), other, key()).unwrap();
        assert_eq!(foreign.len(), FOREIGN_FILES + 1);
        assert!(foreign.contains(&"forged".to_owned()));
        assert!(foreign.contains(&format!("outbox/{name}")));
        assert!(!foreign.contains(&"outbox/0-00".to_owned()));
    }

    #[test]
    fn what_was_changed_before_it_was_acknowledged_stays_known_and_is_bounded() {
        let state = tempfile::tempdir().unwrap();
        let (mut outbox, _) = Outbox::open(state.path(), attempt(), key()).unwrap();
        let mut names = Vec::new();
        for seq in 1..=CHANGED as u64 + 3 {
            outbox.append(&[event(seq, "a")]).unwrap();
            let path = outbox.segments[0].path.clone();
            // The first is left as it was written.
            match seq {
                1 => {}
                2 => fs::remove_file(&path).unwrap(),
                _ => fs::write(&path, "AAAA {}\n").unwrap(),
            }
            if seq > 1 {
                names.push(name_of(&path));
            }
            outbox.acknowledged(seq);
            assert!(outbox.segments.is_empty());
        }
        names.truncate(CHANGED);
        assert_eq!(outbox.changed(), names);
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let state = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), state.path().join("outbox")).unwrap();
        let (mut outbox, _) = Outbox::open(state.path(), attempt(), key()).unwrap();
        outbox.append(&[event(1, "a")]).unwrap();
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
