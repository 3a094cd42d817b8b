//! Remarks that are offered to a run that goes on, and what became of them.

use jiff::Timestamp;
use protocol::board::{CauseKind, IssueKey, Posted};
use protocol::runner::CommandKind;
use protocol::{AttemptId, CommentId, TaskId, bound, limits};
use wake::{Directory, Target};

use crate::db::{Conn, query};
use crate::wakes::{self, Begin, WakeRow};
use crate::writes::Write;
use crate::{Acting, Error, Store, WritePoint, attempts, comments, issues, requests, tasks};

/// Why the task that waited with a remark is over.
const TAKEN: &str = "the agent took it in while it worked on an earlier task";

impl Store {
    /// A person says something to a task that works: a comment in its thread, of which the run is told at once. Where it
    /// does not take it in, another task does it after.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a text that cannot be one, [`Error::Missing`], [`Error::Conflict`] when the task does not work
    /// on an issue now, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn steer(
        &self,
        by: &Acting,
        task: TaskId,
        body: &str,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<Posted, Error> {
        comments::check_body(body)?;
        let conflict = |what: &str| Error::Conflict {
            what: what.to_owned(),
        };
        let mut write = self.write(WritePoint::Steer).await?;
        write.queue(&by.workspace, directory).await?;
        if let Some(made) = requests::made(&mut write, by, now).await? {
            return Ok(Posted {
                comment: comments::fresh(&mut write, CommentId(made.id)).await?,
                wakes: made.wakes,
            });
        }
        let row = WakeRow::find(&mut write, task).await?;
        let row = row.ok_or_else(|| {
            conflict("the task was not woken on an issue: write in its chat, or make another task")
        })?;
        let issue = issues::locked_by_id(&mut write, row.issue).await?;
        let issue = issue.ok_or_else(|| conflict("the issue of the task is gone"))?;
        let (found, _) = tasks::locked(&mut write, task).await?;
        if !found.state.is_active() || row.opened_at.is_none() {
            return Err(conflict(
                "the task does not work now: say it in a comment on its issue",
            ));
        }
        let said = comments::remark(&mut write, by, &issue, row.reply_to(), body, now).await?;
        let target = Target::leading(&row.agent, row.cause.team.as_deref());
        let chain = wakes::chain(&mut write, &by.author, by.person(), by.task).await?;
        let begin = Begin {
            workspace: &by.workspace,
            issue: &issue,
            kind: CauseKind::Comment,
            evidence: chain.evidence(),
            comment: Some(said.id),
            thread: Some(said.root),
            targets: &[target],
            suppress: &[],
            directory,
            limits: write.limits(),
            now,
            fire_at: None,
        };
        let wakes = begin.steering(&mut write, &chain).await?;
        said.tell(&mut write, by, &issue, body, now).await?;
        requests::keep(&mut write, by, said.id.0, &wakes, now).await?;
        let comment = comments::fresh(&mut write, said.id).await?;
        write.commit().await?;
        Ok(Posted { comment, wakes })
    }

    /// What became of a remark: taken in where `why` says nothing. Then the task that waited with it does not do it again.
    /// The first answer stands.
    ///
    /// # Errors
    /// [`Error::Missing`] when this attempt was offered none such, [`Error::Conflict`] when it has ended,
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn steered(
        &self,
        attempt: AttemptId,
        remark: CommentId,
        why: Option<&str>,
        now: Timestamp,
    ) -> Result<(), Error> {
        const FIND: &str =
            "SELECT state FROM steers WHERE task = $1 AND attempt = $2 AND comment = $3";
        let missing = || Error::Missing {
            what: format!("remark {remark} of this attempt"),
        };
        let mut write = self.write(WritePoint::Steered).await?;
        let row = WakeRow::find(&mut write, attempt.task).await?;
        let row = row.ok_or_else(missing)?;
        issues::locked_by_id(&mut write, row.issue)
            .await?
            .ok_or_else(missing)?;
        let (task, _) = tasks::locked(&mut write, attempt.task).await?;
        let find = query("find a remark", FIND)
            .bind(attempt.task)
            .bind(attempt.number)
            .bind(remark);
        let state: String = find
            .optional(&mut write)
            .await?
            .ok_or_else(missing)?
            .get("state")?;
        if state != OFFERED {
            return Ok(());
        }
        if task.attempt != attempt.number || !task.state.is_active() {
            return Err(Error::Conflict {
                what: "the attempt has ended".to_owned(),
            });
        }
        let state = if why.is_none() { TAKEN_IN } else { REFUSED };
        settle(&mut write, attempt, remark, (state, why), now).await?;
        if why.is_none() {
            wakes::taken_in(&mut write, &row, remark, (TAKEN, now)).await?;
        }
        write.changed(attempt.task);
        write.commit().await
    }
}

const OFFERED: &str = "offered";
const TAKEN_IN: &str = "taken";
const REFUSED: &str = "refused";

/// Offers a comment to a run; false when it was offered that before, or as many as may be. The session is locked.
pub(crate) async fn offer(
    write: &mut Write,
    attempt: AttemptId,
    (comment, issue): (CommentId, &IssueKey),
    now: Timestamp,
) -> Result<bool, Error> {
    const INSERT: &str = "INSERT INTO steers (task, attempt, comment, state, offered_at) VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT DO NOTHING";
    if !has_room(&mut *write, attempt).await? {
        return Ok(false);
    }
    let insert = query("offer a remark", INSERT)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(comment)
        .bind(OFFERED)
        .bind(now);
    if insert.execute(&mut *write).await? == 0 {
        return Ok(false);
    }
    let said = comments::fresh(write, comment).await?;
    let command = CommandKind::Steer {
        remark: comment,
        text: words(said.body, issue, said.thread),
        author: said.author,
    };
    attempts::tell(write, attempt, command).await?;
    write.changed(attempt.task);
    Ok(true)
}

/// Whether a run may be told one more.
pub(crate) async fn has_room(on: impl Into<Conn<'_>>, attempt: AttemptId) -> Result<bool, Error> {
    const COUNT: &str = "SELECT count(*) AS offered FROM (SELECT 1 FROM steers WHERE task = $1 AND attempt = $2 \
        LIMIT $3) AS counted";
    let count = query("count remarks", COUNT)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(limits::REMARKS_PER_ATTEMPT);
    Ok(count.one(on).await?.u32("offered")? < limits::REMARKS_PER_ATTEMPT)
}

/// What fits into a command, and where the rest is.
fn words(mut text: String, issue: &IssueKey, thread: CommentId) -> String {
    if text.len() > limits::CAUSE_COMMENT_BYTES {
        let rest = format!("… (cut; all of it: moor comment list {issue} --thread {thread})");
        bound::cut(&mut text, limits::CAUSE_COMMENT_BYTES - rest.len());
        text.push_str(&rest);
    }
    text
}

async fn settle(
    write: &mut Write,
    attempt: AttemptId,
    remark: CommentId,
    (state, why): (&str, Option<&str>),
    now: Timestamp,
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE steers SET state = $4, why = $5, settled_at = $6 \
        WHERE task = $1 AND attempt = $2 AND comment = $3";
    let update = query("settle a remark", UPDATE)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(remark);
    let update = update.bind(state).bind(why).bind(now);
    update.execute(write).await?;
    Ok(())
}

/// A comment was changed: a run that was offered what it said before does not take in what it says now. The issue is
/// locked.
pub(crate) async fn renewed(
    write: &mut Write,
    comment: CommentId,
    now: Timestamp,
) -> Result<(), Error> {
    const FIND: &str = "SELECT task, attempt FROM steers WHERE comment = $1 AND state = 'offered'";
    let find = query("find open remarks", FIND).bind(comment);
    // One of each agent that it names, at most.
    for row in find.all(&mut *write).await? {
        let attempt = AttemptId {
            task: TaskId(row.get("task")?),
            number: row.u32("attempt")?,
        };
        // The session before its rows, as everywhere.
        tasks::locked(&mut *write, attempt.task).await?;
        let state = (REFUSED, Some("the comment was changed"));
        settle(write, attempt, comment, state, now).await?;
        write.changed(attempt.task);
    }
    Ok(())
}

/// An attempt ends, and takes in nothing more.
pub(crate) async fn close(
    write: &mut Write,
    attempt: AttemptId,
    now: Timestamp,
) -> Result<(), Error> {
    const CLOSE: &str = "UPDATE steers SET state = 'refused', why = 'the run has ended', settled_at = $3 \
        WHERE task = $1 AND attempt = $2 AND state = 'offered'";
    let close = query("withdraw open remarks", CLOSE)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(now);
    close.execute(write).await?;
    Ok(())
}
