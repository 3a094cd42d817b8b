//! What a person should look at.

use jiff::Timestamp;
use protocol::board::{Author, AuthorKind, InboxEntry, InboxKind, IssueKey, Page};
use protocol::{CommentId, InboxId, IssueId, MemberId};
use uuid::Uuid;

use crate::db::{Row, query};
use crate::issues::read_author;
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Error, Store, WorkspaceRef, WritePoint, approvals, page, quick};

/// Something that a member should look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice<'a> {
    pub(crate) member: MemberId,
    pub(crate) kind: InboxKind,
    pub(crate) issue: IssueId,
    pub(crate) comment: Option<CommentId>,
    /// Who did it.
    pub(crate) author: &'a Author,
    pub(crate) now: Timestamp,
}

impl Store {
    /// What a member should look at, newest first; what was archived is left out, and what waits for a decision where
    /// the member may not decide.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn inbox(
        &self,
        workspace: &WorkspaceRef,
        member: MemberId,
        limit: u32,
        cursor: Option<&str>,
        decides: bool,
    ) -> Result<Page<InboxEntry>, Error> {
        const LIST: &str = "SELECT inbox.id, kind, prefix, number, title, comment, inbox.author_kind, inbox.author_id, \
            inbox.author_name, is_read, inbox.created_at FROM inbox JOIN issues ON issues.id = inbox.issue \
            JOIN workspaces ON workspaces.namespace_uid = issues.namespace_uid \
            WHERE member = $1 AND NOT archived AND inbox.id < $2 AND issues.namespace_uid = $3 \
            ORDER BY inbox.id DESC LIMIT $4";
        let (limit, before) = (page::limit(limit)?, page::after(cursor)?);
        let before = before.unwrap_or(Uuid::max());
        let list = query("list an inbox", LIST)
            .bind(member)
            .bind(before)
            .bind(workspace.namespace_uid.as_str())
            .bind(limit + 1);
        let mut reader = self.reader().await?;
        let rows = list.all(&mut reader).await?;
        let entries: Result<Vec<_>, _> = rows.iter().map(read).collect();
        let mut entries = entries?;
        // What belongs to no issue lies elsewhere.
        let part = (limit + 1, before);
        entries.extend(quick::entries(&mut reader, workspace, member, part).await?);
        if decides {
            entries.extend(approvals::entries(&mut reader, workspace, member, part).await?);
        }
        entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.id));
        Ok(page::page(entries, limit, |last: &InboxEntry| {
            last.id.to_string()
        }))
    }

    /// Notes that a member has read an entry of theirs. Twice is once.
    ///
    /// # Errors
    /// [`Error::Missing`] when it is none of theirs, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn read_inbox(&self, member: MemberId, entry: InboxId) -> Result<(), Error> {
        const READ: &str =
            "UPDATE inbox SET is_read = TRUE WHERE id = $1 AND member = $2 AND NOT archived";
        self.mark(WritePoint::ReadInbox, READ, member, entry).await
    }

    /// Takes an entry out of a member's list. Twice is once.
    ///
    /// # Errors
    /// As [`Store::read_inbox`].
    pub async fn archive_inbox(&self, member: MemberId, entry: InboxId) -> Result<(), Error> {
        const ARCHIVE: &str = "UPDATE inbox SET archived = TRUE WHERE id = $1 AND member = $2";
        self.mark(WritePoint::ArchiveInbox, ARCHIVE, member, entry)
            .await
    }

    async fn mark(
        &self,
        point: WritePoint,
        update: &'static str,
        member: MemberId,
        entry: InboxId,
    ) -> Result<(), Error> {
        let mut write = self.write(point).await?;
        let update = query("change an entry of an inbox", update)
            .bind(entry)
            .bind(member);
        let archive = point == WritePoint::ArchiveInbox;
        if update.execute(&mut write).await? == 1
            || quick::settle(&mut write, member, entry, archive).await?
            || approvals::mark(&mut write, member, entry, archive).await?
        {
            return write.commit().await;
        }
        Err(Error::Missing {
            what: format!("entry {entry} in this inbox"),
        })
    }
}

/// Tells a member: once for each kind and comment, and of an issue that they were given once until they have
/// looked, or an agent could fill the store by giving it to and fro. Nobody is told of what they did themselves.
/// False where nothing was told.
pub(crate) async fn notify(write: &mut Write, notice: Notice<'_>) -> Result<bool, Error> {
    const INSERT: &str = "INSERT INTO inbox (id, member, kind, issue, comment, author_kind, author_id, author_name, \
        created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
    let author = notice.author;
    if author.kind == AuthorKind::Member && author.id == notice.member.to_string() {
        return Ok(false);
    }
    let insert = query("tell a member", INSERT)
        .bind(new_id(notice.now)?)
        .bind(notice.member)
        .bind(notice.kind.as_str())
        .bind(notice.issue)
        .bind(notice.comment)
        .bind(author.kind.as_str());
    let told = insert
        .bind(author.id.as_str())
        .bind(author.name.as_str())
        .bind(notice.now)
        .execute(write)
        .await?;
    Ok(told == 1)
}

fn read(row: &Row) -> Result<InboxEntry, Error> {
    Ok(InboxEntry {
        id: InboxId(row.get("id")?),
        kind: row.word("kind", InboxKind::parse)?,
        issue: Some(IssueKey {
            prefix: row.get("prefix")?,
            number: row.u32("number")?,
        }),
        title: row.get("title")?,
        text: None,
        task: None,
        comment: row.get::<Option<Uuid>>("comment")?.map(CommentId),
        approval: None,
        author: read_author(row)?,
        read: row.get("is_read")?,
        created: row.time("created_at")?,
    })
}
