//! The status of an AgentTask, from what was seen: pure, and the same again for the same facts.

mod conditions;
mod parts;

use std::time::Duration;

use crds::{AgentTaskStatus, conditions as merge, task_condition, task_reason};
use jiff::Timestamp;
use protocol::{AttemptId, TaskState};
use store::{AttemptRow, TaskRow};

use super::failure::after;
use super::observe::Seen;
use crate::patch;

/// What lasts no longer than this is not worth a write.
const WORTH_A_WRITE: Duration = Duration::from_secs(2);

/// Since when the task is where it is.
#[must_use]
pub fn phase_start(row: &TaskRow, attempt: Option<&AttemptRow>) -> Timestamp {
    let since = match row.state {
        TaskState::Claimed | TaskState::Running => attempt.map(|attempt| attempt.claimed_at),
        TaskState::Preparing => attempt.and_then(|attempt| attempt.opened_at),
        // Since its time came; before that, since it was entered.
        TaskState::Queued => row.fire_at.filter(|_| !row.deferred),
        TaskState::Finishing | TaskState::Suspended | TaskState::Finished => None,
    };
    since.unwrap_or(row.created_at)
}

/// When the task's phase is worth a write, if it lasts until then.
#[must_use]
pub fn settles_at(row: &TaskRow, attempt: Option<&AttemptRow>) -> Timestamp {
    after(phase_start(row, attempt), WORTH_A_WRITE)
}

/// True when the task's phase is worth a write: it is one that people wait for, or it lasts.
#[must_use]
pub fn is_settled(row: &TaskRow, attempt: Option<&AttemptRow>, now: Timestamp) -> bool {
    match row.state {
        TaskState::Running | TaskState::Suspended | TaskState::Finishing | TaskState::Finished => {
            true
        }
        TaskState::Queued | TaskState::Claimed | TaskState::Preparing => {
            now >= settles_at(row, attempt)
        }
    }
}

/// The status as it should be; `old` gives transition times and what must not flicker.
#[must_use]
pub fn status(seen: &Seen, old: &AgentTaskStatus, now: Timestamp) -> AgentTaskStatus {
    let (row, attempt) = (&seen.row, seen.attempt());
    let generation = seen
        .object
        .get()
        .and_then(|object| object.metadata.generation);
    let session = (row.attempt > 0).then(|| seen.session_name.to_string());
    AgentTaskStatus {
        observed_generation: generation,
        conditions: merge::merge(
            &old.conditions,
            conditions::wanted(seen, old, now),
            generation,
            now,
        ),
        task_id: Some(row.id.to_string()),
        cause: seen.cause.clone(),
        attempt: Some(i32::try_from(row.attempt).unwrap_or(i32::MAX)),
        attempts: seen.attempts.iter().map(parts::attempt).collect(),
        pod_name: session.clone(),
        session_name: session,
        runtime_name: attempt.map(|attempt| attempt.runtime.clone()),
        resumed: parts::resumed(row),
        waiting: parts::waiting(seen, old, now),
        failure: row
            .verdict
            .as_ref()
            .and_then(|verdict| parts::failure(seen, verdict)),
        result: row
            .verdict
            .as_ref()
            .filter(|_| !seen.is_private())
            .and_then(parts::result),
        usage: row.verdict.as_ref().map(parts::usage).unwrap_or_default(),
        times: Some(parts::times(row, attempt)),
    }
}

/// Takes in what the same pass records of an attempt's pod: else the next one would write it again.
pub fn record(status: &mut AgentTaskStatus, attempt: AttemptId, uid: &str, node: Option<&str>) {
    let number = i32::try_from(attempt.number).unwrap_or(i32::MAX);
    let mut shown = status.attempts.iter_mut();
    if let Some(shown) = shown.find(|shown| shown.number == number) {
        shown.pod_uid = Some(uid.to_owned());
        if let Some(node) = node {
            shown.node_name = Some(node.to_owned());
        }
    }
}

/// True when there is something to write. While the pod starts, where it does so is not worth a write of its
/// own; the next one tells.
#[must_use]
pub fn differs(state: TaskState, old: &AgentTaskStatus, new: &AgentTaskStatus) -> bool {
    if matches!(state, TaskState::Claimed | TaskState::Preparing) {
        let told = AgentTaskStatus {
            attempts: old.attempts.clone(),
            ..new.clone()
        };
        return patch::status_patch(old, &told).is_some();
    }
    patch::status_patch(old, new).is_some()
}

/// The status of an object whose task is not run, because the same one ran before and its ttl removed it.
#[must_use]
pub fn already_ran(
    old: &AgentTaskStatus,
    generation: Option<i64>,
    earlier: protocol::TaskId,
    now: Timestamp,
) -> AgentTaskStatus {
    let message = format!(
        "Task {earlier} of the same name and spec has run, and ttlSecondsAfterFinished removed its object. \
         To run it again, create it under another name."
    );
    not_run(old, generation, task_reason::ALREADY_RAN, &message, now)
}

/// The status of an object for which there is no room in the queue of its workspace yet.
#[must_use]
pub fn queue_full(
    old: &AgentTaskStatus,
    generation: Option<i64>,
    max: u32,
    now: Timestamp,
) -> AgentTaskStatus {
    let message = format!(
        "{max} tasks wait in the workspace, which is the maxQueued of its AgentQuota. This one is taken in when one of \
         them has begun."
    );
    not_run(old, generation, task_reason::QUEUE_FULL, &message, now)
}

/// The status of an object whose prompt is not where it says.
#[must_use]
pub fn prompt_not_found(
    old: &AgentTaskStatus,
    generation: Option<i64>,
    why: &str,
    now: Timestamp,
) -> AgentTaskStatus {
    not_run(old, generation, task_reason::PROMPT_NOT_FOUND, why, now)
}

/// The status of an object whose Agent may not be woken by who asked for it.
#[must_use]
pub fn not_allowed(
    old: &AgentTaskStatus,
    generation: Option<i64>,
    (agent, user): (&str, Option<&str>),
    now: Timestamp,
) -> AgentTaskStatus {
    let who = match user {
        Some(user) => format!("{user}, who asked for it"),
        None => "an AgentTask of which nobody says who asked for it".to_owned(),
    };
    let message = format!(
        "Agent {agent} may not be woken by {who}: it names who may in spec.access, or the workspace wants a person to \
         ask. Have the one who asks added there, then create the AgentTask again."
    );
    not_run(old, generation, task_reason::NOT_ALLOWED, &message, now)
}

/// The status of an object that is to begin too far ahead.
#[must_use]
pub fn start_too_late(
    old: &AgentTaskStatus,
    generation: Option<i64>,
    now: Timestamp,
) -> AgentTaskStatus {
    let message = format!(
        "startAfter is more than {} days after the creation of the task. Create it later, or let an AgentSchedule make \
         it.",
        protocol::limits::DEFER_DAYS
    );
    not_run(old, generation, task_reason::START_TOO_LATE, &message, now)
}

/// The status of an object that has a cause and no task: somebody else than Mooring made it.
#[must_use]
pub fn not_from_store(
    old: &AgentTaskStatus,
    generation: Option<i64>,
    agent: &str,
    now: Timestamp,
) -> AgentTaskStatus {
    let message = format!(
        "Mooring did not make this AgentTask: nothing on the issue woke an agent for it. \
         To wake Agent {agent}, write a comment on the issue that mentions it; to ask it something else, create an \
         AgentTask with a prompt."
    );
    not_run(old, generation, task_reason::NOT_FROM_STORE, &message, now)
}

fn not_run(
    old: &AgentTaskStatus,
    generation: Option<i64>,
    reason: &'static str,
    message: &str,
    now: Timestamp,
) -> AgentTaskStatus {
    AgentTaskStatus {
        observed_generation: generation,
        conditions: merge::merge(
            &old.conditions,
            conditions::not_run(reason, message),
            generation,
            now,
        ),
        ..old.clone()
    }
}

/// True once the verdict is in the status.
#[must_use]
pub fn shows_end(status: &AgentTaskStatus) -> bool {
    merge::is_true(&status.conditions, task_condition::FINISHED)
}
