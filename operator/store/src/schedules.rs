//! Schedules: which of their times have begun, and which of those still go on. A time begins in one transaction
//! with what it makes, or with the name of what is to be made, so it begins once.

use jiff::Timestamp;
use protocol::IssueId;
use protocol::board::{IssueKey, NewIssue, SavedIssue};

use crate::db::{Row, query};
use crate::writes::Write;
use crate::{Acting, Error, Store, WorkspaceRef, WritePoint, issues};

/// Times of a schedule that are read as still going on; more never begin.
const GOING_ON: u32 = 64;
/// An issue's newest tasks, of which it is asked whether one is not over.
const NEWEST_TASKS: u32 = 200;

/// Which schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRef {
    /// UID of its object: one that is made again is another schedule.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// Where it is.
    pub workspace: WorkspaceRef,
}

/// A schedule as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleRow {
    /// What its times follow from.
    pub rule: String,
    /// Times up to this one are dealt with.
    pub since: Timestamp,
    /// The last one that began.
    pub last_fired: Option<Timestamp>,
    /// Times that still go on, oldest first.
    pub going: Vec<Firing>,
}

/// A time that has begun and still goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The time, as the schedule says it.
    pub at: Timestamp,
    /// What it became.
    pub what: Fired,
}

/// What a time of a schedule became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fired {
    /// An issue.
    Issue(IssueId, IssueKey),
    /// An AgentTask.
    Task {
        /// Its name.
        name: String,
        /// False until it is known to have been made.
        made: bool,
    },
}

impl Store {
    /// What is known of a schedule; nothing before the first [`Store::heed_schedule`].
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn schedule(&self, uid: &str) -> Result<Option<ScheduleRow>, Error> {
        const FIND: &str =
            "SELECT rule, since, last_fired_at FROM schedules WHERE schedule_uid = $1";
        const GOING: &str = "SELECT fire_at, issue, object, made, \
            (SELECT number FROM issues WHERE issues.id = firings.issue) AS number, \
            (SELECT prefix FROM workspaces WHERE workspaces.namespace_uid = \
             (SELECT namespace_uid FROM schedules WHERE schedules.schedule_uid = firings.schedule_uid)) AS prefix \
            FROM firings WHERE schedule_uid = $1 ORDER BY fire_at LIMIT $2";
        let mut reader = self.reader().await?;
        let find = query("read a schedule", FIND).bind(uid);
        let Some(row) = find.optional(&mut reader).await? else {
            return Ok(None);
        };
        let going = query("list what a schedule began", GOING)
            .bind(uid)
            .bind(GOING_ON);
        let going = going.all(&mut reader).await?;
        Ok(Some(ScheduleRow {
            rule: row.get("rule")?,
            since: row.time("since")?,
            last_fired: row.time_opt("last_fired_at")?,
            going: going.iter().map(firing).collect::<Result<_, _>>()?,
        }))
    }

    /// Counts a schedule's times by `rule` from now on, beginning after `since`. A schedule of that name that was
    /// there before is forgotten.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn heed_schedule(
        &self,
        on: &ScheduleRef,
        rule: &str,
        since: Timestamp,
    ) -> Result<(), Error> {
        const HEED: &str = "INSERT INTO schedules (schedule_uid, namespace_uid, name, rule, since) \
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT (schedule_uid) DO UPDATE SET rule = excluded.rule, since = excluded.since";
        let mut write = self.write(WritePoint::HeedSchedule).await?;
        forget(&mut write, &on.workspace.namespace_uid, &on.name, &on.uid).await?;
        query("heed a schedule", HEED)
            .bind(on.uid.as_str())
            .bind(on.workspace.namespace_uid.as_str())
            .bind(on.name.as_str())
            .bind(rule)
            .bind(since)
            .execute(&mut write)
            .await?;
        write.commit().await
    }

    /// Begins a time with an issue; an agent that it is assigned to is woken, as the outcomes say. Nothing is said
    /// and nothing made when that time, or a later one, has begun already.
    ///
    /// # Errors
    /// As [`Store::create_issue`].
    pub async fn fire_issue(
        &self,
        on: &ScheduleRef,
        at: Timestamp,
        (by, new): (&Acting, NewIssue),
        directory: &dyn wake::Directory,
        now: Timestamp,
    ) -> Result<Option<SavedIssue>, Error> {
        const BEGIN: &str =
            "INSERT INTO firings (schedule_uid, fire_at, issue, made) VALUES ($1, $2, $3, $4)";
        let mut write = self.write(WritePoint::FireIssue).await?;
        write.queue(&by.workspace, directory).await?;
        if !take_time(&mut write, on, at).await? {
            return Ok(None);
        }
        let saved = issues::make(&mut write, by, new, directory, now).await?;
        query("begin a time with an issue", BEGIN)
            .bind(on.uid.as_str())
            .bind(at)
            .bind(saved.issue.id)
            .bind(true)
            .execute(&mut write)
            .await?;
        write.commit().await?;
        Ok(Some(saved))
    }

    /// Begins a time with an AgentTask of this name, which is still to be made. Says whether that time had not
    /// begun already.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn fire_task(
        &self,
        on: &ScheduleRef,
        at: Timestamp,
        name: &str,
    ) -> Result<bool, Error> {
        const BEGIN: &str =
            "INSERT INTO firings (schedule_uid, fire_at, object, made) VALUES ($1, $2, $3, $4)";
        let mut write = self.write(WritePoint::FireTask).await?;
        if !take_time(&mut write, on, at).await? {
            return Ok(false);
        }
        query("begin a time with a task", BEGIN)
            .bind(on.uid.as_str())
            .bind(at)
            .bind(name)
            .bind(false)
            .execute(&mut write)
            .await?;
        write.commit().await?;
        Ok(true)
    }

    /// Notes that the AgentTask of a time has been made.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn fired_task_made(&self, on: &ScheduleRef, at: Timestamp) -> Result<(), Error> {
        const MADE: &str = "UPDATE firings SET made = $3 WHERE schedule_uid = $1 AND fire_at = $2";
        let mut write = self.write(WritePoint::FiredTaskMade).await?;
        query("note what a time has made", MADE)
            .bind(on.uid.as_str())
            .bind(at)
            .bind(true)
            .execute(&mut write)
            .await?;
        write.commit().await
    }

    /// Notes that nothing of a time goes on any more.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn end_firing(&self, on: &ScheduleRef, at: Timestamp) -> Result<(), Error> {
        const END: &str = "DELETE FROM firings WHERE schedule_uid = $1 AND fire_at = $2";
        let mut write = self.write(WritePoint::EndFiring).await?;
        query("end a time", END)
            .bind(on.uid.as_str())
            .bind(at)
            .execute(&mut write)
            .await?;
        write.commit().await
    }

    /// Forgets the schedule of this name, which is gone. What it began goes on.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn forget_schedule(&self, namespace_uid: &str, name: &str) -> Result<(), Error> {
        const KNOWN: &str =
            "SELECT 1 AS known FROM schedules WHERE namespace_uid = $1 AND name = $2";
        let known = query("look for a schedule", KNOWN)
            .bind(namespace_uid)
            .bind(name);
        if known.optional(&mut self.reader().await?).await?.is_none() {
            return Ok(());
        }
        let mut write = self.write(WritePoint::ForgetSchedule).await?;
        forget(&mut write, namespace_uid, name, "").await?;
        write.commit().await
    }

    /// The tasks of an issue that are not over; of its newest two hundred.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn open_tasks_of_issue(
        &self,
        issue: IssueId,
    ) -> Result<Vec<protocol::TaskId>, Error> {
        const LIST: &str = "SELECT id FROM tasks WHERE state <> 'finished' AND id IN \
            (SELECT task FROM wakes WHERE issue = $1 ORDER BY task DESC LIMIT $2)";
        let list = query("look for open tasks of an issue", LIST)
            .bind(issue)
            .bind(NEWEST_TASKS);
        let rows = list.all(&mut self.reader().await?).await?;
        let id = |row: &Row| row.get("id").map(protocol::TaskId);
        rows.iter().map(id).collect()
    }
}

/// Takes a time for the caller; false when it, or a later one, was taken before.
async fn take_time(write: &mut Write, on: &ScheduleRef, at: Timestamp) -> Result<bool, Error> {
    const TAKE: &str = "UPDATE schedules SET since = $2, last_fired_at = $2 WHERE schedule_uid = $1 AND since < $2";
    let take = query("take a time", TAKE).bind(on.uid.as_str()).bind(at);
    Ok(take.execute(write).await? == 1)
}

/// Forgets schedules of this name, except the one with this UID.
async fn forget(
    write: &mut Write,
    namespace_uid: &str,
    name: &str,
    but: &str,
) -> Result<(), Error> {
    const FIRINGS: &str = "DELETE FROM firings WHERE schedule_uid IN \
        (SELECT schedule_uid FROM schedules WHERE namespace_uid = $1 AND name = $2 AND schedule_uid <> $3)";
    const SCHEDULES: &str =
        "DELETE FROM schedules WHERE namespace_uid = $1 AND name = $2 AND schedule_uid <> $3";
    for (doing, sql) in [
        ("forget what a schedule began", FIRINGS),
        ("forget a schedule", SCHEDULES),
    ] {
        query(doing, sql)
            .bind(namespace_uid)
            .bind(name)
            .bind(but)
            .execute(&mut *write)
            .await?;
    }
    Ok(())
}

fn firing(row: &Row) -> Result<Firing, Error> {
    let object: Option<String> = row.get("object")?;
    let what = match object {
        Some(name) => Fired::Task {
            name,
            made: row.get("made")?,
        },
        None => {
            let key = IssueKey {
                prefix: row.get("prefix")?,
                number: row.u32("number")?,
            };
            Fired::Issue(IssueId(row.get("issue")?), key)
        }
    };
    Ok(Firing {
        at: row.time("fire_at")?,
        what,
    })
}
