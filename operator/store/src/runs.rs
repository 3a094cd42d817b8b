//! Tasks as people see them: those of a workspace, and those that worked on an issue.

use std::collections::BTreeMap;

use protocol::board::{CauseKind, IssueKey, Page, RunView};
use protocol::{MemberId, Outcome, Subject, TaskId};
use uuid::Uuid;

use crate::db::{Query, Row, query};
use crate::tasks::{TaskRow, task_columns};
use crate::{Error, Store, WorkspaceRef, issues, page, usage};

/// A task's columns, its subject and what woke it.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT ", task_columns!(), ", \
             (SELECT subject_kind FROM sessions WHERE sessions.id = tasks.session) AS subject_kind, \
             (SELECT subject_name FROM sessions WHERE sessions.id = tasks.session) AS subject_name, \
             (SELECT cause_kind FROM wakes WHERE wakes.task = tasks.id) AS cause_kind, \
             (SELECT CAST(SUM(input + output + cache_read + cache_write) AS BIGINT) FROM usage \
              WHERE usage.task = tasks.id) AS tokens FROM tasks ",
            $which
        )
    };
}
pub(crate) use select;

impl Store {
    /// A task of the workspace. What it waits for is not said: that depends on its agent's limits
    /// ([`Store::waiting`]).
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn run(
        &self,
        workspace: &WorkspaceRef,
        task: TaskId,
    ) -> Result<Option<RunView>, Error> {
        const RUN: &str = select!("WHERE id = $1 AND namespace_uid = $2");
        let find = query("read a run", RUN)
            .bind(task)
            .bind(workspace.namespace_uid.as_str());
        let mut reader = self.reader().await?;
        let found = find.optional(&mut reader).await?;
        let mut run = found.as_ref().map(read).transpose()?;
        if let Some(run) = &mut run {
            run.usage = usage::of_task(&mut reader, task).await?;
        }
        Ok(run)
    }

    /// Tasks of the workspace, newest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn runs(
        &self,
        workspace: &WorkspaceRef,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<RunView>, Error> {
        const LIST: &str =
            select!("WHERE namespace_uid = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
        let list = query("list runs", LIST).bind(workspace.namespace_uid.as_str());
        self.run_page(list, limit, cursor).await
    }

    /// Tasks that were woken on an issue, newest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Invalid`] for a limit or cursor that is none,
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn runs_of_issue(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<RunView>, Error> {
        const LIST: &str = select!(
            "WHERE id IN (SELECT task FROM wakes WHERE issue = $1 AND task < $2 ORDER BY task DESC LIMIT $3) \
             ORDER BY id DESC"
        );
        let issue = self.issue(workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?;
        let list = query("list runs of an issue", LIST).bind(issue.id);
        self.run_page(list, limit, cursor).await
    }

    /// The person to whom alone it is told what became of a task, where it answers a chat or writes an issue for
    /// somebody.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn private_to(&self, task: TaskId) -> Result<Option<MemberId>, Error> {
        const FIND: &str = "SELECT member FROM chats JOIN chat_tasks ON chat_tasks.chat = chats.id \
            WHERE chat_tasks.task = $1 UNION ALL SELECT member FROM quick_issues WHERE task = $1 LIMIT 1";
        let find = query("find whose task it is", FIND).bind(task);
        let found = find.optional(&mut self.reader().await?).await?;
        found.map(|row| row.get("member").map(MemberId)).transpose()
    }

    async fn run_page(
        &self,
        list: Query,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<RunView>, Error> {
        let (limit, before) = (page::limit(limit)?, page::after(cursor)?);
        let list = list.bind(before.unwrap_or(Uuid::max())).bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let runs = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(runs, limit, |last: &RunView| {
            last.id.to_string()
        }))
    }
}

/// A task as its row says it.
pub(crate) fn read(row: &Row) -> Result<RunView, Error> {
    let task = TaskRow::read(row)?;
    let deferred_until = task.deferred_until();
    let outcome = task.verdict.map(|verdict| verdict.outcome);
    let cause: Option<String> = row.get("cause_kind")?;
    let cause = cause.map(|word| {
        CauseKind::parse(&word).ok_or(Error::Corrupt {
            what: "cause_kind",
            found: word,
        })
    });
    let subject = Subject {
        kind: row.get("subject_kind")?,
        name: row.get("subject_name")?,
    };
    // These stand in tables of their own.
    let elsewhere = match subject.kind.as_str() {
        Subject::CHAT => Some(CauseKind::Chat),
        Subject::QUICK_ISSUE => Some(CauseKind::QuickIssue),
        _ => None,
    };
    Ok(RunView {
        id: task.id,
        name: task.object.name,
        agent: task.agent,
        subject,
        state: task.state,
        attempt: task.attempt,
        waits_for: None,
        deferred_until,
        succeeded: outcome.as_ref().map(|outcome| outcome.class().is_none()),
        failure: outcome.as_ref().and_then(Outcome::class),
        message: outcome.and_then(message),
        cause: cause.transpose()?.or(elsewhere),
        tokens: row
            .get::<Option<i64>>("tokens")?
            .map_or(0, i64::unsigned_abs),
        usage: BTreeMap::new(),
        created: task.created_at,
        finished: task.closed_at,
    })
}

fn message(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Succeeded => None,
        Outcome::Failed { message, .. } => Some(message),
    }
}
