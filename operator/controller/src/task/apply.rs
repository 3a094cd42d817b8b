//! All writes of one pass. Their order is such that a crash between any two is repaired by the next pass:
//! the store decides first, what others depend on comes before them, the release comes last.

use std::time::Duration;

use crds::names::secret_name;
use crds::{AgentSession, AgentTask, labels};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Secret};
use protocol::{AttemptId, Outcome, Verdict};
use store::Decided;

use super::birth;
use super::bring_up::{Brought, bring_up};
use super::decide::{Deletion, Plan, PodDeletion, Step};
use super::observe::{Object, Seen};
use super::pod_events;
use crate::catalog::{Catalog, Standing};
use crate::context::Context;
use crate::error::Error;
use crate::events::Grade;
use crate::kube_writes::{KubePoint, Target, WriteError};
use crate::patch;
use crate::work::Done;

/// Between looks at something that has to go first.
const BLOCKED: Duration = Duration::from_secs(5);

/// What a pass does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is over.
    Over(Done),
    /// The task has taken a step: everything is read again.
    Again,
}

/// Takes a step of the task's life.
///
/// # Errors
/// [`Error::Store`]; of [`Step::Make`] also those of [`birth::make`].
pub async fn step(ctx: &Context, seen: &Seen, step: Step, now: Timestamp) -> Result<(), Error> {
    let task = seen.row.id;
    match step {
        Step::Make => {
            if let Some(outcome) = birth::make(ctx, seen).await? {
                let verdict = Verdict {
                    outcome,
                    at: now,
                    result: None,
                };
                end(ctx, seen, seen.live().map(|live| live.id), verdict, now).await?;
            }
        }
        Step::Bind => {
            if let Object::ToBind(object) = &seen.object {
                birth::bind(ctx, task, object).await?;
            }
        }
        Step::SetPriority(priority) => {
            ctx.store.set_priority(task, priority).await?;
        }
        Step::Suspend => {
            ctx.store.suspend(task, now).await?;
        }
        Step::Resume => {
            ctx.store.resume(task, now).await?;
        }
        Step::Fire => {
            ctx.store.fire(task, now).await?;
        }
        Step::End(verdict) => end(ctx, seen, None, verdict, now).await?,
        Step::Decide(attempt, verdict) => {
            let verdict = pod_events::explained(ctx, seen, verdict).await;
            end(ctx, seen, Some(attempt), verdict, now).await?;
        }
        Step::Attach(attempt, verdict) => {
            ctx.store.verdict(attempt, verdict, now).await?;
        }
    }
    Ok(())
}

/// Ends the task, by a verdict on its live attempt where it has one.
async fn end(
    ctx: &Context,
    seen: &Seen,
    live: Option<AttemptId>,
    verdict: Verdict,
    now: Timestamp,
) -> Result<(), Error> {
    let outcome = verdict.outcome.clone();
    let is_first = match live {
        Some(attempt) => ctx.store.verdict(attempt, verdict, now).await? == Decided::First,
        None => {
            let task = seen.row.id;
            ctx.store.end_unclaimed(task, verdict, now).await?
        }
    };
    if is_first {
        tell(ctx, seen, &outcome);
    }
    Ok(())
}

fn tell(ctx: &Context, seen: &Seen, outcome: &Outcome) {
    let (task, name, namespace) = (
        seen.row.id,
        &seen.row.object.name,
        &seen.row.object.namespace,
    );
    match outcome {
        Outcome::Succeeded => {
            tracing::info!(task.id = %task, task.name = %name, %namespace, "a task succeeded")
        }
        Outcome::Failed { class, message, .. } => {
            let message = seen.told(*class, message);
            tracing::info!(task.id = %task, task.name = %name, %namespace, class = class.as_str(), %message, "a task failed");
            // A namespace that is going takes no Event.
            let object = seen
                .object
                .get()
                .filter(|_| seen.standing != Standing::Going);
            if let Some(object) = object {
                ctx.events.record(
                    object.as_ref(),
                    Grade::Warning,
                    class.as_str(),
                    message.to_owned(),
                );
            }
        }
    }
}

/// Does what follows from where the task stands.
///
/// # Errors
/// Those of the writes; what was not done is done by the next pass.
pub async fn plan(ctx: &Context, seen: &Seen, plan: Plan, now: Timestamp) -> Result<Next, Error> {
    let Plan {
        bring_up: live,
        record,
        absent,
        keep_token,
        status,
        secrets,
        pod,
        release,
        session_status,
        expire,
        claim,
        mut look_at,
    } = plan;
    if let Some((attempt, uid, node)) = record {
        ctx.store.record_pod(attempt, &uid, node.as_deref()).await?;
    }
    if let Some((attempt, since)) = absent {
        ctx.store.pod_absent(attempt, since).await?;
    }
    if let Some(attempt) = keep_token {
        ctx.store.contact(attempt, now).await?;
    }
    let mut failed = None;
    if let Some(attempt) = live.and(seen.live()) {
        match bring_up(ctx, seen, attempt).await {
            Ok(Brought::Up) => {}
            // The status is written all the same: it says what there is to say.
            Err(error) => failed = Some(error),
            Ok(Brought::Blocked) => {
                let again = super::failure::after(now, BLOCKED);
                look_at = Some(look_at.map_or(again, |at| at.min(again)));
            }
            Ok(Brought::Failed(outcome)) => {
                let verdict = Verdict {
                    outcome,
                    at: now,
                    result: None,
                };
                step(ctx, seen, Step::Decide(attempt.id, verdict), now).await?;
                return Ok(Next::Again);
            }
        }
    }
    let told = match (seen.object.get(), status) {
        (Some(object), Some(status)) => write_status(ctx, object, &status).await,
        (Some(_) | None, Some(_) | None) => Ok(()),
    };
    if let Some(error) = failed {
        return Err(error);
    }
    for attempt in secrets {
        delete_secret(ctx, seen, attempt).await?;
    }
    if let Some(deletion) = pod {
        delete_pod(ctx, seen, &deletion).await?;
    }
    if let Some(attempt) = release {
        let released = ctx.store.release(attempt, now).await;
        // At once, and also where the answer got lost: no later pass of this task will do it.
        wake_lanes(ctx, seen);
        released?;
    }
    if let (Some(object), Some(status)) = (&seen.session_object, session_status) {
        write_session_status(ctx, object, &status).await?;
    }
    if claim {
        wake_lanes(ctx, seen);
    }
    // What is refused a status does not keep its Secret, pod and places for it; its object stays.
    told?;
    if expire {
        remove(ctx, seen, now).await?;
    }
    let pause = look_at.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
    Ok(Next::Over(pause.map_or(Done::Settled, Done::LookAgain)))
}

/// Writes the status of a task, unless it is another object by now.
///
/// # Errors
/// [`Error::Write`].
pub async fn write_status(
    ctx: &Context,
    object: &AgentTask,
    status: &crds::AgentTaskStatus,
) -> Result<(), Error> {
    let old = object.status.clone().unwrap_or_default();
    let Some(patch) = patch::status_patch(&old, status) else {
        return Ok(());
    };
    let manager = labels::TASK_MANAGER;
    let written = ctx
        .writes
        .patch_status::<AgentTask>(KubePoint::TaskStatus, manager, &object.metadata, patch)
        .await;
    if let Some(written) = unless_replaced(written)? {
        ctx.caches.tasks.observe(written);
    }
    Ok(())
}

async fn write_session_status(
    ctx: &Context,
    object: &AgentSession,
    status: &crds::AgentSessionStatus,
) -> Result<(), Error> {
    let old = object.status.clone().unwrap_or_default();
    let Some(patch) = patch::status_patch(&old, status) else {
        return Ok(());
    };
    let manager = labels::SESSION_MANAGER;
    let written = ctx
        .writes
        .patch_status::<AgentSession>(KubePoint::SessionStatus, manager, &object.metadata, patch)
        .await;
    if let Some(written) = unless_replaced(written)? {
        ctx.caches.sessions.observe(written);
    }
    Ok(())
}

/// An object that is gone, or another one under the same name, has no status to write.
fn unless_replaced<T>(written: Result<T, WriteError>) -> Result<Option<T>, Error> {
    match written {
        Ok(written) => Ok(Some(written)),
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn delete_secret(ctx: &Context, seen: &Seen, attempt: AttemptId) -> Result<(), Error> {
    let name = secret_name(&attempt.task.to_string(), attempt.number)?;
    let target = Target {
        namespace: &seen.row.object.namespace,
        name: name.as_str(),
        uid: None,
        grace_seconds: None,
    };
    match ctx
        .writes
        .delete::<Secret>(KubePoint::DeleteSecret, &target)
        .await
    {
        Ok(()) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error.into()),
    }
    ctx.store.secret_gone(attempt).await?;
    Ok(())
}

async fn delete_pod(ctx: &Context, seen: &Seen, deletion: &PodDeletion) -> Result<(), Error> {
    let PodDeletion { uid, how } = deletion;
    let grace_seconds = match how {
        // The pod's own, which is the Runtime's graceSeconds as they were when it was made.
        Deletion::End => None,
        Deletion::Remove => Some(0),
    };
    let target = Target {
        namespace: &seen.row.object.namespace,
        name: seen.session_name.as_str(),
        uid: Some(uid),
        grace_seconds,
    };
    match ctx
        .writes
        .delete::<Pod>(KubePoint::DeletePod, &target)
        .await
    {
        Ok(()) => {}
        // Gone, or another pod by now: either way not this one.
        Err(error) if error.is_not_found() || error.is_conflict() => {}
        Err(error) => return Err(error.into()),
    }
    ctx.memory.deleted(uid, *how);
    Ok(())
}

/// There may be something to claim: where the task itself may go, and where a place was given back.
fn wake_lanes(ctx: &Context, seen: &Seen) {
    let namespace = &seen.row.object.namespace;
    if let Some(agent) = &seen.agent {
        for runtime in Catalog::new(ctx.caches.clone()).runtimes_of(namespace, agent) {
            ctx.claim_in(
                namespace,
                runtime.metadata.name.as_deref().unwrap_or_default(),
            );
        }
    }
    if let Some(attempt) = seen.attempt() {
        ctx.claim_in(namespace, &attempt.runtime);
    }
}

/// Removes an object whose time to live is over; the store remembers, so that the same one is not run again.
async fn remove(ctx: &Context, seen: &Seen, now: Timestamp) -> Result<(), Error> {
    ctx.store.expire(seen.row.id, now).await?;
    let object = &seen.row.object;
    delete(
        ctx,
        (&object.namespace, &object.name),
        object.uid.as_deref(),
    )
    .await
}

/// Deletes an AgentTask. It may be gone already, or be another one by now.
pub(crate) async fn delete(
    ctx: &Context,
    (namespace, name): (&str, &str),
    uid: Option<&str>,
) -> Result<(), Error> {
    let target = Target {
        namespace,
        name,
        uid,
        grace_seconds: None,
    };
    match ctx
        .writes
        .delete::<AgentTask>(KubePoint::DeleteTask, &target)
        .await
    {
        Ok(()) => Ok(()),
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error.into()),
    }
}
