//! What people do with a task: have it done again, put it aside, let it go on.

use axum::Json as Answer;
use axum::extract::State;
use jiff::{Timestamp, ToSpan as _};
use protocol::TaskId;
use protocol::board::{BlockedReason, Posted, Rerun, Retry, RunView, Steer, WakeVerdict};
use store::Again;
use wake::{Directory as _, Person, Principal};

use super::runs::run;
use crate::board::{BoardCaller, CreateComments, OnTask, RerunTasks, SuspendTasks};
use crate::body::Json;
use crate::error::Failure;
use crate::once::Once;
use crate::state::{Inner, Shared};

/// `POST tasks/{id}/rerun`: answered with the task that does it, be it one that waited already.
pub(super) async fn rerun_task(
    on: OnTask<RerunTasks>,
    State(state): State<Shared>,
    Json(rerun): Json<Rerun>,
) -> Result<Answer<RunView>, Failure> {
    let Rerun {
        wake_at,
        wake_after_seconds,
    } = rerun;
    let at = when(&state, wake_at, wake_after_seconds)?;
    again(&state, on, (Again::Rerun, at)).await
}

/// `POST tasks/{id}/retry`: likewise, of one that failed.
pub(super) async fn retry_task(
    on: OnTask<RerunTasks>,
    State(state): State<Shared>,
    Json(retry): Json<Retry>,
) -> Result<Answer<RunView>, Failure> {
    let Retry {
        fresh,
        wake_at,
        wake_after_seconds,
    } = retry;
    let at = when(&state, wake_at, wake_after_seconds)?;
    again(&state, on, (Again::Retry { fresh }, at)).await
}

/// The moment before which nobody is to be woken, said in one way or the other.
pub(super) fn when(
    state: &Inner,
    at: Option<Timestamp>,
    after_seconds: Option<u32>,
) -> Result<Option<Timestamp>, Failure> {
    match (at, after_seconds) {
        (Some(_), Some(_)) => Err(Failure::invalid(
            "wakeAt and wakeAfterSeconds say the same: leave one of them out",
        )),
        (at, None) => Ok(at),
        (None, Some(seconds)) => {
            let at = state.now().checked_add(i64::from(seconds).seconds());
            // The store says how far ahead it may be.
            Ok(Some(at.unwrap_or(Timestamp::MAX)))
        }
    }
}

/// `POST tasks/{id}/suspend`. Suspending what is suspended is done already.
pub(super) async fn suspend_task(
    on: OnTask<SuspendTasks>,
    State(state): State<Shared>,
) -> Result<Answer<RunView>, Failure> {
    check_origin(&state, &on.caller, on.task, "Suspend").await?;
    let put = state.store.put_aside(on.task, state.now()).await;
    put.map_err(Failure::of_write)?;
    run(&state, &on.caller, on.task).await.map(Answer)
}

/// `POST tasks/{id}/resume`. Resuming what is not suspended is done already.
pub(super) async fn resume_task(
    on: OnTask<SuspendTasks>,
    State(state): State<Shared>,
) -> Result<Answer<RunView>, Failure> {
    let agent = check_origin(&state, &on.caller, on.task, "Run").await?;
    check_right(&state, &on.caller, &agent)?;
    let let_go = state.store.let_go_on(on.task, state.now()).await;
    let_go.map_err(Failure::of_write)?;
    run(&state, &on.caller, on.task).await.map(Answer)
}

/// `POST tasks/{id}/steer`: a comment in the task's thread, of which its run is told while it works.
pub(super) async fn steer_task(
    on: OnTask<CreateComments>,
    State(state): State<Shared>,
    once: Once,
    Json(steer): Json<Steer>,
) -> Result<Answer<Posted>, Failure> {
    let caller = &on.caller;
    // Agents are told things by their tasks, and tell each other in comments.
    caller.member()?;
    let store = once.store(&state, &format!("steer {}", on.task), &steer)?;
    let directory = caller.recipients(&state);
    let posted = store
        .steer(
            &caller.acting,
            on.task,
            &steer.body,
            &directory,
            state.now(),
        )
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(posted))
}

async fn again(
    state: &Inner,
    on: OnTask<RerunTasks>,
    how: (Again, Option<Timestamp>),
) -> Result<Answer<RunView>, Failure> {
    let caller = &on.caller;
    let old = run(state, caller, on.task).await?;
    let directory = caller.recipients(state);
    let verdict = state
        .store
        .do_again_at(&caller.acting, on.task, how, &directory, state.now())
        .await
        .map_err(Failure::of_write)?;
    let task = match verdict {
        WakeVerdict::Queued { task: Some(task) }
        | WakeVerdict::Coalesced { task }
        | WakeVerdict::Deferred {
            task: Some(task), ..
        }
        | WakeVerdict::Steered {
            follow_up: Some(task),
            ..
        } => task,
        WakeVerdict::Queued { task: None }
        | WakeVerdict::Deferred { task: None, .. }
        | WakeVerdict::Steered {
            follow_up: None, ..
        } => return Err(Failure::internal()),
        WakeVerdict::Blocked { reason } => return Err(blocked(&old.agent, reason)),
    };
    run(state, caller, task).await.map(Answer)
}

fn blocked(agent: &str, reason: BlockedReason) -> Failure {
    if reason == BlockedReason::NotAvailable {
        return Failure::wrong_state(format!(
            "agent {agent} is not there, or you may not wake it"
        ));
    }
    let word = serde_json::to_value(reason).unwrap_or_default();
    let word = word.as_str().unwrap_or("blocked");
    Failure::wrong_state(format!("agent {agent} is not woken: {word}"))
}

/// Who lets an agent go on sets it to work: they need its leave. One that is gone is waited for.
fn check_right(
    state: &Inner,
    caller: &BoardCaller<SuspendTasks>,
    agent: &str,
) -> Result<(), Failure> {
    let directory = caller.recipients(state);
    let (Some(facts), Some(user)) = (directory.agent(agent), &caller.acting.user) else {
        return Ok(());
    };
    let person = Principal::Person(Person {
        user: user.clone(),
        groups: caller.acting.groups.clone(),
    });
    match wake::may_wake(Some(&facts), &person) {
        true => Ok(()),
        false => Err(blocked(agent, BlockedReason::NotAvailable)),
    }
}

/// What was declared in the cluster is changed there: Git would undo what the API did, or the other way round.
async fn check_origin(
    state: &Inner,
    caller: &BoardCaller<SuspendTasks>,
    task: TaskId,
    wanted: &str,
) -> Result<String, Failure> {
    let seen = run(state, caller, task).await?;
    let row = state.store.task(task).await?;
    if row.ok_or_else(Failure::not_found)?.was_born_here() {
        return Ok(seen.agent);
    }
    Err(Failure::wrong_state(format!(
        "the task was declared as AgentTask {}: set desiredState: {wanted} in its YAML, or with kubectl patch",
        seen.name
    )))
}
