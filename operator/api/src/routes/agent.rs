//! What an agent asks, with its task's token.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::{Path, State};
use crds::{AgentTask, CauseKind};
use kube::ResourceExt as _;
use protocol::board::{Cause, Repository};
use protocol::runner::{TaskView, WhoAmI};
use protocol::{Subject, TaskId};
use store::TaskRow;

use crate::auth::AgentCaller;
use crate::board;
use crate::error::Failure;
use crate::package;
use crate::state::{Inner, Shared};

/// Who an agent is, for `GET whoami`.
pub(super) async fn show(caller: &AgentCaller, state: &Inner) -> Result<WhoAmI, Failure> {
    let task = own_task(state, caller).await?;
    let session = state.store.session(task.session).await?;
    let session = session.ok_or_else(Failure::unauthenticated)?;
    let namespace = task.object.namespace;
    let agent = state.definitions.agent(&namespace, &task.agent);
    Ok(WhoAmI {
        scope: agent
            .as_deref()
            .map(package::token_scope)
            .unwrap_or_default(),
        verbs: board::verbs_of_agents(),
        subject: session.key.subject,
        session: session.id,
        display_name: agent
            .map_or_else(|| task.agent.clone(), |agent| package::display_name(&agent)),
        agent: task.agent,
        namespace,
        task: task.id,
        attempt: caller.attempt.number,
        token_expires: caller.expires,
    })
}

/// `GET tasks/{id}`: its own task. Others do not exist for it.
pub(super) async fn get_task(
    caller: AgentCaller,
    State(state): State<Shared>,
    Path(id): Path<String>,
) -> Result<Answer<TaskView>, Failure> {
    let id: TaskId = id.parse().map_err(|_| Failure::not_found())?;
    if id != caller.attempt.task {
        return Err(Failure::not_found());
    }
    let task = own_task(&state, &caller).await?;
    let session = state
        .store
        .session(task.session)
        .await?
        .ok_or_else(Failure::not_found)?;
    let definition = definition(&state, &task)?;
    let cause = cause(&state, &task, &definition).await?;
    let asked = state.store.quick_cause(task.id).await?;
    let mut prompt = asked
        .map(|asked| asked.text)
        .or(definition.spec.prompt.clone());
    if definition.spec.prompt_from.is_some() {
        prompt = state.store.prompt(task.id).await?;
    }
    Ok(Answer(TaskView {
        id: task.id,
        namespace: task.object.namespace,
        name: task.object.name,
        agent: task.agent,
        subject: session.key.subject,
        prompt: prompt.unwrap_or_default(),
        cause,
        state: task.state,
        attempt: caller.attempt.number,
        session_policy: task.policy,
        created: task.created_at,
    }))
}

async fn own_task(state: &Inner, caller: &AgentCaller) -> Result<TaskRow, Failure> {
    // It was there when the token was looked up; that it is gone now means that the token is too.
    state
        .store
        .task(caller.attempt.task)
        .await?
        .ok_or_else(Failure::unauthenticated)
}

/// The object of a task: that one, not another one that was made under its name.
pub(super) fn definition(state: &Inner, task: &TaskRow) -> Result<Arc<AgentTask>, Failure> {
    let found = state
        .definitions
        .task(&task.object.namespace, &task.object.name);
    found
        .filter(|found| found.uid() == task.object.uid)
        .ok_or_else(|| unknown("AgentTask"))
}

/// What woke the agent of a task; `None` for one that has a prompt.
pub(super) async fn cause(
    state: &Inner,
    task: &TaskRow,
    definition: &AgentTask,
) -> Result<Option<Cause>, Failure> {
    match definition.spec.cause.as_ref().map(|cause| cause.kind) {
        // These stand in the package by themselves.
        None | Some(CauseKind::Chat | CauseKind::QuickIssue) => return Ok(None),
        Some(CauseKind::Comment | CauseKind::Assignment | CauseKind::Children) => {}
    }
    let cause = state.store.cause(task.id).await?;
    // Its object has one, so the store knew it once.
    cause.map(Some).ok_or_else(Failure::internal)
}

/// What the project of a task's issue is about.
pub(super) async fn repositories(
    state: &Inner,
    task: &TaskRow,
    subject: &Subject,
) -> Result<Vec<Repository>, Failure> {
    let Some(issue) = board::issue_of(subject) else {
        return Ok(Vec::new());
    };
    let namespace_uid = &task.object.namespace_uid;
    let found = state
        .store
        .repositories_of_issue(namespace_uid, issue.number);
    Ok(found.await?)
}

/// A definition is not there yet, or not any more; the reconciler decides what that means for the task.
pub(super) fn unknown(kind: &str) -> Failure {
    Failure::unavailable(format!("the {kind} is not known at the moment; try again"))
}
