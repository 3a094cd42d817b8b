//! What the agent's program writes, word for word but for secrets, for people who look for a fault: on the volume, as
//! much as two files hold, and part by part to the API.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use protocol::limits;
use protocol::runner::RawPart;

use crate::files;
use crate::redact::Redactor;

/// The folder beside the outbox.
pub const FOLDER: &str = "raw";
/// The file that is written to, and the one before it.
const FILES: [&str; 2] = ["output.log", "output.log.1"];
/// Bytes of one of the two.
const FILE_BYTES: u64 = limits::ATTEMPT_RAW_BYTES;
/// Bytes of a line that are kept; whoever writes more shows nothing by it.
const LINE_BYTES: usize = 16 * 1024;
/// What is shorter waits for more, until the run is over.
const PART_BYTES: usize = 16 * 1024;

/// From which pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Its frames, mostly.
    Stdout,
    /// Its complaints.
    Stderr,
}

/// Collects it.
#[derive(Debug, Default)]
pub struct Raw {
    /// In no part yet, and not redacted.
    open: String,
    /// Where in all of it the next part begins.
    start: u64,
    kept: Option<Kept>,
}

/// The two files: the second has what the first held when it was full.
#[derive(Debug)]
struct Kept {
    folder: PathBuf,
    file: File,
    bytes: u64,
}

impl Raw {
    /// Writes to the volume from now on, in place of what an earlier attempt left there.
    ///
    /// # Errors
    /// Those of the volume.
    pub fn keep_in(&mut self, state: &Path) -> io::Result<()> {
        let folder = state.join(FOLDER);
        files::ensure_own_folder(&folder)?;
        for name in FILES {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.kept = Some(Kept::open(folder)?);
        Ok(())
    }

    /// Takes a line; gives a part once there is enough for one.
    pub fn line(&mut self, pipe: Pipe, line: &[u8], redactor: &Redactor) -> Option<RawPart> {
        let shown = &line[..line.len().min(LINE_BYTES)];
        if pipe == Pipe::Stderr {
            self.open.push_str("stderr: ");
        }
        let text = String::from_utf8_lossy(shown);
        if shown.len() < line.len() {
            // What was cut off inside a secret would not be found any more.
            let whole = &text[..redactor.open_end(&text)];
            self.open
                .push_str(&format!("{whole}… ({} bytes)", line.len()));
        } else {
            self.open.push_str(&text);
        }
        self.open.push('\n');
        if self.open.len() < PART_BYTES {
            return None;
        }
        let held = self.open.split_off(redactor.open_end(&self.open));
        let part = self.close(redactor);
        self.open = held;
        part
    }

    /// Gives what is left.
    pub fn close(&mut self, redactor: &Redactor) -> Option<RawPart> {
        let whole = std::mem::take(&mut self.open);
        // Databases take no NUL in a text.
        let mut text = redactor.text(&whole).replace('\0', "\u{fffd}");
        text.truncate(text.floor_char_boundary(limits::RAW_PART_BYTES));
        if text.is_empty() {
            return None;
        }
        // A volume that is full or broken does not end the run.
        self.kept.take_if(|kept| kept.append(&text).is_err());
        let start = self.start;
        self.start += text.len() as u64;
        Some(RawPart { start, text })
    }
}

impl Kept {
    fn open(folder: PathBuf) -> io::Result<Self> {
        // Only what did not exist is written to: the agent can leave links here.
        let file = File::create_new(folder.join(FILES[0]))?;
        Ok(Self {
            folder,
            file,
            bytes: 0,
        })
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        if self.bytes >= FILE_BYTES {
            let [now, before] = FILES.map(|name| self.folder.join(name));
            fs::rename(now, before)?;
            *self = Self::open(std::mem::take(&mut self.folder))?;
        }
        self.bytes += text.len() as u64;
        self.file.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_told_in_parts_and_no_secret_is_in_them() {
        let state = tempfile::tempdir().unwrap();
        let redactor = Redactor::new(["sk-live-12345"]);
        let mut raw = Raw::default();
        raw.keep_in(state.path()).unwrap();
        let mut parts = Vec::new();
        parts.extend(raw.line(Pipe::Stdout, b"{\"a\": \"sk-live-12345\"}", &redactor));
        parts.extend(raw.line(Pipe::Stderr, b"warning\0", &redactor));
        let long = format!("{} sk-live-12345", "x".repeat(LINE_BYTES - 8));
        parts.extend(raw.line(Pipe::Stdout, long.as_bytes(), &redactor));
        parts.extend(raw.close(&redactor));
        assert_eq!(raw.close(&redactor), None);
        let mut told = String::new();
        for part in parts {
            assert_eq!(part.start, told.len() as u64);
            told.push_str(&part.text);
        }
        let cut = format!("{} … ({} bytes)", "x".repeat(LINE_BYTES - 8), long.len());
        assert_eq!(
            told,
            format!("{{\"a\": \"[redacted]\"}}\nstderr: warning\u{fffd}\n{cut}\n")
        );
        let kept = fs::read_to_string(state.path().join(FOLDER).join(FILES[0])).unwrap();
        assert_eq!(kept, told);
    }

    #[test]
    fn a_value_across_two_lines_of_parts_is_found() {
        let secret = "first-half-of-it\nsecond-half-of-it";
        let redactor = Redactor::new([secret]);
        let mut raw = Raw::default();
        let mut told = String::new();
        let filler = "y ".repeat(PART_BYTES / 2);
        for line in [
            filler.as_str(),
            "first-half-of-it",
            "second-half-of-it",
            "end ",
        ] {
            told.extend(
                raw.line(Pipe::Stdout, line.as_bytes(), &redactor)
                    .map(|part| part.text),
            );
        }
        told.extend(raw.close(&redactor).map(|part| part.text));
        assert!(
            !told.contains("half-of-it"),
            "{}",
            told.trim_start_matches("y ")
        );
    }

    #[test]
    fn the_volume_holds_two_files_of_it_and_what_was_there_goes() {
        let state = tempfile::tempdir().unwrap();
        let redactor = Redactor::default();
        let line = vec![b'z'; LINE_BYTES];
        let lines = 3 * FILE_BYTES as usize / LINE_BYTES;
        for _ in 0..2 {
            let mut raw = Raw::default();
            raw.keep_in(state.path()).unwrap();
            for _ in 0..lines {
                raw.line(Pipe::Stdout, &line, &redactor);
            }
            let bytes: u64 = fs::read_dir(state.path().join(FOLDER))
                .unwrap()
                .map(|entry| entry.unwrap().metadata().unwrap().len())
                .sum();
            assert!(bytes > FILE_BYTES && bytes < 3 * FILE_BYTES, "{bytes}");
        }
        fs::remove_dir_all(state.path().join(FOLDER)).unwrap();
        std::os::unix::fs::symlink("/", state.path().join(FOLDER)).unwrap();
        Raw::default().keep_in(state.path()).unwrap();
        assert!(
            fs::symlink_metadata(state.path().join(FOLDER))
                .unwrap()
                .is_dir()
        );
    }
}
