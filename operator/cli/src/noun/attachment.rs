//! `moor attachment`.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use client::Download;
use protocol::board::{Attachment, IssueKey, NewAttachment};
use protocol::{AttachmentId, limits};
use sha2::{Digest as _, Sha256};

use super::{Part, Which, wakes};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::Table;
use crate::text;

/// The word for standard output.
const STDOUT: &str = "-";
/// What a file is of which nothing else is said.
const ANY_MEDIA: &str = "application/octet-stream";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the files on an issue.
    List {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        part: Part,
    },
    /// Puts a file on an issue. The same file under the same name is there once.
    Add(Add),
    /// Writes the content of a file. Nothing that is there is overwritten.
    Get {
        /// Its id, as the list says it.
        id: AttachmentId,
        /// Where to; `-` is standard output.
        file: PathBuf,
    },
    /// Takes a file off its issue.
    Delete {
        /// Its id, as the list says it.
        id: AttachmentId,
    },
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct Add {
    /// Key of the issue, like TEAM-12. In a task's pod, without one, the issue of the task.
    key: Option<IssueKey>,
    /// The file.
    #[arg(required = true)]
    file: PathBuf,
    /// What it is called there; without it, as it is called here.
    #[arg(long)]
    name: Option<String>,
    /// What it is, for example `image/png`.
    #[arg(
        long = "type",
        value_name = "TYPE",
        default_value = ANY_MEDIA
    )]
    media_type: String,
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { which, part } => {
                let key = which.key(session).await?;
                let page = board.attachments(&key, &part.query()).await?;
                out.page(&page, |attachment| attachment.id.to_string(), table)
            }
            Self::Add(add) => add.run(session, out).await,
            Self::Get { id, file } => {
                let content = board.attachment(*id).await?;
                if file.as_os_str() == STDOUT {
                    return receive(content, &mut *out.out, Failure::Print).await;
                }
                save(content, file).await?;
                out.done(&id.to_string(), "saved")
            }
            Self::Delete { id } => {
                board.delete_attachment(*id).await?;
                out.done(&id.to_string(), "deleted")
            }
        }
    }
}

impl Add {
    async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let name = self.name.clone().map_or_else(|| own_name(&self.file), Ok)?;
        let content = content(&self.file)?;
        let key = session.issue(self.key.as_ref()).await?;
        let added = session
            .board()?
            .add_attachment(&key, &NewAttachment { name }, &self.media_type, content)
            .await?;
        out.show(
            &added,
            |added| added.id.to_string(),
            |added| {
                let line = format!(
                    "{} {}: {} bytes, on {key}",
                    added.id, added.name, added.bytes
                );
                text::line(&line) + "\n"
            },
        )
    }
}

/// Puts a file on an issue, under its own name.
pub(super) async fn add(
    session: &Session,
    key: &IssueKey,
    file: &Path,
) -> Result<Attachment, Failure> {
    let new = NewAttachment {
        name: own_name(file)?,
    };
    let content = content(file)?;
    let board = session.board()?;
    let added = board.add_attachment(key, &new, ANY_MEDIA, content);
    Ok(added.await?)
}

/// Whether a file can be put on an issue, before anything is.
pub(super) fn check(file: &Path) -> Result<(), Failure> {
    own_name(file)?;
    let failed = |cause| Failure::Input {
        path: file.to_owned(),
        cause,
    };
    let known = File::open(file).and_then(|open| open.metadata());
    let known = known.map_err(failed)?;
    if !known.is_file() {
        return Err(failed(io::Error::other("it is no file")));
    }
    fits(file, known.len())
}

fn own_name(file: &Path) -> Result<String, Failure> {
    let name = file.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| {
        Failure::Usage(format!(
            "how is {} called? `moor attachment add --name` says it",
            file.display()
        ))
    })
}

/// No API takes more than this.
fn fits(path: &Path, bytes: u64) -> Result<(), Failure> {
    if bytes <= limits::ATTACHMENT_BYTES_MOST {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} is longer than {} bytes",
        path.display(),
        limits::ATTACHMENT_BYTES_MOST
    )))
}

/// What a file holds.
fn content(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |cause| Failure::Input {
        path: path.to_owned(),
        cause,
    };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limits::ATTACHMENT_BYTES_MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    fits(path, bytes.len() as u64)?;
    Ok(bytes)
}

/// Writes a content beside its place, and puts it there when it is whole and as it was sent.
async fn save(content: Download, place: &Path) -> Result<(), Failure> {
    let failed = |cause| Failure::Output {
        path: place.to_owned(),
        cause,
    };
    let folder = place
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut beside = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    receive(content, beside.as_file_mut(), failed).await?;
    let kept = beside.persist_noclobber(place);
    kept.map(drop).map_err(|error| failed(error.error))
}

/// Takes a content in, and checks that it is what the API has.
async fn receive(
    mut content: Download,
    to: &mut (dyn Write + '_),
    failed: impl Fn(io::Error) -> Failure,
) -> Result<(), Failure> {
    let wanted = content.sha256().map(str::to_owned);
    let mut digest = Sha256::new();
    while let Some(chunk) = content.chunk().await? {
        digest.update(&chunk);
        to.write_all(&chunk).map_err(&failed)?;
    }
    to.flush().map_err(&failed)?;
    if wanted.is_some_and(|wanted| wanted != hex::encode(digest.finalize())) {
        return Err(failed(io::Error::other(
            "what arrived is not what the API has; ask again",
        )));
    }
    Ok(())
}

fn table(attachments: &[Attachment]) -> Table<5> {
    let rows = attachments.iter().map(|attachment| {
        [
            attachment.id.to_string(),
            attachment.bytes.to_string(),
            text::time(attachment.created),
            wakes::author(&attachment.author),
            attachment.name.clone(),
        ]
    });
    Table::new(["ID", "BYTES", "ADDED", "BY", "NAME"], rows)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::board::{Author, AuthorKind};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn attachments_are_shown() {
        let attachment = Attachment {
            id: AttachmentId(Uuid::from_u128(7)),
            name: "shot\u{1b}[2J.png".into(),
            media_type: "image/png".into(),
            bytes: 1234,
            sha256: "00".into(),
            author: Author {
                kind: AuthorKind::Agent,
                id: "coder".into(),
                name: "Coder".into(),
            },
            created: Timestamp::UNIX_EPOCH,
        };
        insta::assert_snapshot!("attachments", table(&[attachment]).render(120));
    }
}
