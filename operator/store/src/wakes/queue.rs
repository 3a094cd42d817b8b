//! Queueing: the task of a slot takes in what comes, or a new one is born.

use jiff::Timestamp;
use protocol::board::{BlockedReason, Issue, WakeVerdict};
use protocol::{SessionPolicy, Subject, TaskId};
use uuid::Uuid;

use super::deferred;
use super::object_name;
use super::row::Cause;
use crate::db::{Conn, query};
use crate::sessions::{self, SessionKey};
use crate::shares;
use crate::tasks::{self, NewTask, TaskObject, new_id};
use crate::writes::Write;
use crate::{Error, WorkspaceRef};

/// A wake that was decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wake<'a> {
    pub(crate) workspace: &'a WorkspaceRef,
    /// Locked.
    pub(crate) issue: &'a Issue,
    pub(crate) agent: &'a str,
    /// The thread that it belongs to; the id of the issue for none.
    pub(crate) thread: Uuid,
    /// Tasks that may wait in the workspace for it to be one more.
    pub(crate) max_queued: Option<u32>,
    /// Not before this moment, which is yet to come.
    pub(crate) fire_at: Option<Timestamp>,
}

/// The task that would take in what comes for this agent here: the one of the thread, else one that belongs to no
/// thread yet. What belongs to no thread itself goes into any.
pub(crate) async fn absorbing(
    on: impl Into<Conn<'_>>,
    wake: Wake<'_>,
) -> Result<Option<TaskId>, Error> {
    const OF_THREAD: &str = "SELECT task FROM wakes WHERE namespace_uid = $1 AND agent = $2 AND issue = $3 \
        AND absorbing AND thread IN ($4, $3) ORDER BY CASE WHEN thread = $4 THEN 0 ELSE 1 END LIMIT 1";
    const ANY: &str = "SELECT task FROM wakes WHERE namespace_uid = $1 AND agent = $2 AND issue = $3 \
        AND absorbing ORDER BY task DESC LIMIT 1";
    let find = if wake.thread == wake.issue.id.0 {
        query("find a task that takes in", ANY)
    } else {
        query("find the task of a slot", OF_THREAD)
    };
    let find = find
        .bind(wake.workspace.namespace_uid.as_str())
        .bind(wake.agent)
        .bind(wake.issue.id);
    let find = if wake.thread == wake.issue.id.0 {
        find
    } else {
        find.bind(wake.thread)
    };
    let found = find.optional(on).await?;
    found.map(|row| row.get("task").map(TaskId)).transpose()
}

/// Wakes an agent: the task of the slot takes the cause in, else one is queued. The issue is locked, so that two
/// writes do not both find none; the session too, so that nobody opens the package meanwhile.
pub(crate) async fn wake(
    write: &mut Write,
    wake: Wake<'_>,
    cause: &Cause,
) -> Result<WakeVerdict, Error> {
    let key = SessionKey {
        namespace_uid: wake.workspace.namespace_uid.clone(),
        agent: wake.agent.to_owned(),
        subject: Subject {
            kind: Subject::ISSUE.to_owned(),
            name: wake.issue.key.to_string(),
        },
    };
    let namespace = &wake.workspace.namespace;
    let session = sessions::enter(write, &key, namespace, new_id(cause.at)?).await?;
    if let Some(task) = absorbing(&mut *write, wake).await? {
        add_cause(write, task, wake, cause).await?;
        if let Some((counts, thread)) = newest(&mut *write, task).await? {
            stamp(write, task, &counts, thread.unwrap_or(wake.issue.id.0)).await?;
        }
        write.changed(task);
        let until = deferred::settle(write, task, cause.at).await?;
        return Ok(match until {
            Some(until) => WakeVerdict::Deferred {
                task: Some(task),
                until,
            },
            None => WakeVerdict::Coalesced { task },
        });
    }
    if !shares::has_room(&mut *write, &key.namespace_uid, wake.max_queued).await? {
        return Ok(WakeVerdict::Blocked {
            reason: BlockedReason::QueueFull,
        });
    }
    let task = born(write, wake, key, cause).await?;
    sessions::choose_head(write, session).await?;
    write.changed(task);
    let task = Some(task);
    Ok(match wake.fire_at {
        Some(until) => WakeVerdict::Deferred { task, until },
        None => WakeVerdict::Queued { task },
    })
}

async fn born(
    write: &mut Write,
    wake: Wake<'_>,
    session: SessionKey,
    cause: &Cause,
) -> Result<TaskId, Error> {
    const INSERT: &str = "INSERT INTO wakes (cause_kind, comment, author_kind, author_id, author_name, author_task, \
        originator, accountable, evidence, depth, woken_at, root, again_of, originator_groups, team, \
        task, namespace_uid, agent, issue, thread) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)";
    let task = TaskId(new_id(cause.at)?);
    let new = NewTask {
        object: TaskObject {
            namespace: wake.workspace.namespace.clone(),
            namespace_uid: wake.workspace.namespace_uid.clone(),
            name: object_name(wake.agent, task),
            uid: None,
            spec_hash: String::new(),
        },
        session,
        priority: wake.issue.priority,
        policy: SessionPolicy::Resume,
        created_at: cause.at,
        deadline_seconds: None,
        suspended: false,
        prompt: None,
        fire_at: wake.fire_at,
    };
    // Its own id, until it has an object: the column takes no two alike, and this one is like no other.
    tasks::insert(write, task, &task.to_string(), &new).await?;
    cause
        .bind(query("wake an agent", INSERT))?
        .bind(task)
        .bind(wake.workspace.namespace_uid.as_str())
        .bind(wake.agent)
        .bind(wake.issue.id)
        .bind(wake.thread)
        .execute(&mut *write)
        .await?;
    add_cause(write, task, wake, cause).await?;
    Ok(task)
}

async fn add_cause(
    write: &mut Write,
    task: TaskId,
    wake: Wake<'_>,
    cause: &Cause,
) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO wake_causes (cause_kind, comment, author_kind, author_id, author_name, author_task, \
        originator, accountable, evidence, depth, woken_at, root, again_of, originator_groups, team, \
        task, agent, fire_at, number) \
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
        COALESCE(MAX(number), 0) + 1 FROM wake_causes WHERE task = $16";
    let insert = cause.bind(query("add a cause", INSERT))?;
    insert
        .bind(task)
        .bind(wake.agent)
        .bind(wake.fire_at)
        .execute(write)
        .await?;
    Ok(())
}

/// The cause that counts, and the thread of its comment: the newest comment, else the newest of all. Who was woken to
/// lead a team by any of them leads it.
pub(super) async fn newest(
    on: impl Into<Conn<'_>>,
    task: TaskId,
) -> Result<Option<(Cause, Option<Uuid>)>, Error> {
    const NEWEST: &str = "SELECT cause_kind, comment, author_kind, author_id, author_name, author_task, originator, \
        accountable, evidence, depth, woken_at, root, again_of, originator_groups, \
        COALESCE(team, (SELECT led.team FROM wake_causes AS led WHERE led.task = wake_causes.task \
        AND led.team IS NOT NULL ORDER BY led.number DESC LIMIT 1)) AS team, \
        (SELECT thread FROM comments WHERE comments.id = wake_causes.comment) AS thread \
        FROM wake_causes WHERE task = $1 ORDER BY CASE WHEN comment IS NULL THEN 1 ELSE 0 END, number DESC LIMIT 1";
    let find = query("find the cause that counts", NEWEST).bind(task);
    let found = find.optional(on).await?;
    found
        .map(|row| Ok((Cause::read(&row)?, row.get("thread")?)))
        .transpose()
}

/// Makes a cause the one that counts, with who answers for it, and moves the task into its thread.
pub(super) async fn stamp(
    write: &mut Write,
    task: TaskId,
    cause: &Cause,
    thread: Uuid,
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE wakes SET cause_kind = $1, comment = $2, author_kind = $3, author_id = $4, \
        author_name = $5, author_task = $6, originator = $7, accountable = $8, evidence = $9, depth = $10, \
        woken_at = $11, root = $12, again_of = $13, originator_groups = $14, team = $15, thread = $17 WHERE task = $16";
    cause
        .bind(query("name the cause that counts", UPDATE))?
        .bind(task)
        .bind(thread)
        .execute(write)
        .await?;
    Ok(())
}
