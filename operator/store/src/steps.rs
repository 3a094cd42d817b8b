//! What people do to a task: its priority, putting it aside, letting it go on, removing its object.

use jiff::{Timestamp, ToSpan as _};
use protocol::{AttemptId, EndReason, TaskId, TaskState};

use crate::db::query;
use crate::life::{self, TaskEvent};
use crate::sessions::SessionRow;
use crate::tasks::{TaskRow, locked};
use crate::writes::Write;
use crate::{Error, Store, WritePoint, attempts, chats, sessions, wakes};

impl Store {
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
        let mut write = self.write(WritePoint::Suspend).await?;
        let (row, session) = locked(&mut write, task).await?;
        if !suspend(&mut write, &row, &session, now).await? {
            return Ok(false);
        }
        write.commit().await?;
        Ok(true)
    }

    /// Lets a suspended task go on: it waits again, and its deadline moves by the time it was suspended.
    /// Says whether that changed anything.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn resume(&self, task: TaskId, now: Timestamp) -> Result<bool, Error> {
        let mut write = self.write(WritePoint::Resume).await?;
        let (row, session) = locked(&mut write, task).await?;
        if !resume(&mut write, &row, &session, now).await? {
            return Ok(false);
        }
        write.commit().await?;
        Ok(true)
    }

    /// Puts a task aside until [`Store::let_go_on`], whatever its object says. The same again changes nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the task is over, [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn put_aside(&self, task: TaskId, now: Timestamp) -> Result<(), Error> {
        let mut write = self.write(WritePoint::PutAside).await?;
        let (row, session) = locked(&mut write, task).await?;
        not_over(&row)?;
        if row.held {
            return Ok(());
        }
        hold(&mut write, task, true).await?;
        suspend(&mut write, &row, &session, now).await?;
        write.changed(task);
        write.commit().await
    }

    /// Lets a task go on that [`Store::put_aside`] put aside. The same again changes nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the task is over, or it is its object that keeps it aside, [`Error::Missing`],
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn let_go_on(&self, task: TaskId, now: Timestamp) -> Result<(), Error> {
        let mut write = self.write(WritePoint::LetGoOn).await?;
        let (row, session) = locked(&mut write, task).await?;
        not_over(&row)?;
        if !row.held {
            return match row.state {
                TaskState::Suspended => Err(Error::Conflict {
                    what: format!(
                        "the AgentTask {} says desiredState: Suspend; set it to Run there",
                        row.object.name
                    ),
                }),
                TaskState::Queued
                | TaskState::Claimed
                | TaskState::Preparing
                | TaskState::Running
                | TaskState::Finishing
                | TaskState::Finished => Ok(()),
            };
        }
        hold(&mut write, task, false).await?;
        resume(&mut write, &row, &session, now).await?;
        write.changed(task);
        write.commit().await
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
}

fn not_over(row: &TaskRow) -> Result<(), Error> {
    match row.state.has_verdict() {
        true => Err(Error::Conflict {
            what: "the task is over".to_owned(),
        }),
        false => Ok(()),
    }
}

async fn hold(write: &mut Write, task: TaskId, held: bool) -> Result<(), Error> {
    query(
        "keep a task aside",
        "UPDATE tasks SET held = $2 WHERE id = $1",
    )
    .bind(task)
    .bind(held)
    .execute(write)
    .await?;
    Ok(())
}

/// Says whether that changed anything.
async fn suspend(
    write: &mut Write,
    row: &TaskRow,
    session: &SessionRow,
    now: Timestamp,
) -> Result<bool, Error> {
    const UPDATE: &str = "UPDATE tasks SET state = $2, suspended_at = $3 WHERE id = $1";
    let Ok(state) = life::next(row.state, TaskEvent::Suspend) else {
        return Ok(false);
    };
    query("suspend a task", UPDATE)
        .bind(row.id)
        .bind(state)
        .bind(now)
        .execute(&mut *write)
        .await?;
    if row.state.is_active() {
        let attempt = AttemptId {
            task: row.id,
            number: row.attempt,
        };
        attempts::end(write, attempt, Some(EndReason::Suspended), now).await?;
    }
    // What is said from now on is not to wait with it.
    wakes::close(write, row.id).await?;
    chats::close(write, row.id).await?;
    sessions::choose_head(write, session.id).await?;
    write.changed(row.id);
    Ok(true)
}

/// Says whether that changed anything.
async fn resume(
    write: &mut Write,
    row: &TaskRow,
    session: &SessionRow,
    now: Timestamp,
) -> Result<bool, Error> {
    const UPDATE: &str =
        "UPDATE tasks SET state = $2, suspended_at = NULL, deadline_at = $3 WHERE id = $1";
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
        .bind(row.id)
        .bind(state)
        .bind(deadline_at)
        .execute(&mut *write)
        .await?;
    sessions::choose_head(write, session.id).await?;
    write.changed(row.id);
    Ok(true)
}
