//! Tasks as people see them, and what happened in them.

use axum::Json as Answer;
use axum::extract::State;
use crds::WaitingLimit;
use protocol::board::{CauseKind, Page, RunView, TimelineItem};
use protocol::{
    AttemptId, FailureClass, MemberId, Outcome, TaskId, TaskState, Verdict, bound, limits,
};
use store::{Decided, TimelineEntry, WorkspaceRef};

use crate::board::{
    BoardCaller, CancelTasks, EventsQuery, Filling, GetTasks, GetTimelines, ListRuns, ListTasks,
    OnIssue, OnTask, PageQuery, Right, check_private, limit,
};
use crate::body::Query;
use crate::error::Failure;
use crate::state::{Inner, Shared};

/// A task that is to be cancelled moves on meanwhile: it is looked at again so many times.
const LOOKS: usize = 8;

/// `GET issues/{key}/runs`: newest first.
pub(super) async fn list_runs_of_issue(
    on: OnIssue<ListRuns>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<RunView>>, Failure> {
    let limit = limit(query.limit)?;
    let mut page = state
        .store
        .runs_of_issue(
            on.caller.workspace(),
            &on.key,
            limit,
            query.cursor.as_deref(),
        )
        .await?;
    for run in &mut page.items {
        say_limit(&state, on.caller.workspace(), run);
    }
    Ok(Answer(page))
}

/// `GET tasks`: newest first, those made with kubectl too.
pub(super) async fn list_tasks(
    caller: BoardCaller<ListTasks>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<RunView>>, Failure> {
    let limit = limit(query.limit)?;
    let mut page = state
        .store
        .runs(caller.workspace(), limit, query.cursor.as_deref())
        .await?;
    for run in &mut page.items {
        tell(&state, caller.workspace(), caller.member().ok(), run).await?;
    }
    Ok(Answer(page))
}

/// `GET tasks/{id}`.
pub(super) async fn get_task(
    on: OnTask<GetTasks>,
    State(state): State<Shared>,
) -> Result<Answer<RunView>, Failure> {
    run(&state, &on.caller, on.task).await.map(Answer)
}

/// `POST tasks/{id}/cancel`. Cancelling what was cancelled is done already.
pub(super) async fn cancel_task(
    on: OnTask<CancelTasks>,
    State(state): State<Shared>,
) -> Result<Answer<RunView>, Failure> {
    run(&state, &on.caller, on.task).await?;
    cancel(&state, on.task, &on.caller.acting.author.name).await?;
    run(&state, &on.caller, on.task).await.map(Answer)
}

/// `GET tasks/{id}/events`: after a position, so that who follows asks again with the last one it has.
pub(super) async fn list_events(
    on: OnTask<GetTimelines>,
    State(state): State<Shared>,
    Query(query): Query<EventsQuery>,
) -> Result<Answer<Page<TimelineItem>>, Failure> {
    let mut filling = Filling::new(limit(query.limit)?);
    run(&state, &on.caller, on.task).await?;
    check_private(&state, on.caller.member()?, on.task).await?;
    let mut after = query.after;
    loop {
        let asked = filling.part();
        let entries = state.store.timeline(on.task, after, asked).await?;
        let more = entries.len() == asked as usize;
        after = entries.last().map_or(after, |last| last.position);
        let part = entries.into_iter().map(item).collect();
        if let Some(page) = filling.take(part, more.then(|| after.to_string()))? {
            return Ok(Answer(page));
        }
    }
}

/// An entry as it is told.
pub(crate) fn item(entry: TimelineEntry) -> TimelineItem {
    TimelineItem {
        position: entry.position,
        attempt: entry.attempt,
        at: entry.event.at,
        body: entry.event.body,
        full_bytes: entry.full_bytes,
    }
}

/// A task of the workspace, as its caller may see it.
pub(crate) async fn run<R: Right>(
    state: &Inner,
    caller: &BoardCaller<R>,
    task: TaskId,
) -> Result<RunView, Failure> {
    run_for(state, caller.workspace(), caller.member().ok(), task).await
}

/// A task of a workspace, as this person may see it.
pub(crate) async fn run_for(
    state: &Inner,
    workspace: &WorkspaceRef,
    member: Option<MemberId>,
    task: TaskId,
) -> Result<RunView, Failure> {
    let found = state.store.run(workspace, task).await?;
    let mut run = found.ok_or_else(Failure::not_found)?;
    tell(state, workspace, member, &mut run).await?;
    Ok(run)
}

/// Says what holds a task, and keeps to itself how one ended that is private to somebody else: that may hold words of
/// the agent.
async fn tell(
    state: &Inner,
    workspace: &WorkspaceRef,
    member: Option<MemberId>,
    run: &mut RunView,
) -> Result<(), Failure> {
    say_limit(state, workspace, run);
    let may_be_private = matches!(run.cause, Some(CauseKind::Chat | CauseKind::QuickIssue));
    if may_be_private
        && run.message.is_some()
        && let Some(person) = state.store.private_to(run.id).await?
        && member != Some(person)
    {
        run.message = None;
    }
    Ok(())
}

/// Says which limit holds a queued task, as the controller has found it out.
pub(super) fn say_limit(state: &Inner, workspace: &WorkspaceRef, run: &mut RunView) {
    if run.state != TaskState::Queued {
        return;
    }
    if run.deferred_until.is_some() {
        run.waits_for = Some(word(WaitingLimit::StartTime).to_owned());
        return;
    }
    let object = state.definitions.task(&workspace.namespace, &run.name);
    let waiting = object
        .as_ref()
        .and_then(|object| object.status.as_ref()?.waiting.as_ref());
    run.waits_for = waiting.map(|waiting| word(waiting.limit).to_owned());
}

fn word(limit: WaitingLimit) -> &'static str {
    match limit {
        WaitingLimit::StartTime => "startTime",
        WaitingLimit::Session => "session",
        WaitingLimit::Agent => "agent",
        WaitingLimit::QuotaConcurrent => "quotaConcurrent",
        WaitingLimit::QuotaRunsPerHour => "quotaRunsPerHour",
        WaitingLimit::Capacity => "capacity",
        WaitingLimit::Runtime => "runtime",
        WaitingLimit::Reference => "reference",
        WaitingLimit::Workspace => "workspace",
        WaitingLimit::Operator => "operator",
    }
}

/// Gives a task its verdict, as the controller does for an AgentTask that is to be cancelled. The controller
/// hears of the change and clears away what there is.
async fn cancel(state: &Inner, task: TaskId, who: &str) -> Result<(), Failure> {
    let mut message = format!("cancelled by {who}");
    bound::cut(&mut message, limits::MESSAGE_BYTES);
    let now = state.now();
    let verdict = Verdict {
        outcome: Outcome::failed(FailureClass::Cancelled, message),
        at: now,
        result: None,
    };
    for _ in 0..LOOKS {
        let row = state
            .store
            .task(task)
            .await?
            .ok_or_else(Failure::not_found)?;
        if row.state.has_verdict() {
            let class = row.verdict.and_then(|stands| stands.outcome.class());
            return match class {
                Some(FailureClass::Cancelled) => Ok(()),
                Some(_) | None => Err(Failure::wrong_state(
                    "the task is over, so there is nothing to cancel",
                )),
            };
        }
        let decided = if row.state.is_active() {
            let attempt = AttemptId {
                task,
                number: row.attempt,
            };
            let decided = state.store.verdict(attempt, verdict.clone(), now).await;
            decided.map(|decided| decided == Decided::First)
        } else {
            state.store.end_unclaimed(task, verdict.clone(), now).await
        };
        match decided {
            Ok(true) => return Ok(()),
            // It was claimed, or ended, between the look and the step.
            Ok(false) | Err(store::Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::unavailable(
        "the task changed all the time; try again",
    ))
}
