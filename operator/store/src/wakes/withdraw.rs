//! What a comment or an assignment caused is taken back, as long as nobody has begun with it.

use jiff::Timestamp;
use protocol::board::{CauseKind, Recipient, RecipientKind};
use protocol::{CommentId, FailureClass, IssueId, Outcome, TaskId, Verdict};

use super::deferred;
use super::queue::{newest, stamp};
use super::row::{Cause, Evidence, WakeRow};
use crate::db::{Conn, Query, Row, query, to_json};
use crate::tasks;
use crate::writes::Write;
use crate::{Error, verdicts};

/// A cause in the task that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caused {
    pub(crate) task: TaskId,
    number: i64,
    pub(crate) agent: String,
    /// The team that it is to lead.
    pub(crate) team: Option<String>,
    pub(crate) evidence: Evidence,
    /// True while it can be taken back.
    pub(crate) absorbing: bool,
}

/// What a comment has caused, one for each agent.
pub(crate) async fn caused_by(
    on: impl Into<Conn<'_>>,
    comment: CommentId,
) -> Result<Vec<Caused>, Error> {
    const LIST: &str = "SELECT wake_causes.task AS task, number, wake_causes.agent AS agent, \
        wake_causes.team AS team, wake_causes.evidence AS evidence, absorbing FROM wake_causes \
        JOIN wakes ON wakes.task = wake_causes.task WHERE wake_causes.comment = $1 ORDER BY wake_causes.task";
    let list = query("find what a comment caused", LIST).bind(comment);
    list.all(on).await?.iter().map(read).collect()
}

/// What the assignment of an issue to an agent or a team has caused that can be taken back.
pub(super) async fn caused_by_assignment(
    on: impl Into<Conn<'_>>,
    issue: IssueId,
    had: &Recipient,
) -> Result<Vec<Caused>, Error> {
    const LIST: &str = "SELECT wake_causes.task AS task, number, wake_causes.agent AS agent, \
        wake_causes.team AS team, wake_causes.evidence AS evidence, absorbing FROM wakes \
        JOIN wake_causes ON wake_causes.task = wakes.task WHERE issue = $1 AND absorbing \
        AND wake_causes.cause_kind = $2 ORDER BY wake_causes.task";
    let list = query("find what an assignment caused", LIST)
        .bind(issue)
        .bind(CauseKind::Assignment.as_str());
    let all: Vec<Caused> = list
        .all(on)
        .await?
        .iter()
        .map(read)
        .collect::<Result<_, _>>()?;
    // Who leads a team now need not be who was woken for it.
    let is_of = |caused: &Caused| match had.kind {
        RecipientKind::Agent => caused.team.is_none() && caused.agent == had.id,
        RecipientKind::Team => caused.team.as_ref() == Some(&had.id),
        RecipientKind::Member => false,
    };
    Ok(all.into_iter().filter(is_of).collect())
}

fn read(row: &Row) -> Result<Caused, Error> {
    Ok(Caused {
        task: TaskId(row.get("task")?),
        number: row.get("number")?,
        agent: row.get("agent")?,
        team: row.get("team")?,
        evidence: row.word("evidence", Evidence::parse)?,
        absorbing: row.get("absorbing")?,
    })
}

/// Takes a cause back. A task that has another one goes on with that; one that has none is cancelled, also when
/// its pod is on the way. A run whose package was opened is left alone: whose answer would it be? The issue is
/// locked.
pub(crate) async fn withdraw(
    write: &mut Write,
    caused: &Caused,
    why: &str,
    now: Timestamp,
) -> Result<(), Error> {
    const DELETE: &str = "DELETE FROM wake_causes WHERE task = $1 AND number = $2";
    let take = query("take a cause back", DELETE)
        .bind(caused.task)
        .bind(caused.number);
    lose(write, caused, take, (why, now)).await
}

/// Another task, which has begun, takes a cause over: it is the newest of what woke that one.
pub(super) async fn hand_over(
    write: &mut Write,
    caused: &Caused,
    to: &WakeRow,
    (why, now): (&str, Timestamp),
) -> Result<(), Error> {
    const MOVE: &str = "UPDATE wake_causes SET task = $3, number = (SELECT COALESCE(MAX(others.number), 0) + 1 \
        FROM wake_causes AS others WHERE others.task = $3) WHERE task = $1 AND number = $2";
    let take = query("hand a cause over", MOVE)
        .bind(caused.task)
        .bind(caused.number)
        .bind(to.task);
    lose(write, caused, take, (why, now)).await?;
    if let Some((cause, _)) = newest(&mut *write, to.task).await? {
        stamp(write, to.task, &cause, to.thread).await?;
    }
    Ok(())
}

/// A task that has not begun loses a cause by this statement.
async fn lose(
    write: &mut Write,
    caused: &Caused,
    take: Query,
    (why, now): (&str, Timestamp),
) -> Result<(), Error> {
    let (task, session) = tasks::locked(write, caused.task).await?;
    let Some(row) = WakeRow::find(&mut *write, caused.task).await? else {
        return Ok(());
    };
    // One that is put aside takes in nothing more, and has not begun all the same.
    if row.opened_at.is_some() || task.state.has_verdict() {
        return Ok(());
    }
    take.execute(&mut *write).await?;
    if let Some((cause, thread)) = newest(&mut *write, caused.task).await? {
        let thread = thread.unwrap_or(row.issue.0);
        if thread == row.thread || !is_taken(write, &row).await? {
            stamp(write, caused.task, &cause, thread).await?;
            deferred::settle(write, caused.task, now).await?;
            write.changed(caused.task);
            return Ok(());
        }
        // Another task waits for the same already.
    }
    let verdict = Verdict {
        outcome: Outcome::failed(FailureClass::Cancelled, why),
        at: now,
        result: None,
    };
    // The task's own row before what woke it, as everywhere: whoever binds its object waits for both, too.
    verdicts::cancel(write, &task, &session, &verdict, now).await?;
    close(write, caused.task).await
}

/// What a text now means otherwise: as the leader of a team, or as itself.
pub(crate) async fn lead(
    write: &mut Write,
    caused: &Caused,
    team: Option<&str>,
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE wake_causes SET team = $3 WHERE task = $1 AND number = $2";
    let update = query("say which team a cause is for", UPDATE)
        .bind(caused.task)
        .bind(caused.number);
    update.bind(team).execute(&mut *write).await?;
    stamp_newest(write, caused.task).await
}

/// Lets a cause be on behalf of somebody else, with all that is behind them.
pub(crate) async fn carry(write: &mut Write, caused: &Caused, cause: &Cause) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE wake_causes SET author_task = $3, originator = $4, originator_groups = $5, \
        accountable = $6, depth = $7, root = $8 WHERE task = $1 AND number = $2";
    let originator = cause.originator.as_ref();
    let groups = originator.map(|person| to_json("groups", &person.groups));
    query("say on whose behalf a cause is", UPDATE)
        .bind(caused.task)
        .bind(caused.number)
        .bind(cause.author_task)
        .bind(originator.map(|person| person.user.as_str()))
        .bind(groups.transpose()?)
        .bind(cause.accountable.as_deref())
        .bind(cause.depth)
        .bind(cause.root)
        .execute(&mut *write)
        .await?;
    stamp_newest(write, caused.task).await
}

/// The task says again what its newest cause says; its thread stays.
async fn stamp_newest(write: &mut Write, task: TaskId) -> Result<(), Error> {
    let row = WakeRow::find(&mut *write, task).await?;
    let newest = newest(&mut *write, task).await?;
    if let (Some(row), Some((cause, _))) = (row, newest) {
        stamp(write, task, &cause, row.thread).await?;
    }
    Ok(())
}

/// Whether another task of the agent waits for what belongs to no thread.
async fn is_taken(write: &mut Write, row: &WakeRow) -> Result<bool, Error> {
    const FIND: &str = "SELECT 1 AS found FROM wakes AS others WHERE namespace_uid = (SELECT namespace_uid FROM wakes \
        WHERE task = $1) AND agent = $2 AND issue = $3 AND thread = $3 AND absorbing LIMIT 1";
    let find = query("look whether a slot is taken", FIND)
        .bind(row.task)
        .bind(row.agent.as_str())
        .bind(row.issue);
    Ok(find.optional(write).await?.is_some())
}

/// Lets the task of a slot take in nothing more.
pub(crate) async fn close(write: &mut Write, task: TaskId) -> Result<(), Error> {
    query(
        "close a slot",
        "UPDATE wakes SET absorbing = $2 WHERE task = $1",
    )
    .bind(task)
    .bind(false)
    .execute(write)
    .await?;
    Ok(())
}
