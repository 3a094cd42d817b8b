//! Reading comments.

use jiff::Timestamp;
use protocol::board::{Comment, CommentPage, CommentQuery, IssueKey, Recipient, RecipientKind};
use protocol::{CommentId, IssueId, TaskId};
use uuid::Uuid;

use super::{files, missing, read_all};
use crate::db::{Conn, Row, query};
use crate::issues::read_author;
use crate::page::{self, Keyset};
use crate::{Error, Store, WorkspaceRef};

/// A comment's columns. A deleted one has no text.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT comments.id, comments.issue AS issue, comments.thread AS thread, comments.author_kind AS author_kind, \
             comments.author_id AS author_id, comments.author_name AS author_name, body, comments.task AS task, resolved, \
             replies, last_activity_at, comments.revision AS revision, comments.created_at AS created_at, edited_at, \
             parent, deleted_at, CASE WHEN deleted_at IS NULL THEN \
             (SELECT count(*) FROM comment_files WHERE comment_files.comment = comments.id) ELSE 0 END AS files \
             FROM comments ",
            $which
        )
    };
}
pub(crate) use select;

const BY_ID: &str = select!("WHERE comments.id = $1");

/// A comment as its row says it.
pub(super) fn read(row: &Row) -> Result<Comment, Error> {
    Ok(Comment {
        id: CommentId(row.get("id")?),
        thread: CommentId(row.get("thread")?),
        author: read_author(row)?,
        body: row.get("body")?,
        task: row.get::<Option<Uuid>>("task")?.map(TaskId),
        resolved: row.get("resolved")?,
        replies: row.u32("replies")?,
        last_activity: row.time("last_activity_at")?,
        revision: row.u32("revision")?,
        created: row.time("created_at")?,
        edited: row.time_opt("edited_at")?,
        attachments: Vec::new(),
    })
}

/// A comment with what is not shown of it.
pub(super) struct Found {
    pub(super) issue: IssueId,
    pub(super) comment: Comment,
    /// The comment that it answers.
    pub(super) parent: Option<CommentId>,
    pub(super) deleted: bool,
    /// How many files came with it; they are read apart.
    pub(super) files: u32,
}

/// A comment, be it deleted.
pub(super) async fn find_any(
    on: impl Into<Conn<'_>>,
    comment: CommentId,
) -> Result<Option<Found>, Error> {
    let find = query("read a comment", BY_ID).bind(comment);
    let found = find.optional(on).await?;
    found
        .map(|row| {
            Ok(Found {
                issue: IssueId(row.get("issue")?),
                comment: read(&row)?,
                parent: row.get::<Option<Uuid>>("parent")?.map(CommentId),
                deleted: row.time_opt("deleted_at")?.is_some(),
                files: row.u32("files")?,
            })
        })
        .transpose()
}

/// A comment that is not deleted.
pub(super) async fn find(
    on: impl Into<Conn<'_>>,
    comment: CommentId,
) -> Result<Option<Found>, Error> {
    let found = find_any(on, comment).await?;
    Ok(found.filter(|found| !found.deleted))
}

impl Store {
    /// A comment of the workspace, with the issue that it is on.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn comment(
        &self,
        workspace: &WorkspaceRef,
        comment: CommentId,
    ) -> Result<Option<(IssueKey, Comment)>, Error> {
        const KEY: &str = "SELECT prefix, number FROM issues \
            JOIN workspaces ON workspaces.namespace_uid = issues.namespace_uid \
            WHERE issues.id = $1 AND issues.namespace_uid = $2";
        let mut reader = self.reader().await?;
        let Some(found) = find(&mut reader, comment).await? else {
            return Ok(None);
        };
        let (issue, mut comment) = (found.issue, found.comment);
        if found.files > 0 {
            comment.attachments = files::of(&mut reader, comment.id).await?;
        }
        let key = query("read the key of an issue", KEY)
            .bind(issue)
            .bind(workspace.namespace_uid.as_str());
        let found = key.optional(&mut reader).await?;
        found
            .map(|row| {
                let key = IssueKey {
                    prefix: row.get("prefix")?,
                    number: row.u32("number")?,
                };
                Ok((key, comment))
            })
            .transpose()
    }

    /// Comments of an issue, oldest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, or the thread is none of it, [`Error::Invalid`] for a limit or
    /// cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn comments(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        asked: &CommentQuery,
    ) -> Result<CommentPage, Error> {
        const ALL: &str = select!(
            "WHERE issue = $1 AND (created_at, id) > ($2, $3) AND (deleted_at IS NULL OR replies > 0) \
             ORDER BY created_at, id LIMIT $4"
        );
        const ROOTS: &str = select!(
            "WHERE issue = $1 AND thread = id AND (created_at, id) > ($2, $3) AND (deleted_at IS NULL OR replies > 0) \
             ORDER BY created_at, id LIMIT $4"
        );
        const THREAD: &str = select!(
            "WHERE thread = $1 AND (created_at, id) > ($2, $3) AND (deleted_at IS NULL OR replies > 0) \
             ORDER BY created_at, id LIMIT $4"
        );
        let limit = page::limit(asked.limit)?;
        let mut after = Keyset {
            at: asked.since.unwrap_or(Timestamp::MIN),
            // Nothing of that moment itself.
            id: asked.since.map_or(Uuid::nil(), |_| Uuid::max()),
        };
        if let Some(cursor) = page::after::<Keyset>(asked.cursor.as_deref())? {
            after = cursor;
        }
        let issue = self
            .issue(workspace, key)
            .await?
            .ok_or_else(|| Error::Missing {
                what: format!("issue {key}"),
            })?;
        let mut reader = self.reader().await?;
        let list = match asked.thread {
            Some(of) => {
                let thread = thread_of(&mut reader, issue.id, of).await?;
                query("list comments of a thread", THREAD).bind(thread)
            }
            None if asked.roots => query("list what begins threads", ROOTS).bind(issue.id),
            None => query("list comments", ALL).bind(issue.id),
        };
        let list = list.bind(after.at).bind(after.id).bind(limit + 1);
        let rows = list.all(&mut reader).await?;
        let comments = read_all(&mut reader, &rows).await?;
        Ok(page::page(comments, limit, |last: &Comment| {
            let (at, id) = (last.created, last.id.0);
            Keyset { at, id }.to_string()
        }))
    }
}

/// The thread of a comment, be it deleted.
async fn thread_of(
    on: impl Into<Conn<'_>>,
    issue: IssueId,
    comment: CommentId,
) -> Result<CommentId, Error> {
    const FIND: &str = "SELECT thread FROM comments WHERE id = $1 AND issue = $2";
    let find = query("find a thread", FIND).bind(comment).bind(issue);
    let found = find.optional(on).await?.ok_or_else(|| missing(comment))?;
    Ok(CommentId(found.get("thread")?))
}

/// Whom a comment has woken, in the order in which they were: agents, and the teams that they were to lead.
pub(super) async fn woken_by(
    on: impl Into<Conn<'_>>,
    comment: CommentId,
) -> Result<Vec<Recipient>, Error> {
    const LIST: &str =
        "SELECT agent, team FROM wake_causes WHERE comment = $1 ORDER BY task LIMIT $2";
    let most = u32::try_from(protocol::limits::RECIPIENTS).unwrap_or(u32::MAX);
    let list = query("find whom a comment woke", LIST)
        .bind(comment)
        .bind(most);
    let rows = list.all(on).await?;
    let recipient = |row: &Row| {
        Ok(match row.get::<Option<String>>("team")? {
            Some(id) => Recipient {
                kind: RecipientKind::Team,
                id,
            },
            None => wake::agent(&row.get::<String>("agent")?),
        })
    };
    rows.iter().map(recipient).collect()
}

/// The team that a task was woken to lead.
pub(super) async fn led_in(on: impl Into<Conn<'_>>, task: TaskId) -> Result<Option<String>, Error> {
    const FIND: &str = "SELECT team FROM wakes WHERE task = $1";
    let find = query("find the team of a task", FIND).bind(task);
    let found = find.optional(on).await?;
    found.map_or(Ok(None), |row| row.get("team"))
}
