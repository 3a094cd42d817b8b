//! Tasks: entered once for each object, read by id, listed in pages.

use jiff::Timestamp;
use jiff::ToSpan as _;
use protocol::{Resumed, SessionId, SessionPolicy, TaskId, TaskState, Verdict};
use uuid::Uuid;

use crate::db::{Conn, Query, Row, query};
use crate::life::{self, TaskEvent};
use crate::sessions::{self, SessionKey, SessionRow};
use crate::verdicts::LateResult;
use crate::writes::Write;
use crate::{Error, Store, WritePoint};

/// The object in the cluster that a task was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskObject {
    /// Its namespace.
    pub namespace: String,
    /// UID of the namespace.
    pub namespace_uid: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Hash of its spec, by which an object that is made again is known.
    pub spec_hash: String,
}

/// A task to be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    /// Its object.
    pub object: TaskObject,
    /// Its session; made with the first task.
    pub session: SessionKey,
    /// Higher is claimed first.
    pub priority: i32,
    /// What it asks of its conversation.
    pub policy: SessionPolicy,
    /// When its object was created.
    pub created_at: Timestamp,
    /// It fails when it is not over this long after its creation, time spent suspended aside.
    pub deadline_seconds: Option<u32>,
    /// True when it is put aside from the start.
    pub suspended: bool,
}

/// Answer to [`Store::enter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The task of this object.
    pub task: TaskId,
    /// False when it was there already.
    pub created: bool,
}

/// A task as the store holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// The object that it was made from.
    pub object: TaskObject,
    /// Who works on it.
    pub agent: String,
    /// Its session.
    pub session: SessionId,
    /// Higher is claimed first.
    pub priority: i32,
    /// What it asks of its conversation.
    pub policy: SessionPolicy,
    /// Where it stands.
    pub state: TaskState,
    /// Number of its last attempt; 0 when there was none.
    pub attempt: u32,
    /// When its object was created.
    pub created_at: Timestamp,
    /// When it fails if it is not over. Stands still while it is suspended.
    pub deadline_at: Option<Timestamp>,
    /// Since when it is suspended; set in that state only.
    pub suspended_at: Option<Timestamp>,
    /// The verdict that stands.
    pub verdict: Option<Verdict>,
    /// What came after the verdict, or from an attempt that had been ended.
    pub late_results: Vec<LateResult>,
    /// What of the earlier conversation was there again, by the result of the runner, be it late.
    pub resumed: Option<Resumed>,
    /// When it was finished.
    pub closed_at: Option<Timestamp>,
}

/// How many tasks stand where. Finished ones are not counted: that would take longer with each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Wait.
    pub queued: u64,
    /// Have the session, no open package.
    pub claimed: u64,
    /// Prepare.
    pub preparing: u64,
    /// Run.
    pub running: u64,
    /// Are being cleared away.
    pub finishing: u64,
    /// Are put aside.
    pub suspended: u64,
    /// Sessions that an attempt holds, ended ones included: what counts against the limits.
    pub holders: u64,
}

/// Columns of a [`TaskRow`].
macro_rules! task_columns {
    () => {
        "id, object_uid, namespace, namespace_uid, name, spec_hash, session, agent, priority, policy, state, \
         attempt, created_at, deadline_at, suspended_at, verdict, late_results, closed_at"
    };
}

const TASK: &str = concat!("SELECT ", task_columns!(), " FROM tasks WHERE id = $1");

impl TaskRow {
    fn read(row: &Row) -> Result<Self, Error> {
        let verdict: Option<Verdict> = row.json_opt("verdict")?;
        let late_results: Vec<LateResult> = row.json("late_results")?;
        let said = verdict
            .iter()
            .chain(late_results.iter().rev().map(|late| &late.verdict));
        let resumed = said
            .filter_map(|verdict| verdict.result.as_ref())
            .map(|result| result.resumed.clone())
            .next();
        let priority: i64 = row.get("priority")?;
        Ok(Self {
            id: TaskId(row.get("id")?),
            object: TaskObject {
                namespace: row.get("namespace")?,
                namespace_uid: row.get("namespace_uid")?,
                name: row.get("name")?,
                uid: row.get("object_uid")?,
                spec_hash: row.get("spec_hash")?,
            },
            agent: row.get("agent")?,
            session: SessionId(row.get("session")?),
            priority: i32::try_from(priority).map_err(|_| Error::Corrupt {
                what: "priority",
                found: priority.to_string(),
            })?,
            policy: row.word("policy", SessionPolicy::parse)?,
            state: row.word("state", TaskState::parse)?,
            attempt: row.u32("attempt")?,
            created_at: row.time("created_at")?,
            deadline_at: row.time_opt("deadline_at")?,
            suspended_at: row.time_opt("suspended_at")?,
            verdict,
            late_results,
            resumed,
            closed_at: row.time_opt("closed_at")?,
        })
    }
}

impl Store {
    /// Enters the task of an object, or finds it: the same object twice is one task.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an instant out of range, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn enter(&self, new: NewTask) -> Result<Entered, Error> {
        const INSERT: &str = "INSERT INTO tasks (id, object_uid, namespace, namespace_uid, name, spec_hash, session, \
            agent, priority, policy, state, created_at, deadline_at, suspended_at) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (object_uid) DO NOTHING";
        if let Some(task) = self.task_by_object(&new.object.uid).await? {
            return Ok(Entered {
                task,
                created: false,
            });
        }
        let id = TaskId(uuid_of(new.created_at)?);
        let deadline_at = new
            .deadline_seconds
            .map(|seconds| later(new.created_at, seconds))
            .transpose()?;
        let state = if new.suspended {
            TaskState::Suspended
        } else {
            TaskState::Queued
        };
        let mut write = self.write(WritePoint::Enter).await?;
        let session = sessions::enter(
            &mut write,
            &new.session,
            &new.object.namespace,
            uuid_of(new.created_at)?,
        )
        .await?;
        let entered = query("enter a task", INSERT)
            .bind(id)
            .bind(new.object.uid.as_str())
            .bind(new.object.namespace)
            .bind(new.object.namespace_uid)
            .bind(new.object.name)
            .bind(new.object.spec_hash)
            .bind(session)
            .bind(new.session.agent)
            .bind(new.priority)
            .bind(new.policy.as_str())
            .bind(state)
            .bind(new.created_at)
            .bind(deadline_at)
            .bind(new.suspended.then_some(new.created_at))
            .execute(&mut write)
            .await?;
        if entered == 0 {
            // Another one has entered it since we looked.
            drop(write);
            let task = self.task_by_object(&new.object.uid).await?;
            let missing = || Error::Missing {
                what: format!("task of the object {}", new.object.uid),
            };
            return Ok(Entered {
                task: task.ok_or_else(missing)?,
                created: false,
            });
        }
        sessions::choose_head(&mut write, session).await?;
        write.changed(id);
        write.commit().await?;
        Ok(Entered {
            task: id,
            created: true,
        })
    }

    /// Sets the priority; says whether that changed it.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn set_priority(&self, task: TaskId, priority: i32) -> Result<bool, Error> {
        let mut write = self.write(WritePoint::SetPriority).await?;
        let (row, session) = locked(&mut write, task).await?;
        if row.priority == priority {
            return Ok(false);
        }
        let update = query(
            "set a priority",
            "UPDATE tasks SET priority = $2 WHERE id = $1",
        );
        update.bind(task).bind(priority).execute(&mut write).await?;
        if row.state == TaskState::Queued {
            sessions::choose_head(&mut write, session.id).await?;
        }
        write.changed(task);
        write.commit().await?;
        Ok(true)
    }

    /// Puts a task aside: its attempt ends, its token dies, the session stays held until the attempt is
    /// cleared away. Says whether that changed anything; a task that is over or suspended stays as it is.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn suspend(&self, task: TaskId, now: Timestamp) -> Result<bool, Error> {
        const UPDATE: &str = "UPDATE tasks SET state = $2, suspended_at = $3 WHERE id = $1";
        let mut write = self.write(WritePoint::Suspend).await?;
        let (row, session) = locked(&mut write, task).await?;
        let Ok(state) = life::next(row.state, TaskEvent::Suspend) else {
            return Ok(false);
        };
        query("suspend a task", UPDATE)
            .bind(task)
            .bind(state)
            .bind(now)
            .execute(&mut write)
            .await?;
        if row.state.is_active() {
            let attempt = protocol::AttemptId {
                task,
                number: row.attempt,
            };
            crate::attempts::end(
                &mut write,
                attempt,
                Some(protocol::EndReason::Suspended),
                now,
            )
            .await?;
        }
        sessions::choose_head(&mut write, session.id).await?;
        write.changed(task);
        write.commit().await?;
        Ok(true)
    }

    /// Lets a suspended task go on: it waits again, and its deadline moves by the time it was suspended.
    /// Says whether that changed anything.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn resume(&self, task: TaskId, now: Timestamp) -> Result<bool, Error> {
        const UPDATE: &str =
            "UPDATE tasks SET state = $2, suspended_at = NULL, deadline_at = $3 WHERE id = $1";
        let mut write = self.write(WritePoint::Resume).await?;
        let (row, session) = locked(&mut write, task).await?;
        let Ok(state) = life::next(row.state, TaskEvent::Resume) else {
            return Ok(false);
        };
        let away = row.suspended_at.map_or(0, |since| {
            (now.as_microsecond() - since.as_microsecond()).max(0)
        });
        let deadline_at = row
            .deadline_at
            .map(|deadline| deadline.saturating_add(away.microseconds()));
        let deadline_at = deadline_at.transpose().map_err(|error| Error::Invalid {
            what: "deadline",
            why: error.to_string(),
        })?;
        query("resume a task", UPDATE)
            .bind(task)
            .bind(state)
            .bind(deadline_at)
            .execute(&mut write)
            .await?;
        sessions::choose_head(&mut write, session.id).await?;
        write.changed(task);
        write.commit().await?;
        Ok(true)
    }

    /// Remembers that the object of a finished task is about to be removed because its time to live is over,
    /// so that the same object made again is not run again. Says whether that changed anything.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn expire(&self, task: TaskId, now: Timestamp) -> Result<bool, Error> {
        const UPDATE: &str = "UPDATE tasks SET expired_at = $2 WHERE id = $1 AND state = 'finished' AND expired_at IS NULL";
        let mut write = self.write(WritePoint::Expire).await?;
        let expired = query("remember an expiry", UPDATE)
            .bind(task)
            .bind(now)
            .execute(&mut write)
            .await?;
        write.commit().await?;
        Ok(expired == 1)
    }

    /// The task that an object of this name and spec was once, if its time to live removed it.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn ran_before(&self, object: &TaskObject) -> Result<Option<TaskId>, Error> {
        const FIND: &str = "SELECT id FROM tasks WHERE namespace_uid = $1 AND name = $2 AND spec_hash = $3 \
            AND expired_at IS NOT NULL LIMIT 1";
        let find = query("look for an earlier run", FIND)
            .bind(object.namespace_uid.as_str())
            .bind(object.name.as_str())
            .bind(object.spec_hash.as_str());
        let found = find.optional(&mut self.reader().await?).await?;
        found.map(|row| row.get("id").map(TaskId)).transpose()
    }

    /// A task.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn task(&self, task: TaskId) -> Result<Option<TaskRow>, Error> {
        let found = query("read a task", TASK)
            .bind(task)
            .optional(&mut self.reader().await?)
            .await?;
        found.as_ref().map(TaskRow::read).transpose()
    }

    /// The task of an object.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn task_by_object(&self, uid: &str) -> Result<Option<TaskId>, Error> {
        let find = query(
            "find the task of an object",
            "SELECT id FROM tasks WHERE object_uid = $1",
        )
        .bind(uid);
        let found = find.optional(&mut self.reader().await?).await?;
        found.map(|row| row.get("id").map(TaskId)).transpose()
    }

    /// Tasks that are not finished, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn open_tasks(
        &self,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str =
            "SELECT id FROM tasks WHERE state <> 'finished' AND id > $1 ORDER BY id LIMIT $2";
        self.page(query("list open tasks", PAGE), after, limit)
            .await
    }

    /// Tasks of a namespace that are not finished, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn open_of_namespace(
        &self,
        namespace_uid: &str,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str = "SELECT id FROM tasks WHERE namespace_uid = $1 AND state <> 'finished' AND id > $2 \
            ORDER BY id LIMIT $3";
        self.page(
            query("list open tasks of a namespace", PAGE).bind(namespace_uid),
            after,
            limit,
        )
        .await
    }

    /// Queued tasks of an agent, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn waiting_of_agent(
        &self,
        namespace_uid: &str,
        agent: &str,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str = "SELECT id FROM tasks WHERE namespace_uid = $1 AND agent = $2 AND state = 'queued' AND id > $3 \
            ORDER BY id LIMIT $4";
        let list = query("list waiting tasks", PAGE)
            .bind(namespace_uid)
            .bind(agent);
        self.page(list, after, limit).await
    }

    /// Claimed, preparing and running tasks of an agent, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn active_of_agent(
        &self,
        namespace_uid: &str,
        agent: &str,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        const PAGE: &str = "SELECT id FROM tasks WHERE namespace_uid = $1 AND agent = $2 \
            AND state IN ('claimed', 'preparing', 'running') AND id > $3 ORDER BY id LIMIT $4";
        let list = query("list active tasks", PAGE)
            .bind(namespace_uid)
            .bind(agent);
        self.page(list, after, limit).await
    }

    async fn page(
        &self,
        list: Query,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<TaskId>, Error> {
        // No task has the nil id, so it stands before all.
        let list = list.bind(after.unwrap_or(TaskId(Uuid::nil()))).bind(limit);
        let rows = list.all(&mut self.reader().await?).await?;
        rows.iter().map(|row| row.get("id").map(TaskId)).collect()
    }

    /// Counts for metrics.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn summary(&self) -> Result<Summary, Error> {
        const TASKS: &str =
            "SELECT state, count(*) AS tasks FROM tasks WHERE state <> 'finished' GROUP BY state";
        const HOLDERS: &str =
            "SELECT count(*) AS holders FROM sessions WHERE holder_task IS NOT NULL";
        let mut reader = self.reader().await?;
        let mut summary = Summary::default();
        for row in query("count tasks", TASKS).all(&mut reader).await? {
            let count = row.u64("tasks")?;
            match row.word("state", TaskState::parse)? {
                TaskState::Queued => summary.queued = count,
                TaskState::Claimed => summary.claimed = count,
                TaskState::Preparing => summary.preparing = count,
                TaskState::Running => summary.running = count,
                TaskState::Finishing => summary.finishing = count,
                TaskState::Suspended => summary.suspended = count,
                TaskState::Finished => {}
            }
        }
        summary.holders = query("count holders", HOLDERS)
            .one(&mut reader)
            .await?
            .u64("holders")?;
        Ok(summary)
    }
}

/// A task and its session, with the session locked: every write under a session takes that lock first, so
/// what is read here stays true until the write is over, and no two writes wait for each other.
pub(crate) async fn locked(
    write: &mut Write,
    task: TaskId,
) -> Result<(TaskRow, SessionRow), Error> {
    let missing = || Error::Missing {
        what: format!("task {task}"),
    };
    let find = query(
        "find the session of a task",
        "SELECT session FROM tasks WHERE id = $1",
    )
    .bind(task);
    let found = find.optional(&mut *write).await?.ok_or_else(missing)?;
    let session = sessions::locked(write, SessionId(found.get("session")?)).await?;
    Ok((read(write, task).await?, session))
}

async fn read(on: impl Into<Conn<'_>>, task: TaskId) -> Result<TaskRow, Error> {
    TaskRow::read(&query("read a task", TASK).bind(task).one(on).await?)
}

/// The id of what was created at `at`: ids sort by creation.
fn uuid_of(at: Timestamp) -> Result<Uuid, Error> {
    let invalid = |_| Error::Invalid {
        what: "time of creation",
        why: format!("{at} lies before 1970"),
    };
    let seconds = u64::try_from(at.as_second()).map_err(invalid)?;
    let nanos = u32::try_from(at.subsec_nanosecond()).map_err(invalid)?;
    Ok(Uuid::new_v7(uuid::Timestamp::from_unix(
        uuid::NoContext,
        seconds,
        nanos,
    )))
}

fn later(from: Timestamp, seconds: u32) -> Result<Timestamp, Error> {
    from.checked_add(i64::from(seconds).seconds())
        .map_err(|error| Error::Invalid {
            what: "deadline",
            why: error.to_string(),
        })
}
