//! The conversation on disk, where Claude Code keeps it.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// One conversation, open for more.
pub(crate) struct Conversation {
    pub(crate) id: String,
    file: File,
    prompts: Vec<String>,
}

impl Conversation {
    /// A new one.
    pub(crate) fn create(store: &Path, cwd: &Path) -> io::Result<Self> {
        let id = uuid::Uuid::now_v7().to_string();
        let folder = store.join("projects").join(folder_of(cwd));
        fs::create_dir_all(&folder)?;
        let file = File::create_new(folder.join(format!("{id}.jsonl")))?;
        Ok(Self {
            id,
            file,
            prompts: Vec::new(),
        })
    }

    /// An earlier one, from whichever working directory; `None` when there is none with this id.
    pub(crate) fn resume(store: &Path, id: &str) -> io::Result<Option<Self>> {
        let Some(path) = find(store, id)? else {
            return Ok(None);
        };
        let mut prompts = Vec::new();
        for line in BufReader::new(File::open(&path)?).lines() {
            let line: Value = serde_json::from_str(&line?).unwrap_or_default();
            if line["type"] == "user" {
                prompts.push(
                    line["message"]["content"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                );
            }
        }
        let file = File::options().append(true).open(path)?;
        Ok(Some(Self {
            id: id.to_owned(),
            file,
            prompts,
        }))
    }

    /// The prompts so far.
    pub(crate) fn prompts(&self) -> &[String] {
        &self.prompts
    }

    /// Adds what the person said.
    pub(crate) fn add_prompt(&mut self, text: &str) -> io::Result<()> {
        self.prompts.push(text.to_owned());
        self.add("user", text)
    }

    /// Adds what was answered.
    pub(crate) fn add_answer(&mut self, text: &str) -> io::Result<()> {
        self.add("assistant", text)
    }

    fn add(&mut self, role: &str, text: &str) -> io::Result<()> {
        let line =
            json!({"type": role, "message": {"role": role, "content": text}, "sessionId": self.id});
        writeln!(self.file, "{line}")
    }
}

fn find(store: &Path, id: &str) -> io::Result<Option<PathBuf>> {
    let folders = match fs::read_dir(store.join("projects")) {
        Ok(folders) => folders,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    for folder in folders {
        let path = folder?.path().join(format!("{id}.jsonl"));
        if path.is_file() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn folder_of(cwd: &Path) -> String {
    let cwd = cwd.to_string_lossy();
    cwd.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_found_again_by_its_id_only() {
        let store = tempfile::tempdir().unwrap();
        let mut first = Conversation::create(store.path(), Path::new("/a b/c")).unwrap();
        first.add_prompt("one\ntwo").unwrap();
        first.add_answer("three").unwrap();
        let again = Conversation::resume(store.path(), &first.id)
            .unwrap()
            .unwrap();
        assert_eq!(again.prompts(), ["one\ntwo"]);
        assert!(
            store
                .path()
                .join(format!("projects/-a-b-c/{}.jsonl", first.id))
                .is_file()
        );
        assert!(
            Conversation::resume(store.path(), "other")
                .unwrap()
                .is_none()
        );
        assert!(
            Conversation::resume(&store.path().join("gone"), "other")
                .unwrap()
                .is_none()
        );
    }
}
