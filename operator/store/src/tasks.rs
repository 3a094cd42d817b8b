//! Tasks: entered once for each object, read by id, listed in pages.

use std::sync::atomic::{AtomicU32, Ordering};

use jiff::Timestamp;
use jiff::ToSpan as _;
use protocol::{Resumed, SessionId, SessionPolicy, TaskId, TaskState, Verdict};
use rand::RngCore as _;
use uuid::Uuid;

use crate::db::{Conn, Row, query};
use crate::sessions::{self, SessionKey, SessionRow};
use crate::shares;
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
    /// Its UID; none while a task that was born in the store has no object yet.
    pub uid: Option<String>,
    /// Hash of its spec, by which an object that is made again is known; empty for a task born in the store.
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
    /// It fails when it is not over this long after its creation, or after `fire_at`, time spent suspended aside.
    pub deadline_seconds: Option<u32>,
    /// True when it is put aside from the start.
    pub suspended: bool,
    /// What its agent is asked, where the object does not say so itself.
    pub prompt: Option<String>,
    /// It is not claimed before this moment, and its deadline counts from there.
    pub fire_at: Option<Timestamp>,
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
    /// True while people keep it aside, whatever its object says.
    pub held: bool,
    /// When it may be claimed, or could be first, where that was not from the beginning.
    pub fire_at: Option<Timestamp>,
    /// True until that moment was noticed.
    pub deferred: bool,
    /// The verdict that stands.
    pub verdict: Option<Verdict>,
    /// What came after the verdict, or from an attempt that had been ended.
    pub late_results: Vec<LateResult>,
    /// What of the earlier conversation was there again, by the result of the runner, be it late.
    pub resumed: Option<Resumed>,
    /// When it was finished.
    pub closed_at: Option<Timestamp>,
}

/// Columns of a [`TaskRow`].
macro_rules! task_columns {
    () => {
        "id, object_uid, namespace, namespace_uid, name, spec_hash, session, agent, priority, policy, state, \
         attempt, created_at, deadline_at, suspended_at, held, fire_at, deferred, verdict, late_results, closed_at"
    };
}
pub(crate) use task_columns;

const TASK: &str = concat!("SELECT ", task_columns!(), " FROM tasks WHERE id = $1");

impl TaskRow {
    /// True for a task that was born here, before its object.
    #[must_use]
    pub fn was_born_here(&self) -> bool {
        self.object.spec_hash.is_empty()
    }

    /// Until when it waits whatever room there is.
    #[must_use]
    pub fn deferred_until(&self) -> Option<Timestamp> {
        let waits = match self.state {
            TaskState::Queued | TaskState::Suspended => self.deferred,
            TaskState::Claimed
            | TaskState::Preparing
            | TaskState::Running
            | TaskState::Finishing
            | TaskState::Finished => false,
        };
        self.fire_at.filter(|_| waits)
    }

    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        let verdict: Option<Verdict> = row.json_opt("verdict")?;
        let late_results: Vec<LateResult> = row.json("late_results")?;
        let said = verdict
            .iter()
            .chain(late_results.iter().rev().map(|late| &late.verdict));
        let resumed = said
            .filter_map(|verdict| verdict.result.as_ref())
            .map(|result| result.resumed.clone())
            .next();
        let id = TaskId(row.get("id")?);
        let uid: String = row.get("object_uid")?;
        Ok(Self {
            id,
            object: TaskObject {
                namespace: row.get("namespace")?,
                namespace_uid: row.get("namespace_uid")?,
                name: row.get("name")?,
                // A task without an object holds its own id in that place, which is no object's UID.
                uid: (uid != id.to_string()).then_some(uid),
                spec_hash: row.get("spec_hash")?,
            },
            agent: row.get("agent")?,
            session: SessionId(row.get("session")?),
            priority: row.i32("priority")?,
            policy: row.word("policy", SessionPolicy::parse)?,
            state: row.word("state", TaskState::parse)?,
            attempt: row.u32("attempt")?,
            created_at: row.time("created_at")?,
            deadline_at: row.time_opt("deadline_at")?,
            suspended_at: row.time_opt("suspended_at")?,
            held: row.get("held")?,
            fire_at: row.time_opt("fire_at")?,
            deferred: row.get("deferred")?,
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
    /// [`Error::Invalid`] for an instant out of range or an object without a UID, [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn enter(&self, new: NewTask) -> Result<Entered, Error> {
        self.enter_within(new, None).await
    }

    /// [`Store::enter`], where no more than `max_queued` tasks may wait in the workspace.
    ///
    /// # Errors
    /// [`Error::Full`] when as many wait; as [`Store::enter`].
    pub async fn enter_within(
        &self,
        new: NewTask,
        max_queued: Option<u32>,
    ) -> Result<Entered, Error> {
        let uid = new.object.uid.clone().ok_or_else(|| Error::Invalid {
            what: "object of a task",
            why: "it has no UID".to_owned(),
        })?;
        if let Some(task) = self.task_by_object(&uid).await? {
            return Ok(Entered {
                task,
                created: false,
            });
        }
        let id = TaskId(new_id(new.created_at)?);
        let mut write = self.write(WritePoint::Enter).await?;
        let namespace_uid = &new.object.namespace_uid;
        write.queue_if(max_queued.is_some(), namespace_uid).await?;
        shares::check_room(&mut write, namespace_uid, max_queued).await?;
        let Some(session) = insert(&mut write, id, &uid, &new).await? else {
            // Another one has entered it since we looked.
            drop(write);
            let task = self.task_by_object(&uid).await?;
            let missing = || Error::Missing {
                what: format!("task of the object {uid}"),
            };
            return Ok(Entered {
                task: task.ok_or_else(missing)?,
                created: false,
            });
        };
        sessions::choose_head(&mut write, session).await?;
        write.changed(id);
        write.commit().await?;
        Ok(Entered {
            task: id,
            created: true,
        })
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

    /// What the agent of a task is asked, where its object does not say so itself.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn prompt(&self, task: TaskId) -> Result<Option<String>, Error> {
        let find = query(
            "read the prompt of a task",
            "SELECT prompt FROM prompts WHERE task = $1",
        )
        .bind(task);
        let found = find.optional(&mut self.reader().await?).await?;
        found.map(|row| row.get("prompt")).transpose()
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
}

/// Enters a new task and locks its session, which is made with the first one; `None` when the object has a task
/// already. Which task of the session comes next is for the caller to choose.
pub(crate) async fn insert(
    write: &mut Write,
    id: TaskId,
    object_uid: &str,
    new: &NewTask,
) -> Result<Option<SessionId>, Error> {
    const INSERT: &str = "INSERT INTO tasks (id, object_uid, namespace, namespace_uid, name, spec_hash, session, \
        agent, priority, policy, state, created_at, deadline_at, suspended_at, fire_at, deferred) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (object_uid) DO NOTHING";
    let deadline_at = new
        .deadline_seconds
        .map(|seconds| later(new.fire_at.unwrap_or(new.created_at), seconds))
        .transpose()?;
    let state = if new.suspended {
        TaskState::Suspended
    } else {
        TaskState::Queued
    };
    let session = sessions::enter(
        &mut *write,
        &new.session,
        &new.object.namespace,
        new_id(new.created_at)?,
    )
    .await?;
    let entered = query("enter a task", INSERT)
        .bind(id)
        .bind(object_uid)
        .bind(new.object.namespace.as_str())
        .bind(new.object.namespace_uid.as_str())
        .bind(new.object.name.as_str())
        .bind(new.object.spec_hash.as_str())
        .bind(session)
        .bind(new.session.agent.as_str())
        .bind(new.priority)
        .bind(new.policy.as_str())
        .bind(state)
        .bind(new.created_at)
        .bind(deadline_at)
        .bind(new.suspended.then_some(new.created_at))
        .bind(new.fire_at)
        .bind(new.fire_at.is_some())
        .execute(&mut *write)
        .await?;
    if let (1, Some(prompt)) = (entered, &new.prompt) {
        let keep = query(
            "keep a prompt",
            "INSERT INTO prompts (task, prompt) VALUES ($1, $2)",
        );
        let keep = keep.bind(id).bind(prompt.as_str());
        keep.execute(write).await?;
    }
    Ok((entered == 1).then_some(session))
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

/// The id of what was created at `at`: ids sort by creation, and those of one moment in the order in which
/// they are made, since the cluster's clock counts whole seconds.
pub(crate) fn new_id(at: Timestamp) -> Result<Uuid, Error> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let millis = u64::try_from(at.as_millisecond()).map_err(|_| Error::Invalid {
        what: "time of creation",
        why: format!("{at} lies before 1970"),
    })?;
    let mut tail = [0; 10];
    rand::rng().fill_bytes(&mut tail);
    // 18 bits of a counter where the id has room for them: between its version and its variant, and after it.
    let [.., high, middle, low] = (MADE.fetch_add(1, Ordering::Relaxed) << 2).to_be_bytes();
    (tail[0], tail[1], tail[2]) = (high & 0x0f, middle, low >> 2);
    Ok(uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid())
}

fn later(from: Timestamp, seconds: u32) -> Result<Timestamp, Error> {
    from.checked_add(i64::from(seconds).seconds())
        .map_err(|error| Error::Invalid {
            what: "deadline",
            why: error.to_string(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_creation_and_then_in_the_order_of_their_making() {
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        let later = new_id(at(1)).unwrap();
        let ids: Vec<_> = (0..2000).map(|_| new_id(at(0)).unwrap()).collect();
        assert!(ids.is_sorted() && ids[1999] < later);
        assert_eq!(
            (ids[0].get_version_num(), ids[0].get_variant()),
            (7, uuid::Variant::RFC4122)
        );
        let (seconds, _) = ids[0].get_timestamp().unwrap().to_unix();
        assert_eq!(seconds, 1_800_000_000);
    }
}
