//! What people do to a task: its priority, putting it aside, letting it go on, removing its object.

use jiff::{Timestamp, ToSpan as _};
use protocol::{AttemptId, EndReason, TaskId, TaskState};

use crate::db::query;
use crate::life::{self, TaskEvent};
use crate::tasks::locked;
use crate::{Error, Store, WritePoint, attempts, sessions};

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
            let attempt = AttemptId {
                task,
                number: row.attempt,
            };
            attempts::end(&mut write, attempt, Some(EndReason::Suspended), now).await?;
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
}
