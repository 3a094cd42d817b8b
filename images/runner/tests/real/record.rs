//! Keeps what a program said, and what it was told, where `RECORD` names a folder: that is how new recordings are made.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

/// One run that is recorded, or not.
pub(crate) struct Record(Option<PathBuf>);

impl Record {
    /// Named after the program, the scenario in its message and the next free number.
    pub(crate) fn of(program: &str, message: &str) -> Self {
        let scenario = message.split("[scenario:").nth(1).unwrap_or_default();
        let scenario = scenario.split(']').next().unwrap_or_default();
        let folder = std::env::var_os("RECORD").filter(|folder| !folder.is_empty());
        Self(folder.and_then(|folder| {
            let folder = PathBuf::from(folder);
            let path = |number| folder.join(format!("{program}-{scenario}-{number}"));
            let is_free = |path: &PathBuf| !path.with_extension("jsonl").exists();
            (1..100).map(path).find(is_free)
        }))
    }

    /// All that a program wrote in the hands of the runner, as that keeps it. What it was told is not in it.
    pub(crate) fn wrote(&self, raw: &str) {
        for line in raw.lines() {
            match line.strip_prefix("stderr: ") {
                Some(line) => self.complained(line.as_bytes()),
                None => self.said(line.as_bytes()),
            }
        }
    }

    /// A line of its stdout.
    pub(crate) fn said(&self, line: &[u8]) {
        self.add("jsonl", line);
    }

    /// A line of its stderr.
    pub(crate) fn complained(&self, line: &[u8]) {
        self.add("stderr.txt", line);
    }

    /// Lines for its stdin.
    pub(crate) fn told(&self, lines: &[u8]) {
        self.add("stdin.jsonl", lines.trim_ascii_end());
    }

    fn add(&self, extension: &str, line: &[u8]) {
        let Some(path) = &self.0 else { return };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path.with_extension(extension));
        let written = file.and_then(|mut file| file.write_all(&[line, b"\n"].concat()));
        assert!(written.is_ok(), "{}: {written:?}", path.display());
    }
}
