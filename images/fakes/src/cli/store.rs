//! Conversations on disk: what people said, one JSON string a line.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::setting;

/// One conversation.
pub(crate) struct Conversation {
    pub(crate) id: String,
    path: PathBuf,
    /// What was said in it before.
    pub(crate) earlier: Vec<String>,
}

impl Conversation {
    /// The conversation `asked` for, `None` when there is none; or a new one called `new`.
    pub(crate) fn open(program: &str, asked: Option<&str>, new: &str) -> io::Result<Option<Self>> {
        let home = PathBuf::from(setting("HOME").unwrap_or_else(|| "/".to_owned()));
        let folder = home.join(format!(".fake-{program}"));
        fs::create_dir_all(&folder)?;
        let id = asked.unwrap_or(new).to_owned();
        let path = folder.join(&id);
        let earlier = match (fs::read_to_string(&path), asked) {
            (Ok(text), _) => text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            (Err(_), Some(_)) => return Ok(None),
            (Err(_), None) => Vec::new(),
        };
        Ok(Some(Self { id, path, earlier }))
    }

    /// Adds what a person said.
    pub(crate) fn add(&self, prompt: &str) -> io::Result<()> {
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::Value::from(prompt))
    }
}
