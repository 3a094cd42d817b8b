//! Entries of inboxes that tell of a question.

use protocol::board::{Author, AuthorKind, InboxEntry, InboxKind};
use protocol::{InboxId, MemberId, TaskId};
use uuid::Uuid;

use super::ApprovalId;
use crate::db::{Conn, Row, query};
use crate::writes::Write;
use crate::{Error, WorkspaceRef};

/// Entries of a member, newest first.
pub(crate) async fn entries(
    on: impl Into<Conn<'_>>,
    workspace: &WorkspaceRef,
    member: MemberId,
    (limit, before): (u32, Uuid),
) -> Result<Vec<InboxEntry>, Error> {
    const LIST: &str = "SELECT entry.id AS id, entry.approval AS approval, approvals.task AS task, tasks.agent AS agent, tool, \
        workspaces.prefix AS prefix, issues.number AS number, is_read, entry.created_at AS created_at \
        FROM approval_entries AS entry JOIN approvals ON approvals.id = entry.approval \
        JOIN tasks ON tasks.id = approvals.task LEFT JOIN wakes ON wakes.task = approvals.task \
        LEFT JOIN issues ON issues.id = wakes.issue \
        LEFT JOIN workspaces ON workspaces.namespace_uid = issues.namespace_uid \
        WHERE entry.member = $1 AND entry.namespace_uid = $2 AND NOT entry.archived AND entry.id < $3 \
        ORDER BY entry.id DESC LIMIT $4";
    let list = query("list questions of an inbox", LIST)
        .bind(member)
        .bind(workspace.namespace_uid.as_str())
        .bind(before)
        .bind(limit);
    let rows = list.all(on).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<InboxEntry, Error> {
    let (agent, tool): (String, String) = (row.get("agent")?, row.get("tool")?);
    Ok(InboxEntry {
        id: InboxId(row.get("id")?),
        kind: InboxKind::Approval,
        issue: super::issue(row)?,
        title: format!("{agent} waits for a decision on {tool}"),
        text: None,
        task: Some(TaskId(row.get("task")?)),
        comment: None,
        approval: Some(ApprovalId(row.get("approval")?)),
        author: Author {
            kind: AuthorKind::Agent,
            id: agent.clone(),
            name: agent,
        },
        read: row.get("is_read")?,
        created: row.time("created_at")?,
    })
}

/// Marks such an entry as read, or puts it away; says whether it is one of theirs.
pub(crate) async fn mark(
    write: &mut Write,
    member: MemberId,
    entry: InboxId,
    archive: bool,
) -> Result<bool, Error> {
    const READ: &str =
        "UPDATE approval_entries SET is_read = TRUE WHERE id = $1 AND member = $2 AND NOT archived";
    const ARCHIVE: &str =
        "UPDATE approval_entries SET archived = TRUE WHERE id = $1 AND member = $2";
    let update = query(
        "change an entry that tells of a question",
        if archive { ARCHIVE } else { READ },
    );
    Ok(update.bind(entry).bind(member).execute(write).await? == 1)
}
