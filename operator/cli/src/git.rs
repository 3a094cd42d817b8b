//! The program `git` of the image. Git is what agents and people use on the same folders, so nothing here does by
//! itself what git does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::failure::Failure;
use crate::text;

/// A server that does not answer, or a repository that is too large, ends here.
const PATIENCE: Duration = Duration::from_secs(600);
/// Bytes of what git complains of that are shown.
const COMPLAINT: usize = 600;
/// Ways to a repository. What git calls an address may else be a command.
const PROTOCOLS: &str = "https:ssh:file";
/// By these a git hook that runs us would choose the repository.
const OTHERS: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
];

/// Git in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    folder: PathBuf,
}

/// What git said.
struct Said {
    code: Option<i32>,
    out: String,
    complaint: String,
}

impl Git {
    /// Git in this folder.
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Runs it, and gives what it says without the line end.
    pub(crate) async fn run<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<String, Failure> {
        let said = self.call(words).await?;
        if said.code == Some(0) {
            return Ok(said.out);
        }
        let verb = words.first().map(AsRef::as_ref).unwrap_or_default();
        let mut complaint = text::line(&said.complaint);
        complaint.truncate(complaint.floor_char_boundary(COMPLAINT));
        Err(Failure::Git(format!(
            "git {}: {complaint}",
            verb.to_string_lossy()
        )))
    }

    /// Runs what may find nothing: that is `None`.
    pub(crate) async fn ask<W: AsRef<OsStr>>(
        &self,
        words: &[W],
    ) -> Result<Option<String>, Failure> {
        let said = self.call(words).await?;
        Ok((said.code == Some(0)).then_some(said.out))
    }

    async fn call<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<Said, Failure> {
        let mut command = Command::new("git");
        for name in OTHERS {
            command.env_remove(name);
        }
        command
            .args(words)
            .current_dir(&self.folder)
            // Nobody is there to answer.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let ended = tokio::time::timeout(PATIENCE, command.output()).await;
        let ended = ended.map_err(|_| {
            Failure::Git(format!(
                "git did not come to an end in {} s",
                PATIENCE.as_secs()
            ))
        })?;
        let output = ended.map_err(|cause| {
            Failure::Git(format!(
                "the program git cannot be started: {cause}; it has to be in the image of the Runtime"
            ))
        })?;
        let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        Ok(Said {
            code: output.status.code(),
            out: words(&output.stdout),
            complaint: words(&output.stderr),
        })
    }
}
