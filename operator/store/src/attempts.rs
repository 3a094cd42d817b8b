//! Attempts: one pod's try at a task, from its claim to its release.

use jiff::Timestamp;
use protocol::runner::{Command, CommandKind};
use protocol::{AttemptId, EndReason, Salt, SessionId, TaskState};

use crate::db::{Conn, Row, query, to_json};
use crate::life::{self, TaskEvent};
use crate::tasks::{self, TaskRow};
use crate::writes::Write;
use crate::{Error, Store, WritePoint, approvals, chats, sessions, steers, tokens, wakes};

/// Commands that one question gives at most; the rest comes with the next one.
const COMMANDS: u32 = 64;

/// An attempt as the store holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRow {
    /// Which one.
    pub id: AttemptId,
    /// The session of its task.
    pub session: SessionId,
    /// From which its credentials are derived.
    pub salt: Salt,
    /// Name of the Runtime that it runs on.
    pub runtime: String,
    /// The provider of that Runtime when it was claimed, which makes its conversation.
    pub provider: String,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When its package was opened.
    pub opened_at: Option<Timestamp>,
    /// When its agent's process ran.
    pub started_at: Option<Timestamp>,
    /// When it lost its right to do more than append what it had seen.
    pub ended_at: Option<Timestamp>,
    /// Why the operator ended it; none when its own result did.
    pub end_reason: Option<EndReason>,
    /// UID of its pod, once it was seen.
    pub pod_uid: Option<String>,
    /// Node of its pod, once it is known.
    pub node: Option<String>,
    /// Since when its pod is known to be absent, where it has ended and nobody saw its pod die.
    pub pod_absent_since: Option<Timestamp>,
    /// UID of the volume claim that its pod mounts, once it was seen.
    pub claim_uid: Option<String>,
    /// True once its Secret was seen to be gone.
    pub secret_gone: bool,
    /// When its runner was heard last.
    pub last_contact_at: Option<Timestamp>,
    /// Events in the timeline; the note that some were left out is not counted.
    pub events: u64,
    /// Bytes of their bodies.
    pub event_bytes: u64,
    /// Events past the budget, which are not in the timeline.
    pub left_out: u64,
}

impl AttemptRow {
    /// Number of the last event that was taken, stored or left out.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.events + self.left_out
    }
}

/// Answer to [`Store::open_package`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It is open now.
    First,
    /// It was opened with this nonce before.
    Again,
    /// Refused: it was opened with another nonce.
    OtherNonce,
    /// Refused: the attempt is not the task's current one, or has ended.
    WrongState,
}

const ATTEMPT: &str = "SELECT task, number, session, salt, runtime, provider, claimed_at, opened_at, started_at, \
    ended_at, end_reason, pod_uid, node, pod_absent_since, claim_uid, secret_gone, last_contact_at, last_seq, event_bytes, left_out \
    FROM attempts WHERE task = $1 AND number = $2";

impl AttemptRow {
    fn read(row: &Row) -> Result<Self, Error> {
        let (last_seq, left_out) = (row.u64("last_seq")?, row.u64("left_out")?);
        let reason: Option<String> = row.get("end_reason")?;
        let end_reason = match reason {
            Some(found) => Some(parse_reason(&found).ok_or(Error::Corrupt {
                what: "end_reason",
                found,
            })?),
            None => None,
        };
        Ok(Self {
            id: AttemptId {
                task: protocol::TaskId(row.get("task")?),
                number: row.u32("number")?,
            },
            session: SessionId(row.get("session")?),
            salt: Salt(row.bytes("salt")?),
            runtime: row.get("runtime")?,
            provider: row.get("provider")?,
            claimed_at: row.time("claimed_at")?,
            opened_at: row.time_opt("opened_at")?,
            started_at: row.time_opt("started_at")?,
            ended_at: row.time_opt("ended_at")?,
            end_reason,
            pod_uid: row.get("pod_uid")?,
            node: row.get("node")?,
            pod_absent_since: row.time_opt("pod_absent_since")?,
            claim_uid: row.get("claim_uid")?,
            secret_gone: row.get("secret_gone")?,
            last_contact_at: row.time_opt("last_contact_at")?,
            events: last_seq.saturating_sub(left_out),
            event_bytes: row.u64("event_bytes")?,
            left_out,
        })
    }
}

impl Store {
    /// An attempt.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn attempt(&self, attempt: AttemptId) -> Result<Option<AttemptRow>, Error> {
        find(&mut self.reader().await?, attempt).await
    }

    /// The runner opens its package, with the SHA-256 of a nonce that it chose: claimed → preparing. The same
    /// nonce may ask again as long as the attempt is alive; no other one ever may.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn open_package(
        &self,
        attempt: AttemptId,
        nonce_sha256: [u8; 32],
        now: Timestamp,
    ) -> Result<Opened, Error> {
        const UPDATE: &str = "UPDATE attempts SET nonce = $3, opened_at = $4, last_contact_at = $4 WHERE task = $1 AND number = $2";
        // Looked at first: an agent has the token and can ask all the time, and must not keep others from
        // writing.
        let mut reader = self.reader().await?;
        if let Some(answer) = opened(&mut reader, attempt, nonce_sha256).await? {
            return Ok(answer);
        }
        drop(reader);
        let mut write = self.write(WritePoint::Open).await?;
        let Some(task) = current(&mut write, attempt).await? else {
            return Ok(Opened::WrongState);
        };
        // Again: until the lock was got another one may have opened it.
        if let Some(answer) = opened(&mut write, attempt, nonce_sha256).await? {
            return Ok(answer);
        }
        let state = life::next(task.state, TaskEvent::Open)?;
        let update = query("open a package", UPDATE)
            .bind(attempt.task)
            .bind(attempt.number);
        update
            .bind(nonce_sha256.to_vec())
            .bind(now)
            .execute(&mut write)
            .await?;
        step(&mut write, &task, state).await?;
        wakes::opened(&mut write, task.id, now).await?;
        chats::opened(&mut write, task.id).await?;
        tokens::renew(&mut write, attempt, now).await?;
        write.commit().await?;
        Ok(Opened::First)
    }

    /// The workdir stands and the agent's process runs: preparing → running. Says whether the attempt still
    /// is one that may run; asking again changes nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when its package is not open, [`Error::Missing`], [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn started(&self, attempt: AttemptId, now: Timestamp) -> Result<bool, Error> {
        const UPDATE: &str = "UPDATE attempts SET started_at = $3, last_contact_at = $3 WHERE task = $1 AND number = $2";
        let mut write = self.write(WritePoint::Started).await?;
        let Some(task) = current(&mut write, attempt).await? else {
            return Ok(false);
        };
        if task.state == TaskState::Running {
            return Ok(true);
        }
        let state = life::next(task.state, TaskEvent::Start)?;
        let update = query("start an attempt", UPDATE)
            .bind(attempt.task)
            .bind(attempt.number);
        update.bind(now).execute(&mut write).await?;
        step(&mut write, &task, state).await?;
        tokens::renew(&mut write, attempt, now).await?;
        write.commit().await?;
        Ok(true)
    }

    /// A sign of life of the runner: its token, where it still has one, lives on. [`Store::open_package`],
    /// [`Store::started`] and [`Store::append`] are signs of life by themselves.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn contact(&self, attempt: AttemptId, now: Timestamp) -> Result<(), Error> {
        let mut write = self.write(WritePoint::Contact).await?;
        heard(&mut write, attempt, now).await?;
        write.commit().await
    }

    /// Commands for the runner after number `after`, oldest first.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn commands(&self, attempt: AttemptId, after: u64) -> Result<Vec<Command>, Error> {
        const LIST: &str = "SELECT number, kind FROM commands WHERE task = $1 AND attempt = $2 AND number > $3 \
            ORDER BY number LIMIT $4";
        // A number past what the column can hold has nothing after it.
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let list = query("list commands", LIST)
            .bind(attempt.task)
            .bind(attempt.number)
            .bind(after)
            .bind(COMMANDS);
        let rows = list.all(&mut self.reader().await?).await?;
        rows.iter()
            .map(|row| {
                Ok(Command {
                    number: row.u64("number")?,
                    kind: row.json("kind")?,
                })
            })
            .collect()
    }

    /// Records the attempt's pod, and its node once that is known, which is where the session goes first
    /// next time.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn record_pod(
        &self,
        attempt: AttemptId,
        pod_uid: &str,
        node: Option<&str>,
    ) -> Result<(), Error> {
        const ATTEMPT: &str = "UPDATE attempts SET pod_uid = $3, node = COALESCE($4, node) WHERE task = $1 AND number = $2";
        const SESSION: &str = "UPDATE sessions SET last_node = $4 \
            WHERE id = $1 AND holder_task = $2 AND holder_attempt = $3";
        let mut write = self.write(WritePoint::RecordPod).await?;
        let row = of_locked_session(&mut write, attempt).await?;
        let record = query("record a pod", ATTEMPT)
            .bind(attempt.task)
            .bind(attempt.number);
        record.bind(pod_uid).bind(node).execute(&mut write).await?;
        if let Some(node) = node {
            let record = query("record a node", SESSION)
                .bind(row.session)
                .bind(attempt.task);
            record
                .bind(attempt.number)
                .bind(node)
                .execute(&mut write)
                .await?;
        }
        write.commit().await
    }

    /// Notes since when the attempt's pod is known to be absent, from which the time that its node gets counts;
    /// `None` once it was seen again. The first notice stands.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn pod_absent(
        &self,
        attempt: AttemptId,
        since: Option<Timestamp>,
    ) -> Result<(), Error> {
        const NOTE: &str = "UPDATE attempts SET pod_absent_since = COALESCE(pod_absent_since, $3) \
            WHERE task = $1 AND number = $2";
        const CLEAR: &str =
            "UPDATE attempts SET pod_absent_since = NULL WHERE task = $1 AND number = $2";
        let mut write = self.write(WritePoint::PodAbsent).await?;
        let update = match since {
            Some(since) => query("note that a pod is absent", NOTE)
                .bind(attempt.task)
                .bind(attempt.number)
                .bind(since),
            None => query("note that a pod was seen again", CLEAR)
                .bind(attempt.task)
                .bind(attempt.number),
        };
        if update.execute(&mut write).await? == 0 {
            return Err(missing(attempt));
        }
        write.commit().await
    }

    /// Records that the attempt's Secret was seen to be gone.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn secret_gone(&self, attempt: AttemptId) -> Result<(), Error> {
        const UPDATE: &str = "UPDATE attempts SET secret_gone = $3 WHERE task = $1 AND number = $2";
        let mut write = self.write(WritePoint::SecretGone).await?;
        let update = query("record that a Secret is gone", UPDATE)
            .bind(attempt.task)
            .bind(attempt.number);
        if update.bind(true).execute(&mut write).await? == 0 {
            return Err(missing(attempt));
        }
        write.commit().await
    }

    /// Lets go of the session: to be called once the ended attempt's pod was seen dead and its object is gone,
    /// and its Secret too. A task that was finishing is finished with it. Says whether the attempt was the
    /// holder; an attempt that has not ended lets go of nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] while the attempt has not ended, [`Error::Missing`], [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn release(&self, attempt: AttemptId, now: Timestamp) -> Result<bool, Error> {
        const SESSION: &str = "UPDATE sessions SET holder_task = NULL, holder_attempt = NULL, \
            holder_runtime = NULL, holder_since = NULL WHERE id = $1";
        const TASK: &str = "UPDATE tasks SET state = $2, closed_at = $3 WHERE id = $1";
        let mut write = self.write(WritePoint::Release).await?;
        let (task, session) = tasks::locked(&mut write, attempt.task).await?;
        if !session.is_held_by(attempt) {
            return Ok(false);
        }
        // Of an active task this refuses: only an ended attempt lets go.
        let state = life::next(task.state, TaskEvent::Release)?;
        query("release a session", SESSION)
            .bind(session.id)
            .execute(&mut write)
            .await?;
        if state != task.state {
            query("finish a task", TASK)
                .bind(task.id)
                .bind(state)
                .bind(now)
                .execute(&mut write)
                .await?;
        }
        write.changed(task.id);
        write.commit().await?;
        Ok(true)
    }
}

/// Ends the attempt within a write: no token, and a word to its runner where the operator is who ends it.
pub(crate) async fn end(
    write: &mut Write,
    attempt: AttemptId,
    reason: Option<EndReason>,
    now: Timestamp,
) -> Result<(), Error> {
    const UPDATE: &str =
        "UPDATE attempts SET ended_at = $3, end_reason = $4 WHERE task = $1 AND number = $2";
    const USED: &str = "UPDATE sessions SET last_used_at = $2 \
        WHERE id = (SELECT session FROM tasks WHERE id = $1)";
    let update = query("end an attempt", UPDATE)
        .bind(attempt.task)
        .bind(attempt.number);
    update
        .bind(now)
        .bind(reason.map(reason_word))
        .execute(&mut *write)
        .await?;
    query("note the use of a session", USED)
        .bind(attempt.task)
        .bind(now)
        .execute(&mut *write)
        .await?;
    tokens::delete(write, attempt).await?;
    approvals::close(write, attempt, now).await?;
    steers::close(write, attempt, now).await?;
    match reason {
        Some(reason) => tell(write, attempt, CommandKind::Stop { reason }).await,
        None => Ok(()),
    }
}

/// Gives the attempt's runner its next command.
pub(crate) async fn tell(
    write: &mut Write,
    attempt: AttemptId,
    kind: CommandKind,
) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO commands (task, attempt, number, kind) \
        SELECT $1, $2, COALESCE(MAX(number), 0) + 1, $3 FROM commands WHERE task = $1 AND attempt = $2";
    let insert = query("write a command", INSERT)
        .bind(attempt.task)
        .bind(attempt.number);
    insert
        .bind(to_json("command", &kind)?)
        .execute(write)
        .await?;
    Ok(())
}

/// Moves a task to its next state, on the condition that it still is where it was read.
async fn step(write: &mut Write, task: &TaskRow, state: TaskState) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE tasks SET state = $3 WHERE id = $1 AND state = $2";
    let update = query("step a task", UPDATE)
        .bind(task.id)
        .bind(task.state)
        .bind(state);
    if update.execute(&mut *write).await? != 1 {
        return Err(Error::Conflict {
            what: format!("task {} is no longer {}", task.id, task.state.as_str()),
        });
    }
    write.changed(task.id);
    Ok(())
}

/// The answer to who would open a package with this nonce, where there is nothing left to open.
async fn opened(
    on: impl Into<Conn<'_>>,
    attempt: AttemptId,
    nonce_sha256: [u8; 32],
) -> Result<Option<Opened>, Error> {
    const LOOK: &str = "SELECT nonce, state, tasks.attempt AS attempt FROM attempts \
        JOIN tasks ON tasks.id = attempts.task WHERE task = $1 AND number = $2";
    let look = query("look whether a package is open", LOOK)
        .bind(attempt.task)
        .bind(attempt.number);
    let found = look.optional(on).await?.ok_or_else(|| missing(attempt))?;
    let state = found.word("state", TaskState::parse)?;
    if found.u32("attempt")? != attempt.number || !state.is_active() {
        return Ok(Some(Opened::WrongState));
    }
    let nonce: Option<Vec<u8>> = found.get("nonce")?;
    Ok(nonce.map(|nonce| match nonce == nonce_sha256 {
        true => Opened::Again,
        false => Opened::OtherNonce,
    }))
}

/// The attempt's task, when it is the current attempt of an active task; the session is locked.
async fn current(write: &mut Write, attempt: AttemptId) -> Result<Option<TaskRow>, Error> {
    let (task, _) = tasks::locked(write, attempt.task).await?;
    find(write, attempt)
        .await?
        .ok_or_else(|| missing(attempt))?;
    let is_current = task.attempt == attempt.number && task.state.is_active();
    Ok(is_current.then_some(task))
}

/// The attempt's row, with its session locked.
pub(crate) async fn of_locked_session(
    write: &mut Write,
    attempt: AttemptId,
) -> Result<AttemptRow, Error> {
    let row = find(&mut *write, attempt)
        .await?
        .ok_or_else(|| missing(attempt))?;
    sessions::locked(write, row.session).await?;
    // Read again: it may have changed until the lock was got.
    find(write, attempt).await?.ok_or_else(|| missing(attempt))
}

pub(crate) async fn find(
    on: impl Into<Conn<'_>>,
    attempt: AttemptId,
) -> Result<Option<AttemptRow>, Error> {
    let found = query("read an attempt", ATTEMPT)
        .bind(attempt.task)
        .bind(attempt.number)
        .optional(on)
        .await?;
    found.as_ref().map(AttemptRow::read).transpose()
}

/// Notes a sign of life within a write.
pub(crate) async fn heard(
    write: &mut Write,
    attempt: AttemptId,
    now: Timestamp,
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE attempts SET last_contact_at = $3 WHERE task = $1 AND number = $2";
    let update = query("note a sign of life", UPDATE)
        .bind(attempt.task)
        .bind(attempt.number);
    update.bind(now).execute(&mut *write).await?;
    tokens::renew(write, attempt, now).await
}

pub(crate) fn missing(attempt: AttemptId) -> Error {
    Error::Missing {
        what: format!("attempt {attempt}"),
    }
}

fn reason_word(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Cancelled => "cancelled",
        EndReason::Suspended => "suspended",
        EndReason::TimedOut => "timedOut",
        EndReason::AgentDeleted => "agentDeleted",
        EndReason::Failed => "failed",
    }
}

fn parse_reason(word: &str) -> Option<EndReason> {
    [
        EndReason::Cancelled,
        EndReason::Suspended,
        EndReason::TimedOut,
        EndReason::AgentDeleted,
        EndReason::Failed,
    ]
    .into_iter()
    .find(|reason| reason_word(*reason) == word)
}
