//! Tasks that wait for a moment. Such a row is queued like any other, counts among those that wait, and takes in what
//! comes; but its session does not offer it before somebody has noticed that its time has come. The pass of the row
//! does, so nothing looks for such rows.

use jiff::{Timestamp, ToSpan as _};
use protocol::{TaskId, TaskState, limits};

use crate::db::{Conn, query};
use crate::tasks::locked;
use crate::writes::Write;
use crate::{Error, Store, WritePoint, sessions};

impl Store {
    /// Lets a deferred task be claimed from now on, if its time has come; false where there is nothing to do.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn fire(&self, task: TaskId, now: Timestamp) -> Result<bool, Error> {
        let mut write = self.write(WritePoint::Fire).await?;
        let (row, session) = locked(&mut write, task).await?;
        let is_due = |until: Timestamp| until <= now;
        if row.state != TaskState::Queued || !row.deferred_until().is_some_and(is_due) {
            return Ok(false);
        }
        set(&mut write, task, (false, row.fire_at)).await?;
        sessions::choose_head(&mut write, session.id).await?;
        write.changed(task);
        write.commit().await?;
        Ok(true)
    }
}

/// When a wish is to be fulfilled, where that is yet to come.
///
/// # Errors
/// [`Error::Invalid`] for one that lies too far ahead.
pub(crate) fn fire_at(
    wanted: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let hours = i64::from(limits::DEFER_DAYS) * 24;
    let latest = now.checked_add(hours.hours()).unwrap_or(Timestamp::MAX);
    match wanted {
        Some(at) if at > latest => Err(Error::Invalid {
            what: "wakeAt",
            why: format!(
                "it is more than {} days ahead: say it later, or have an AgentSchedule do it",
                limits::DEFER_DAYS
            ),
        }),
        wanted => Ok(wanted.filter(|at| *at > now)),
    }
}

/// Until when a task waits, where it does.
pub(crate) async fn until(
    on: impl Into<Conn<'_>>,
    task: TaskId,
) -> Result<Option<Timestamp>, Error> {
    const FIND: &str = "SELECT fire_at FROM tasks WHERE id = $1 AND deferred AND state = 'queued'";
    let find = query("look until when a task waits", FIND).bind(task);
    let found = find.optional(on).await?;
    Ok(found
        .map(|row| row.time_opt("fire_at"))
        .transpose()?
        .flatten())
}

/// Makes a task wait for the earliest of its causes, after one came or went; says until when. One that somebody has
/// claimed is left alone. The session is locked.
pub(super) async fn settle(
    write: &mut Write,
    task: TaskId,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    // What is to be at once has no time, and comes before all.
    const EARLIEST: &str =
        "SELECT MIN(COALESCE(fire_at, $2)) AS fire_at FROM wake_causes WHERE task = $1";
    let (row, session) = locked(write, task).await?;
    if row.state != TaskState::Queued {
        return Ok(None);
    }
    let earliest = query("find when a task is to begin", EARLIEST)
        .bind(task)
        .bind(now);
    let earliest = earliest.one(&mut *write).await?.time_opt("fire_at")?;
    let later = earliest.filter(|at| *at > now);
    match (row.deferred_until(), later) {
        (None, None) => return Ok(None),
        (Some(one), Some(other)) if one == other => return Ok(later),
        // Its turn counts from now on.
        (Some(_), None) => set(write, task, (false, Some(now))).await?,
        (_, Some(at)) => set(write, task, (true, Some(at))).await?,
    }
    sessions::choose_head(write, session.id).await?;
    Ok(later)
}

async fn set(
    write: &mut Write,
    task: TaskId,
    (deferred, fire_at): (bool, Option<Timestamp>),
) -> Result<(), Error> {
    const SET: &str = "UPDATE tasks SET deferred = $2, fire_at = $3 WHERE id = $1";
    let set = query("set when a task may be claimed", SET).bind(task);
    set.bind(deferred).bind(fire_at).execute(write).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_past_is_at_once_and_what_is_far_is_refused() {
        let at = |second| Timestamp::from_second(second).ok();
        let now = at(1_000).unwrap();
        let most = 1_000 + 30 * 24 * 3600;
        for (wanted, found) in [
            (None, None),
            (at(0), None),
            (at(1_000), None),
            (at(1_001), at(1_001)),
            (at(most), at(most)),
        ] {
            assert_eq!(fire_at(wanted, now).unwrap(), found, "{wanted:?}");
        }
        let far = fire_at(at(most + 1), now).unwrap_err();
        assert!(far.to_string().contains("30 days"), "{far}");
    }
}
