//! Why a task is where it is: from its row, its attempts, and what the cluster shows of its object.

use axum::Json as Answer;
use axum::extract::State;
use crds::{AgentTask, task_condition};
use protocol::board::{AttemptView, ConditionView, Explanation, RunView, WaitingView};
use protocol::{AttemptId, FailureClass, Retry, TaskState};
use store::{AttemptRow, TaskRow};

use super::runs::run;
use crate::board::{GetTimelines, OnTask, check_private};
use crate::error::Failure;
use crate::state::{Inner, Shared};

/// Attempts shown.
const ATTEMPTS: u32 = 10;

/// `GET tasks/{id}/explain`.
pub(super) async fn explain_task(
    on: OnTask<GetTimelines>,
    State(state): State<Shared>,
) -> Result<Answer<Explanation>, Failure> {
    let workspace = on.caller.workspace();
    let seen = run(&state, &on.caller, on.task).await?;
    check_private(&state, on.caller.member()?, on.task).await?;
    let row = state.store.task(on.task).await?;
    let row = row.ok_or_else(Failure::not_found)?;
    let attempts = attempts(&state, &row).await?;
    let object = state.definitions.task(&workspace.namespace, &seen.name);
    // Another one may have taken the name since.
    let object = object.filter(|object| object.metadata.uid == row.object.uid);
    let conditions = object.as_deref().map(conditions).unwrap_or_default();
    let waiting = object.as_deref().and_then(|object| waiting(object, &seen));
    Ok(Answer(Explanation {
        summary: summary(&seen, &row, waiting.as_ref(), &conditions),
        again_of: state.store.again_of(on.task).await?,
        waiting,
        conditions,
        attempts: attempts.into_iter().map(shown).collect(),
        run: seen,
    }))
}

async fn attempts(state: &Inner, row: &TaskRow) -> Result<Vec<AttemptRow>, Failure> {
    let first = row.attempt.saturating_sub(ATTEMPTS - 1).max(1);
    let mut attempts = Vec::new();
    for number in first..=row.attempt {
        let id = AttemptId {
            task: row.id,
            number,
        };
        attempts.extend(state.store.attempt(id).await?);
    }
    Ok(attempts)
}

fn shown(row: AttemptRow) -> AttemptView {
    let word = |reason| serde_json::to_value(reason).ok();
    AttemptView {
        number: row.id.number,
        runtime: row.runtime,
        node: row.node,
        claimed: row.claimed_at,
        opened: row.opened_at,
        started: row.started_at,
        heard: row.last_contact_at,
        ended: row.ended_at,
        reason: row
            .end_reason
            .and_then(word)
            .and_then(|word| word.as_str().map(str::to_owned)),
    }
}

fn conditions(object: &AgentTask) -> Vec<ConditionView> {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    conditions
        .map(|condition| ConditionView {
            kind: condition.type_.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since: condition.last_transition_time.0,
        })
        .collect()
}

/// What the controller has found out of a task that still waits.
fn waiting(object: &AgentTask, seen: &RunView) -> Option<WaitingView> {
    let waiting = object.status.as_ref()?.waiting.as_ref()?;
    Some(WaitingView {
        limit: seen.waits_for.clone()?,
        message: waiting.message.clone(),
        since: waiting.since.0,
    })
}

/// Why it is where it is, and what can be done.
fn summary(
    seen: &RunView,
    row: &TaskRow,
    waiting: Option<&WaitingView>,
    conditions: &[ConditionView],
) -> String {
    let said = |kind: &str| {
        let found = conditions.iter().find(|condition| condition.kind == kind);
        found.filter(|condition| !condition.message.is_empty())
    };
    match row.state {
        TaskState::Queued if seen.deferred_until.is_some() => deferred(row),
        TaskState::Queued => match (waiting, said(task_condition::ACCEPTED)) {
            (Some(waiting), _) => {
                format!("It waits for the {}: {}", waiting.limit, waiting.message)
            }
            (None, Some(condition)) if condition.status == "False" => {
                format!("It waits: {}: {}", condition.reason, condition.message)
            }
            (None, Some(_) | None) => "It waits for its turn, which comes next.".to_owned(),
        },
        TaskState::Suspended if row.held => {
            "People put it aside: `moor task resume` lets it go on.".to_owned()
        }
        TaskState::Suspended => format!(
            "Its AgentTask {} says desiredState: Suspend; Run lets it go on.",
            seen.name
        ),
        TaskState::Claimed => match said(task_condition::POD_READY) {
            Some(condition) => format!(
                "Its pod is on the way: {}: {}",
                condition.reason, condition.message
            ),
            None => "Its pod is on the way.".to_owned(),
        },
        TaskState::Preparing => "Its runner prepares the working directory.".to_owned(),
        TaskState::Running => "Its agent works.".to_owned(),
        TaskState::Finishing => format!(
            "{} Its pod is still to be cleared away; until it was seen to be dead the session is not free.",
            end(row)
        ),
        TaskState::Finished => end(row),
    }
}

/// Until when it waits.
fn deferred(row: &TaskRow) -> String {
    let until = row.deferred_until().unwrap_or(row.created_at);
    format!(
        "It is deferred until {until:.0}: that is what it was asked for. `moor task cancel` takes it back; what is \
         said to its agent in the same place meanwhile lets it begin at once."
    )
}

/// How it ended.
fn end(row: &TaskRow) -> String {
    let Some(verdict) = &row.verdict else {
        return "It is over.".to_owned();
    };
    let protocol::Outcome::Failed { class, message, .. } = &verdict.outcome else {
        return "It succeeded.".to_owned();
    };
    if *class == FailureClass::Cancelled {
        return format!("It was ended: {message}.");
    }
    let again = match class.retry() {
        Retry::Never => "Trying again does not help before that is changed.",
        Retry::AfterBackoff => "Trying again after a while may help: `moor task retry`.",
        Retry::AtOnce => "Trying again may help: `moor task retry`.",
    };
    format!(
        "It failed with {class}: {message}. {} {again}",
        class.explanation()
    )
}
