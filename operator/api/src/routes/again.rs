//! What people do with a task: have it done again, put it aside, let it go on.

use axum::Json as Answer;
use axum::extract::State;
use protocol::TaskId;
use protocol::board::{BlockedReason, Retry, RunView, WakeVerdict};
use store::Again;

use super::runs::run;
use crate::board::{BoardCaller, OnTask, RerunTasks, SuspendTasks};
use crate::body::Json;
use crate::error::Failure;
use crate::state::{Inner, Shared};

/// `POST tasks/{id}/rerun`: answered with the task that does it, be it one that waited already.
pub(super) async fn rerun_task(
    on: OnTask<RerunTasks>,
    State(state): State<Shared>,
) -> Result<Answer<RunView>, Failure> {
    again(&state, on, Again::Rerun).await
}

/// `POST tasks/{id}/retry`: likewise, of one that failed.
pub(super) async fn retry_task(
    on: OnTask<RerunTasks>,
    State(state): State<Shared>,
    Json(Retry { fresh }): Json<Retry>,
) -> Result<Answer<RunView>, Failure> {
    again(&state, on, Again::Retry { fresh }).await
}

/// `POST tasks/{id}/suspend`. Suspending what is suspended is done already.
pub(super) async fn suspend_task(
    on: OnTask<SuspendTasks>,
    State(state): State<Shared>,
) -> Result<Answer<RunView>, Failure> {
    check_origin(&state, &on.caller, on.task, "Suspend").await?;
    let put = state.store.put_aside(on.task, state.now()).await;
    put.map_err(Failure::of_write)?;
    run(&state, on.caller.workspace(), on.task)
        .await
        .map(Answer)
}

/// `POST tasks/{id}/resume`. Resuming what is not suspended is done already.
pub(super) async fn resume_task(
    on: OnTask<SuspendTasks>,
    State(state): State<Shared>,
) -> Result<Answer<RunView>, Failure> {
    check_origin(&state, &on.caller, on.task, "Run").await?;
    let let_go = state.store.let_go_on(on.task, state.now()).await;
    let_go.map_err(Failure::of_write)?;
    run(&state, on.caller.workspace(), on.task)
        .await
        .map(Answer)
}

async fn again(
    state: &Inner,
    on: OnTask<RerunTasks>,
    how: Again,
) -> Result<Answer<RunView>, Failure> {
    let caller = &on.caller;
    let old = run(state, caller.workspace(), on.task).await?;
    let directory = caller.recipients(state);
    let verdict = state
        .store
        .do_again(&caller.acting, on.task, how, &directory, state.now())
        .await
        .map_err(Failure::of_write)?;
    let task = match verdict {
        WakeVerdict::Queued { task: Some(task) } | WakeVerdict::Coalesced { task } => task,
        WakeVerdict::Queued { task: None } => return Err(Failure::internal()),
        WakeVerdict::Blocked { reason } => return Err(blocked(&old.agent, reason)),
    };
    run(state, caller.workspace(), task).await.map(Answer)
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

/// What was declared in the cluster is changed there: Git would undo what the API did, or the other way round.
async fn check_origin(
    state: &Inner,
    caller: &BoardCaller<SuspendTasks>,
    task: TaskId,
    wanted: &str,
) -> Result<(), Failure> {
    let seen = run(state, caller.workspace(), task).await?;
    let row = state.store.task(task).await?;
    if row.ok_or_else(Failure::not_found)?.was_born_here() {
        return Ok(());
    }
    Err(Failure::wrong_state(format!(
        "the task was declared as AgentTask {}: set desiredState: {wanted} in its YAML, or with kubectl patch",
        seen.name
    )))
}
