//! A task that was born in the store gets its AgentTask.
//!
//! Its row came first, in one transaction with what woke the agent. The object is made afterwards under the
//! name that the row was born with, carries the row's id as a label, and is then bound to the row by its UID.
//! A crash between the two leaves an object that names a row without one: whoever sees it next binds it.

use crds::{AgentTask, labels};
use kube::ResourceExt as _;
use protocol::{Outcome, TaskId};
use store::TaskRow;

use super::build::{self, Kin};
use super::observe::Seen;
use super::refusal;
use crate::context::Context;
use crate::error::Error;
use crate::kube_reads;
use crate::kube_writes::KubePoint;

/// Whether an object was made for this row: it has the row's place, and names it.
#[must_use]
pub fn is_made_for(object: &AgentTask, row: &TaskRow) -> bool {
    object.namespace().as_deref() == Some(&row.object.namespace)
        && object.name_any() == row.object.name
        && object.spec.cause.is_some()
        && named_task(object) == Some(row.id)
}

/// The task that an object's label names.
#[must_use]
pub fn named_task(object: &AgentTask) -> Option<TaskId> {
    object.labels().get(labels::TASK_ID)?.parse().ok()
}

/// Makes the object and binds it; the outcome where the cluster will never take it.
///
/// # Errors
/// [`Error::NameTaken`] when somebody else has the name; those of reading and writing.
pub async fn make(ctx: &Context, seen: &Seen) -> Result<Option<Outcome>, Error> {
    let row = &seen.row;
    let Some(cause) = &seen.cause else {
        return Err(Error::NoCause { task: row.id });
    };
    let kin = Kin {
        installation: ctx.settings.installation,
        namespace: row.object.namespace.clone(),
        session: seen.session_name.clone(),
        agent: row.agent.clone(),
    };
    let wanted = build::task(&kin, row, seen.subject(), cause);
    let namespace = &row.object.namespace;
    let made = match ctx
        .writes
        .create(KubePoint::CreateTask, namespace, &wanted)
        .await
    {
        Ok(made) => made,
        Err(error) if error.is_already_exists() => {
            let what = "an AgentTask whose name was taken";
            let name = &row.object.name;
            let there: AgentTask = kube_reads::get(&ctx.client, what, namespace, name)
                .await?
                .ok_or(Error::GoneAgain { what })?;
            if !is_made_for(&there, row) {
                return Err(Error::NameTaken {
                    namespace: namespace.clone(),
                    name: name.clone(),
                });
            }
            there
        }
        Err(error) => {
            return match refusal::outcome(&error) {
                Some(outcome) => Ok(Some(outcome)),
                None => Err(error.into()),
            };
        }
    };
    let made = ctx.caches.tasks.observe(made);
    bind(ctx, row.id, &made).await?;
    Ok(None)
}

/// Tells the store which object a task has.
///
/// # Errors
/// [`Error::Store`], also when it has another one.
pub async fn bind(ctx: &Context, task: TaskId, object: &AgentTask) -> Result<(), Error> {
    let uid = object.uid().unwrap_or_default();
    ctx.store.bind_object(task, &uid).await?;
    ctx.memory.know(&uid, task);
    Ok(())
}

/// The task that an object with a cause was made for, once it is bound to it; `None` for an object that Mooring
/// did not make.
///
/// # Errors
/// [`Error::Store`].
pub async fn adopt(
    ctx: &Context,
    object: &AgentTask,
    namespace_uid: &str,
) -> Result<Option<TaskId>, Error> {
    let Some(task) = named_task(object) else {
        return Ok(None);
    };
    let row = ctx.store.task(task).await?;
    let Some(row) =
        row.filter(|row| row.object.namespace_uid == namespace_uid && is_made_for(object, row))
    else {
        return Ok(None);
    };
    match &row.object.uid {
        None => bind(ctx, task, object).await?,
        Some(uid) if object.uid().as_ref() == Some(uid) => {}
        // It had an object, which is gone: this is a copy that somebody made.
        Some(_) => return Ok(None),
    }
    Ok(Some(task))
}
