//! Verdicts: the first one of a task stands, and what comes later is kept beside it.

use jiff::Timestamp;
use protocol::{AttemptId, EndReason, FailureClass, SessionEffect, TaskId, TaskState, Verdict};
use serde::{Deserialize, Serialize};

use crate::attempts::{self, AttemptRow};
use crate::db::{query, to_json};
use crate::life::{self, TaskEvent};
use crate::sessions::{Conversation, Pointer, SessionRow};
use crate::tasks::{self, TaskRow};
use crate::usage;
use crate::wakes::{self, Over};
use crate::writes::Write;
use crate::{Error, Store, WritePoint, chats, quick};

/// Later results that a task keeps; further ones are dropped, since an attempt has exactly one to give.
pub const LATE_RESULTS: usize = 8;

/// A result that came when another verdict stood, or after its attempt had been ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LateResult {
    /// Number of the attempt that gave it.
    pub attempt: u32,
    /// What it said.
    pub verdict: Verdict,
}

/// What became of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It stands. Also the answer to the same one given again.
    First,
    /// Another one stood, or the attempt had been ended; it was kept beside.
    Late,
}

impl Store {
    /// Gives a task the verdict of its attempt. In the same transaction the token dies, the session learns
    /// what it can resume, and the runner is told to stop where it was not the one who said it.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Invalid`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn verdict(
        &self,
        attempt: AttemptId,
        verdict: Verdict,
        now: Timestamp,
    ) -> Result<Decided, Error> {
        let mut write = self.write(WritePoint::Verdict).await?;
        let hears = Hears::lock(&mut write, attempt.task).await?;
        let (task, session) = tasks::locked(&mut write, attempt.task).await?;
        let row = attempts::find(&mut write, attempt)
            .await?
            .ok_or_else(|| attempts::missing(attempt))?;
        let decided = if task.attempt == attempt.number && task.state.is_active() {
            let state = life::next(task.state, TaskEvent::Decide)?;
            stand(&mut write, &task, &verdict, state, None).await?;
            attempts::end(&mut write, attempt, end_reason(&verdict), now).await?;
            let over = Over {
                task: &task,
                verdict: &verdict,
                now,
            };
            hears.of(&mut write, over).await?;
            Decided::First
        } else if task.attempt == attempt.number
            && task
                .verdict
                .as_ref()
                .is_some_and(|stands| same(stands, &verdict))
        {
            return Ok(Decided::First);
        } else {
            if !keep_beside(&mut write, &task, attempt, &verdict).await? {
                return Ok(Decided::Late);
            }
            Decided::Late
        };
        usage::record(&mut write, &row, &verdict, now).await?;
        learn(&session, &row, &verdict, now)
            .store(&mut write, &session)
            .await?;
        write.changed(task.id);
        write.commit().await?;
        Ok(decided)
    }

    /// Gives a task a verdict that has no live attempt: one that is queued or suspended. Says whether it
    /// stands; a task that is over keeps what it has.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a task whose attempt is alive, which [`Store::verdict`] decides,
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn end_unclaimed(
        &self,
        task: TaskId,
        verdict: Verdict,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let mut write = self.write(WritePoint::EndUnclaimed).await?;
        let hears = Hears::lock(&mut write, task).await?;
        let (row, session) = tasks::locked(&mut write, task).await?;
        if row.state.has_verdict() {
            return Ok(false);
        }
        end(&mut write, &row, &session, &verdict, now).await?;
        let over = Over {
            task: &row,
            verdict: &verdict,
            now,
        };
        hears.of(&mut write, over).await?;
        write.changed(task);
        write.commit().await?;
        Ok(true)
    }
}

/// Who hears of the end of a task, locked before its session as everywhere.
struct Hears {
    issues: Option<wakes::Locked>,
    chat: Option<chats::LockedChat>,
    quick: Option<quick::LockedQuick>,
}

impl Hears {
    async fn lock(write: &mut Write, task: TaskId) -> Result<Self, Error> {
        Ok(Self {
            issues: wakes::lock_issues(write, task).await?,
            chat: chats::lock(write, task).await?,
            quick: quick::lock(write, task).await?,
        })
    }

    /// Tells them.
    async fn of(self, write: &mut Write, over: Over<'_>) -> Result<(), Error> {
        chats::ended(write, self.chat, &over).await?;
        quick::ended(write, self.quick, &over).await?;
        wakes::ended(write, self.issues, over).await
    }
}

/// Gives a queued or suspended task its verdict.
async fn end(
    write: &mut Write,
    task: &TaskRow,
    session: &SessionRow,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<(), Error> {
    let holder = session.holder.as_ref();
    let holding = holder.is_some_and(|holder| holder.attempt.task == task.id);
    let state = life::next(task.state, TaskEvent::End { holding })?;
    stand(write, task, verdict, state, (!holding).then_some(now)).await?;
    crate::sessions::choose_head(write, session.id).await
}

/// Ends a task that nobody has opened, wherever it stands, within a write; one that is over stays as it is.
pub(crate) async fn cancel(
    write: &mut Write,
    task: &TaskRow,
    session: &SessionRow,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<(), Error> {
    if task.state.has_verdict() {
        return Ok(());
    }
    if task.state.is_active() {
        let state = life::next(task.state, TaskEvent::Decide)?;
        stand(write, task, verdict, state, None).await?;
        let attempt = AttemptId {
            task: task.id,
            number: task.attempt,
        };
        attempts::end(write, attempt, end_reason(verdict), now).await?;
    } else {
        end(write, task, session, verdict, now).await?;
    }
    write.changed(task.id);
    Ok(())
}

async fn stand(
    write: &mut Write,
    task: &TaskRow,
    verdict: &Verdict,
    state: TaskState,
    closed_at: Option<Timestamp>,
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE tasks SET state = $3, verdict = $4, closed_at = $5, suspended_at = NULL \
        WHERE id = $1 AND state = $2 AND verdict IS NULL";
    let update = query("decide a task", UPDATE)
        .bind(task.id)
        .bind(task.state)
        .bind(state);
    let update = update.bind(to_json("verdict", verdict)?).bind(closed_at);
    match update.execute(write).await? {
        1 => Ok(()),
        _ => Err(Error::Conflict {
            what: format!("task {} is no longer {}", task.id, task.state.as_str()),
        }),
    }
}

/// Keeps what came late; false when it was known, or says nothing that a runner saw, or there is no room.
async fn keep_beside(
    write: &mut Write,
    task: &TaskRow,
    attempt: AttemptId,
    verdict: &Verdict,
) -> Result<bool, Error> {
    const UPDATE: &str = "UPDATE tasks SET late_results = $2 WHERE id = $1";
    let known = |late: &LateResult| late.attempt == attempt.number && same(&late.verdict, verdict);
    let full = task.late_results.len() >= LATE_RESULTS;
    if verdict.result.is_none() || full || task.late_results.iter().any(known) {
        return Ok(false);
    }
    let mut kept = task.late_results.clone();
    kept.push(LateResult {
        attempt: attempt.number,
        verdict: verdict.clone(),
    });
    query("keep a late result", UPDATE)
        .bind(task.id)
        .bind(to_json("late results", &kept)?)
        .execute(write)
        .await?;
    Ok(true)
}

/// True for the same words said again, be it at another time.
fn same(one: &Verdict, other: &Verdict) -> bool {
    one.outcome == other.outcome && one.result == other.result
}

/// Why the operator ends the attempt; `None` when the runner's own result does.
fn end_reason(verdict: &Verdict) -> Option<EndReason> {
    if verdict.result.is_some() {
        return None;
    }
    Some(match verdict.outcome.class() {
        Some(FailureClass::Cancelled) => EndReason::Cancelled,
        Some(FailureClass::AgentDeleted) => EndReason::AgentDeleted,
        Some(
            FailureClass::TaskTimeout | FailureClass::DeadlineExceeded | FailureClass::ClaimExpired,
        ) => EndReason::TimedOut,
        Some(_) | None => EndReason::Failed,
    })
}

/// What the session knows of its conversation after a verdict. A result without a provider session says
/// nothing against the one that is known: a turn that failed before its CLI ran leaves it as it was. An
/// attempt that no longer holds the session can retire ids, but not point anywhere.
fn learn(
    session: &SessionRow,
    attempt: &AttemptRow,
    verdict: &Verdict,
    now: Timestamp,
) -> Conversation {
    let mut conversation = Conversation::of(session);
    let result = verdict.result.as_deref();
    for id in result
        .map(|result| &result.retired_sessions)
        .into_iter()
        .flatten()
    {
        conversation.retire(id);
    }
    let told = result.and_then(|result| result.provider_session.clone());
    if session.is_held_by(attempt.id)
        && let Some(session) = told.clone()
    {
        let (claim_uid, task) = (attempt.claim_uid.clone(), attempt.id.task);
        conversation.point(Pointer {
            session,
            claim_uid,
            task,
            at: now,
        });
    }
    if verdict
        .outcome
        .class()
        .is_some_and(|class| class.session() == SessionEffect::Retire)
    {
        // The conversation of this turn: the one it told of, else the one that it was to go on with.
        let pointed = || {
            let holds = session.is_held_by(attempt.id);
            conversation
                .pointer
                .as_ref()
                .filter(|_| holds)
                .map(|pointer| pointer.session.id.clone())
        };
        if let Some(id) = told.map(|told| told.id).or_else(pointed) {
            conversation.retire(&id);
        }
    }
    conversation
}
