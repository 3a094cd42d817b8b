//! A run that is over is asked for once more: for the same causes, on the same session, on behalf of who asks.

use jiff::Timestamp;
use protocol::board::{CauseKind, WakeVerdict};
use protocol::{CommentId, FailureClass, SessionPolicy, TaskId};
use uuid::Uuid;
use wake::Target;

use super::begin::Begin;
use super::deferred::{self, fire_at};
use super::facts::{Chain, chain};
use super::queue::{absorbing, wake};
use super::row::{Evidence, WakeRow};
use crate::db::query;
use crate::tasks::TaskRow;
use crate::writes::Write;
use crate::{Acting, Error, Store, WritePoint, issues};

/// Causes of one task that are asked for again; the newest.
const CAUSES: u32 = 50;

/// In which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Once more, whatever became of it.
    Rerun,
    /// Once more, since it failed.
    Retry {
        /// With a new conversation on the same files.
        fresh: bool,
    },
}

impl Store {
    /// Queues a task for what another one, which is over, was there for, on the same session; the task that waits
    /// in the same slot takes it in. Asked for twice before it has begun it is one run.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the task is not over, has not failed, was not woken on an issue, or nothing is left
    /// of what woke it, and when a new conversation is wanted where a task waits already, [`Error::Missing`],
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn do_again(
        &self,
        by: &Acting,
        task: TaskId,
        how: Again,
        directory: &dyn wake::Directory,
        now: Timestamp,
    ) -> Result<WakeVerdict, Error> {
        self.do_again_at(by, task, (how, None), directory, now)
            .await
    }

    /// [`Store::do_again`], where it is not to begin before a moment. The earlier one counts where a task waits for
    /// the same already.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a moment too far ahead; as [`Store::do_again`].
    pub async fn do_again_at(
        &self,
        by: &Acting,
        task: TaskId,
        (how, at): (Again, Option<Timestamp>),
        directory: &dyn wake::Directory,
        now: Timestamp,
    ) -> Result<WakeVerdict, Error> {
        let fire_at = fire_at(at, now)?;
        let missing = || Error::Missing {
            what: format!("task {task}"),
        };
        let old = self.task(task).await?;
        let old = old
            .filter(|old| old.object.namespace_uid == by.workspace.namespace_uid)
            .ok_or_else(missing)?;
        may_be_done_again(&old, how)?;
        let mut write = self.write(WritePoint::DoAgain).await?;
        write.queue(&by.workspace, directory).await?;
        let row = WakeRow::find(&mut write, task).await?;
        let row = row.ok_or_else(|| {
            conflict("no issue woke it: write into its chat again, or ask for the issue again")
        })?;
        let issue = issues::locked_by_id(&mut write, row.issue).await?;
        let issue = issue.ok_or_else(missing)?;
        let chain = chain(&mut write, &by.author, by.person(), by.task).await?;
        let led = row.cause.team.as_deref();
        let targets = [Target::leading(&row.agent, led)];
        let begin = Begin {
            workspace: &by.workspace,
            issue: &issue,
            kind: row.cause.kind,
            evidence: Evidence::Person,
            comment: None,
            thread: row.reply_to(),
            targets: &targets,
            suppress: &[],
            directory,
            limits: write.limits(),
            now,
            fire_at,
        };
        let decided = begin.decided(&mut write, &chain).await?;
        if let Some(reason) = decided.first().and_then(|decision| decision.blocked) {
            return Ok(WakeVerdict::Blocked { reason });
        }
        if let Some(waiting) = absorbing(&mut write, begin.slot(&row.agent)).await? {
            if how == (Again::Retry { fresh: true }) {
                return Err(conflict(&format!(
                    "task {waiting} waits for the same and goes on with the conversation: try again without a new \
                     one, or cancel that task first"
                )));
            }
            // Asked for sooner than it waits for, it is one more cause.
            let is_later = deferred::until(&mut write, waiting)
                .await?
                .is_some_and(|until| fire_at.is_none_or(|at| at < until));
            if !is_later && is_asked(&mut write, waiting, task).await? {
                return Ok(WakeVerdict::Coalesced { task: waiting });
            }
        }
        let verdict = wake_again(&mut write, &begin, &chain, (task, &row)).await?;
        if let (
            Again::Retry { fresh: true },
            WakeVerdict::Queued { task: Some(new) }
            | WakeVerdict::Deferred {
                task: Some(new), ..
            },
        ) = (how, &verdict)
        {
            begin_anew(&mut write, *new).await?;
        }
        write.commit().await?;
        Ok(verdict)
    }
}

/// Wakes the agent once more for what woke it for `task`, as far as that is still there.
async fn wake_again(
    write: &mut Write,
    begin: &Begin<'_>,
    chain: &Chain,
    (task, row): (TaskId, &WakeRow),
) -> Result<WakeVerdict, Error> {
    let mut verdict = None;
    for (kind, comment) in still_there(write, task).await? {
        let mut cause = Begin {
            kind,
            comment,
            ..*begin
        }
        .cause(chain);
        cause.again_of = Some(task);
        cause.team.clone_from(&row.cause.team);
        let done = wake(write, begin.slot(&row.agent), &cause).await?;
        verdict = verdict.or(Some(done));
    }
    verdict.ok_or_else(|| {
        conflict("what woke it was deleted: say in a comment what the agent is to do")
    })
}

fn may_be_done_again(old: &TaskRow, how: Again) -> Result<(), Error> {
    if !old.was_born_here() {
        return Err(conflict(
            "the task was made as an AgentTask in the cluster: create another one there, under another name",
        ));
    }
    let Some(verdict) = &old.verdict else {
        return Err(conflict("the task is not over: cancel it first, or wait"));
    };
    match (how, verdict.outcome.class()) {
        (Again::Rerun, _) => Ok(()),
        (Again::Retry { .. }, None) => Err(conflict(
            "the task has not failed: run it again (`moor task rerun`)",
        )),
        (Again::Retry { .. }, Some(FailureClass::Cancelled)) => Err(conflict(
            "the task has not failed, it was cancelled: run it again (`moor task rerun`)",
        )),
        (Again::Retry { .. }, Some(_)) => Ok(()),
    }
}

fn conflict(what: &str) -> Error {
    Error::Conflict {
        what: what.to_owned(),
    }
}

/// Whether a task that waits has taken this in already.
async fn is_asked(write: &mut Write, waiting: TaskId, again_of: TaskId) -> Result<bool, Error> {
    const FIND: &str =
        "SELECT 1 AS found FROM wake_causes WHERE task = $1 AND again_of = $2 LIMIT 1";
    let find = query("look whether a task does another one again", FIND)
        .bind(waiting)
        .bind(again_of);
    Ok(find.optional(write).await?.is_some())
}

/// What woke a task, without what was deleted since; in the order in which it came.
async fn still_there(
    write: &mut Write,
    task: TaskId,
) -> Result<Vec<(CauseKind, Option<CommentId>)>, Error> {
    const LIST: &str = "SELECT cause_kind, comment FROM wake_causes WHERE task = $1 AND (comment IS NULL OR EXISTS \
        (SELECT 1 FROM comments WHERE comments.id = wake_causes.comment AND deleted_at IS NULL)) \
        ORDER BY number DESC LIMIT $2";
    let list = query("list what is left of the causes of a task", LIST)
        .bind(task)
        .bind(CAUSES);
    let rows = list.all(write).await?;
    let cause = |row: &crate::db::Row| {
        let comment: Option<Uuid> = row.get("comment")?;
        Ok((
            row.word("cause_kind", CauseKind::parse)?,
            comment.map(CommentId),
        ))
    };
    rows.iter().rev().map(cause).collect()
}

/// Its object is made from the row later, so that it says the same.
async fn begin_anew(write: &mut Write, task: TaskId) -> Result<(), Error> {
    query(
        "let a task begin a new conversation",
        "UPDATE tasks SET policy = $2 WHERE id = $1",
    )
    .bind(task)
    .bind(SessionPolicy::Fresh.as_str())
    .execute(write)
    .await?;
    Ok(())
}
