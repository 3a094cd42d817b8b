//! Uses of tools for which a person is asked.
//!
//! A question belongs to an attempt and waits as long as that lives: whatever ends the attempt withdraws it in the same
//! transaction. One statement settles it, so one answer wins; a decision is written together with the command that tells
//! the runner. The row of the session is the lock, as for everything that an attempt does.

mod ask;
mod settle;
mod told;

use protocol::board::{Approval, ApprovalQuery, ApprovalState, IssueKey, Page};
use protocol::{ApprovalId, MemberId, TaskId};
use uuid::Uuid;

pub use ask::{Asked, Question};
pub(crate) use settle::close;
pub(crate) use told::{entries, mark};

use crate::db::{Conn, Row, query};
use crate::{Error, Store, WorkspaceRef, page};

macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT approvals.id AS id, approvals.state AS state, tasks.agent AS agent, approvals.task AS task, \
             approvals.attempt AS attempt, workspaces.prefix AS prefix, issues.number AS number, tool, input, why, asked_at, \
             expires_at, settled_at, decided_by, reason FROM approvals JOIN tasks ON tasks.id = approvals.task \
             LEFT JOIN wakes ON wakes.task = approvals.task LEFT JOIN issues ON issues.id = wakes.issue \
             LEFT JOIN workspaces ON workspaces.namespace_uid = issues.namespace_uid ",
            $which
        )
    };
}

const BY_ID: &str = select!("WHERE approvals.id = $1");

impl Store {
    /// What waits for a decision in a workspace, newest first; with `all` also what is settled. What is about the chat
    /// of a person, or an issue that is made for one, is there for that one alone.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn approvals(
        &self,
        workspace: &WorkspaceRef,
        member: MemberId,
        asked: &ApprovalQuery,
    ) -> Result<Page<Approval>, Error> {
        const PENDING: &str = select!(
            "WHERE approvals.namespace_uid = $1 AND approvals.state = 'pending' AND approvals.id < $2 \
             AND (approvals.member IS NULL OR approvals.member = $3) ORDER BY approvals.id DESC LIMIT $4"
        );
        const ALL: &str = select!(
            "WHERE approvals.namespace_uid = $1 AND approvals.id < $2 \
             AND (approvals.member IS NULL OR approvals.member = $3) ORDER BY approvals.id DESC LIMIT $4"
        );
        let limit = page::limit(asked.limit)?;
        let before = page::after(asked.cursor.as_deref())?;
        let list = query("list approvals", if asked.all { ALL } else { PENDING })
            .bind(workspace.namespace_uid.as_str())
            .bind(before.unwrap_or(Uuid::max()))
            .bind(member)
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let found = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(found, limit, |last: &Approval| {
            last.id.to_string()
        }))
    }

    /// One of them, as far as this member may see it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn approval(
        &self,
        workspace: &WorkspaceRef,
        member: MemberId,
        approval: ApprovalId,
    ) -> Result<Option<Approval>, Error> {
        const FIND: &str = select!(
            "WHERE approvals.id = $1 AND approvals.namespace_uid = $2 \
             AND (approvals.member IS NULL OR approvals.member = $3)"
        );
        let find = query("read an approval", FIND)
            .bind(approval)
            .bind(workspace.namespace_uid.as_str())
            .bind(member);
        let found = find.optional(&mut self.reader().await?).await?;
        found.as_ref().map(read).transpose()
    }

    /// The tools for which a task waits, the first one asked first.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn awaited_tools(&self, task: TaskId) -> Result<Vec<String>, Error> {
        const LIST: &str =
            "SELECT tool FROM approvals WHERE task = $1 AND state = 'pending' ORDER BY id LIMIT $2";
        let list = query("list what a task waits for", LIST)
            .bind(task)
            .bind(protocol::limits::APPROVALS_PENDING);
        let rows = list.all(&mut self.reader().await?).await?;
        rows.iter().map(|row| row.get("tool")).collect()
    }
}

/// One, whoever asks.
async fn find(on: impl Into<Conn<'_>>, approval: ApprovalId) -> Result<Option<Approval>, Error> {
    let find = query("find an approval", BY_ID).bind(approval);
    let found = find.optional(on).await?;
    found.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<Approval, Error> {
    Ok(Approval {
        id: ApprovalId(row.get("id")?),
        state: row.word("state", ApprovalState::parse)?,
        agent: row.get("agent")?,
        task: TaskId(row.get("task")?),
        attempt: row.u32("attempt")?,
        issue: issue(row)?,
        tool: row.get("tool")?,
        input: row.json("input")?,
        why: row.get("why")?,
        asked: row.time("asked_at")?,
        expires: row.time("expires_at")?,
        settled: row.time_opt("settled_at")?,
        by: row.get("decided_by")?,
        reason: row.get("reason")?,
    })
}

/// The issue that the task works on, where there is one.
fn issue(row: &Row) -> Result<Option<IssueKey>, Error> {
    let prefix: Option<String> = row.get("prefix")?;
    prefix
        .map(|prefix| {
            Ok(IssueKey {
                prefix,
                number: row.u32("number")?,
            })
        })
        .transpose()
}

fn missing(approval: ApprovalId) -> Error {
    Error::Missing {
        what: format!("approval {approval}"),
    }
}
