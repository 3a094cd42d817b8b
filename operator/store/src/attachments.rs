//! What is known of the files on issues. Their contents are [`crate::Files`].

use jiff::Timestamp;
use protocol::board::{Attachment, IssueKey, Page};
use protocol::{AttachmentId, IssueId, limits};
use uuid::Uuid;

use crate::db::{Row, query};
use crate::issues::{self, read_author};
use crate::writes::Write;
use crate::{Acting, Error, Kept, Store, WorkspaceRef, WritePoint, page, text, workspaces};

/// Files of an issue at most.
pub const ATTACHMENTS: u32 = 100;

/// How much room attachments may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of all files of an issue.
    pub issue: u64,
    /// Bytes of all files of a workspace.
    pub workspace: u64,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is there.
    New(Attachment),
    /// It was there already, under the same name and as another file, which stays.
    Before(Attachment),
}

macro_rules! select {
    ($more:literal, $which:literal) => {
        concat!(
            "SELECT attachments.id, attachments.name, media_type, bytes, digest, attachments.author_kind, \
             attachments.author_id, attachments.author_name, attachments.created_at",
            $more,
            " FROM attachments ",
            $which
        )
    };
}

pub(crate) use select;

impl Store {
    /// Files of an issue, the oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Invalid`] for a limit or cursor that is none,
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn attachments(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Attachment>, Error> {
        const LIST: &str = select!("", "WHERE issue = $1 AND id > $2 ORDER BY id LIMIT $3");
        let (limit, after) = (page::limit(limit)?, page::after::<Uuid>(cursor)?);
        let issue = self.issue(workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?;
        let list = query("list the attachments of an issue", LIST)
            .bind(issue.id)
            .bind(after.unwrap_or(Uuid::nil()))
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let all = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(all, limit, |last: &Attachment| {
            last.id.to_string()
        }))
    }

    /// A file of the workspace, and the issue that it is on.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn attachment(
        &self,
        workspace: &WorkspaceRef,
        id: AttachmentId,
    ) -> Result<Option<(IssueKey, Attachment)>, Error> {
        const FIND: &str = select!(
            ", prefix, number",
            "JOIN issues ON issues.id = attachments.issue \
             JOIN workspaces ON workspaces.namespace_uid = issues.namespace_uid \
             WHERE attachments.id = $1 AND issues.namespace_uid = $2"
        );
        let find = query("read an attachment", FIND)
            .bind(id)
            .bind(workspace.namespace_uid.as_str());
        let Some(row) = find.optional(&mut self.reader().await?).await? else {
            return Ok(None);
        };
        let key = IssueKey {
            prefix: row.get("prefix")?,
            number: row.u32("number")?,
        };
        Ok(Some((key, read(&row)?)))
    }

    /// Whether a file has its row.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(crate) async fn has_attachment(&self, id: AttachmentId) -> Result<bool, Error> {
        let find = query(
            "look for an attachment",
            "SELECT 1 AS one FROM attachments WHERE id = $1",
        );
        let found = find.bind(id).optional(&mut self.reader().await?).await?;
        Ok(found.is_some())
    }

    /// Puts a file that is in its place on an issue.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Invalid`] for a name that no file can have, and when
    /// issue or workspace have no room for it, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn add_attachment(
        &self,
        by: &Acting,
        key: &IssueKey,
        (name, media_type): (&str, &str),
        file: Kept,
        room: Room,
        now: Timestamp,
    ) -> Result<Added, Error> {
        let name = file_name(name)?;
        let new = Attachment {
            id: file.id,
            name,
            media_type: text::line("media type", media_type, limits::MEDIA_TYPE_BYTES)?,
            bytes: file.bytes,
            sha256: hex(file.digest),
            author: by.author.clone(),
            created: now,
        };
        let mut write = self.write(WritePoint::AddAttachment).await?;
        // First the workspace, then the issue, as who makes an issue does.
        workspaces::enter(&mut write, &by.workspace).await?;
        let has_room = take_room(&mut write, &by.workspace, file.bytes, room.workspace).await?;
        let issue = issues::locked(&mut write, &by.workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?.id;
        if let Some(before) = same(&mut write, issue, &new.name, file.digest).await? {
            return Ok(Added::Before(before));
        }
        if !has_room {
            return Err(full("the workspace", room.workspace));
        }
        fits(&mut write, issue, file.bytes, room.issue).await?;
        insert(&mut write, issue, &new, file.digest).await?;
        write.commit().await?;
        Ok(Added::New(new))
    }

    /// Takes a file off its issue. Its content is the caller's to take away, after this.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn delete_attachment(
        &self,
        workspace: &WorkspaceRef,
        attachment: &Attachment,
    ) -> Result<(), Error> {
        const GIVE: &str = "UPDATE workspaces SET attachment_bytes = attachment_bytes - $2 WHERE namespace_uid = $1";
        const DELETE: &str = "DELETE FROM attachments WHERE id = $1";
        let mut write = self.write(WritePoint::DeleteAttachment).await?;
        query("give the room of an attachment back", GIVE)
            .bind(workspace.namespace_uid.as_str())
            .bind(signed(attachment.bytes)?)
            .execute(&mut write)
            .await?;
        let delete = query("delete an attachment", DELETE).bind(attachment.id);
        match delete.execute(&mut write).await? {
            1 => write.commit().await,
            _ => Err(Error::Missing {
                what: format!("attachment {}", attachment.id),
            }),
        }
    }
}

/// Counts the bytes of a new file against its workspace, if they fit.
async fn take_room(
    write: &mut Write,
    workspace: &WorkspaceRef,
    bytes: u64,
    most: u64,
) -> Result<bool, Error> {
    const TAKE: &str = "UPDATE workspaces SET attachment_bytes = attachment_bytes + $2 \
        WHERE namespace_uid = $1 AND attachment_bytes + $2 <= $3";
    let take = query("take room for an attachment", TAKE)
        .bind(workspace.namespace_uid.as_str())
        .bind(signed(bytes)?)
        .bind(signed(most)?);
    Ok(take.execute(write).await? == 1)
}

/// Whether an issue can have one more file. Whoever asks holds its lock.
async fn fits(write: &mut Write, issue: IssueId, bytes: u64, most: u64) -> Result<(), Error> {
    const COUNT: &str = "SELECT count(*) AS files, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes \
        FROM attachments WHERE issue = $1";
    let count = query("count the attachments of an issue", COUNT).bind(issue);
    let row = count.one(write).await?;
    if row.u32("files")? >= ATTACHMENTS {
        return Err(Error::Invalid {
            what: "attachment",
            why: format!("the issue has {ATTACHMENTS}, and no issue may have more"),
        });
    }
    if row.u64("bytes")?.saturating_add(bytes) > most {
        return Err(full("the issue", most));
    }
    Ok(())
}

fn full(what: &str, most: u64) -> Error {
    Error::Invalid {
        what: "attachment",
        why: format!(
            "the attachments of {what} would take more than {most} bytes: delete some that are not needed any more"
        ),
    }
}

async fn same(
    write: &mut Write,
    issue: IssueId,
    name: &str,
    digest: [u8; 32],
) -> Result<Option<Attachment>, Error> {
    const SAME: &str = select!("", "WHERE issue = $1 AND name = $2 AND digest = $3");
    let find = query("look for the same attachment", SAME)
        .bind(issue)
        .bind(name)
        .bind(digest.to_vec());
    find.optional(write).await?.as_ref().map(read).transpose()
}

async fn insert(
    write: &mut Write,
    issue: IssueId,
    new: &Attachment,
    digest: [u8; 32],
) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO attachments (id, issue, name, media_type, bytes, digest, author_kind, author_id, \
        author_name, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let insert = query("add an attachment", INSERT)
        .bind(new.id)
        .bind(issue)
        .bind(new.name.as_str())
        .bind(new.media_type.as_str())
        .bind(signed(new.bytes)?)
        .bind(digest.to_vec());
    insert
        .bind(new.author.kind.as_str())
        .bind(new.author.id.as_str())
        .bind(new.author.name.as_str())
        .bind(new.created)
        .execute(write)
        .await?;
    Ok(())
}

/// A name, and no path.
fn file_name(name: &str) -> Result<String, Error> {
    let name = text::line("name", name, limits::FILE_NAME_BYTES)?;
    if name.contains(['/', '\\']) || matches!(&*name, "." | "..") {
        return Err(Error::Invalid {
            what: "name",
            why: "it is a path: give the last part of it".to_owned(),
        });
    }
    Ok(name)
}

fn signed(bytes: u64) -> Result<i64, Error> {
    i64::try_from(bytes).map_err(|_| Error::Invalid {
        what: "bytes",
        why: format!("{bytes} are more than can be counted"),
    })
}

fn hex(digest: [u8; 32]) -> String {
    use std::fmt::Write as _;
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

pub(crate) fn read(row: &Row) -> Result<Attachment, Error> {
    Ok(Attachment {
        id: AttachmentId(row.get("id")?),
        name: row.get("name")?,
        media_type: row.get("media_type")?,
        bytes: row.u64("bytes")?,
        sha256: hex(row.bytes("digest")?),
        author: read_author(row)?,
        created: row.time("created_at")?,
    })
}
