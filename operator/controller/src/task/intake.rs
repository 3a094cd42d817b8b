//! From an object to a row: an AgentTask is entered into the store by its UID before anything else happens.

use std::time::Duration;

use crds::{AgentTask, DesiredState, SessionPolicy};
use kube::ResourceExt as _;
use protocol::{Subject, limits};
use sha2::{Digest as _, Sha256};
use store::{NewTask, SessionKey, TaskObject};
use wake::{Directory, Person, Principal};

use super::failure::after;
use super::{apply, birth, prompt, status};
use crate::catalog::{Catalog, Standing, standing};
use crate::claimer::SAFETY_LOOK;
use crate::context::Context;
use crate::directory::Known;
use crate::error::Error;
use crate::patch;
use crate::watch::object_key;
use crate::work::Done;

/// One pass of an object: enters it, or finds out that it is gone, and asks for a pass of its task.
///
/// # Errors
/// [`Error::Store`], [`Error::Write`].
pub async fn pass(ctx: &Context, namespace: &str, name: &str, uid: &str) -> Result<Done, Error> {
    if let Some(task) = ctx.memory.task_of(uid) {
        ctx.look_at(task);
        return Ok(Done::Settled);
    }
    if let Some(task) = ctx.store.task_by_object(uid).await? {
        ctx.memory.know(uid, task);
        ctx.look_at(task);
        return Ok(Done::Settled);
    }
    let Some(object) = ctx
        .caches
        .tasks
        .get(namespace, name)
        .filter(|task| task.uid().as_deref() == Some(uid))
    else {
        return Ok(Done::Settled);
    };
    let Some(home) = ctx.caches.namespaces.get("", namespace) else {
        return Ok(Done::Settled);
    };
    if standing(&home) != Standing::Workspace || object.metadata.deletion_timestamp.is_some() {
        // A namespace that is no workspace is never touched, not even by a status.
        return Ok(Done::Settled);
    }
    if object.status.as_ref().is_some_and(status::shows_end) {
        // Only an operator writes that: the store is an older one, restored. What is over is not run again.
        tracing::warn!(%namespace, %name, "a task that the store does not know is over already; it is left alone");
        return Ok(Done::Settled);
    }
    if object.spec.cause.is_some() {
        return woken(ctx, &object, &home.uid().unwrap_or_default()).await;
    }
    if !may_ask(&Known::new(&ctx.caches, namespace), &object) {
        return not_allowed(ctx, &object).await;
    }
    let new = new_task(&object, &home.uid().unwrap_or_default(), ctx.clock.now());
    if let Some(earlier) = ctx.store.ran_before(&new.object).await? {
        let old = object.status.clone().unwrap_or_default();
        let wanted =
            status::already_ran(&old, object.metadata.generation, earlier, ctx.clock.now());
        if patch::status_patch(&old, &wanted).is_some() {
            apply::write_status(ctx, &object, &wanted).await?;
        }
        return Ok(Done::Settled);
    }
    if is_too_late(&new) {
        let old = object.status.clone().unwrap_or_default();
        let generation = object.metadata.generation;
        let wanted = status::start_too_late(&old, generation, ctx.clock.now());
        if patch::status_patch(&old, &wanted).is_some() {
            apply::write_status(ctx, &object, &wanted).await?;
        }
        return Ok(Done::Settled);
    }
    let prompt = match prompt::taken(ctx, &object).await? {
        Ok(prompt) => prompt,
        Err(why) => {
            let old = object.status.clone().unwrap_or_default();
            let generation = object.metadata.generation;
            let wanted = status::prompt_not_found(&old, generation, &why, ctx.clock.now());
            if patch::status_patch(&old, &wanted).is_some() {
                apply::write_status(ctx, &object, &wanted).await?;
            }
            return Ok(Done::LookAgain(prompt::LOOK_AGAIN));
        }
    };
    enter(ctx, &object, NewTask { prompt, ..new }).await
}

/// Whether a task is to begin later than the store remembers for.
fn is_too_late(new: &NewTask) -> bool {
    let days = u64::try_from(limits::DEFER_DAYS).unwrap_or(0);
    let latest = after(new.created_at, Duration::from_secs(days * 24 * 3600));
    new.fire_at.is_some_and(|at| at > latest)
}

/// Whether who asked for a task may wake its Agent. One that is not there yet is waited for, and asked then.
pub(super) fn may_ask(directory: &dyn Directory, object: &AgentTask) -> bool {
    let asked = object.spec.requested_by.as_ref();
    let by = match asked {
        Some(asked) => Principal::Person(Person {
            user: asked.user.clone(),
            groups: asked.groups.clone(),
        }),
        None => Principal::Mooring,
    };
    if directory.requires_originator() && !by.has_originator() {
        return false;
    }
    let agent = directory.agent(&object.spec.agent_ref.name);
    agent.is_none() || wake::may_wake(agent.as_ref(), &by)
}

async fn not_allowed(ctx: &Context, object: &AgentTask) -> Result<Done, Error> {
    let old = object.status.clone().unwrap_or_default();
    let user = object.spec.requested_by.as_ref().map(|by| by.user.as_str());
    let who = (object.spec.agent_ref.name.as_str(), user);
    let wanted = status::not_allowed(&old, object.metadata.generation, who, ctx.clock.now());
    if patch::status_patch(&old, &wanted).is_some() {
        apply::write_status(ctx, object, &wanted).await?;
    }
    Ok(Done::Settled)
}

/// Enters an object where the queue of its workspace has room.
async fn enter(ctx: &Context, object: &AgentTask, new: NewTask) -> Result<Done, Error> {
    let namespace = new.object.namespace.clone();
    let most = Catalog::new(ctx.caches.clone()).max_queued(&namespace);
    let mut is_known = true;
    let mut entered = ctx.store.enter_within(new.clone(), most).await;
    if let Err(store::Error::Full { .. }) = entered {
        // Remembered before it is tried again: who makes room in between would not know of it.
        is_known = ctx.memory.turn_away(&namespace, object_key(object));
        entered = ctx.store.enter_within(new, most).await;
    }
    match entered {
        Ok(entered) => {
            let uid = object.uid().unwrap_or_default();
            ctx.memory.know(&uid, entered.task);
            ctx.look_at(entered.task);
            Ok(Done::Settled)
        }
        Err(store::Error::Full { max }) => {
            let old = object.status.clone().unwrap_or_default();
            let generation = object.metadata.generation;
            let wanted = status::queue_full(&old, generation, max, ctx.clock.now());
            if patch::status_patch(&old, &wanted).is_some() {
                apply::write_status(ctx, object, &wanted).await?;
            }
            Ok(if is_known {
                Done::Settled
            } else {
                Done::LookAgain(SAFETY_LOOK)
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// One pass of an object with a cause: its task was born in the store, or it has none.
async fn woken(ctx: &Context, object: &AgentTask, namespace_uid: &str) -> Result<Done, Error> {
    if let Some(task) = birth::adopt(ctx, object, namespace_uid).await? {
        ctx.look_at(task);
        return Ok(Done::Settled);
    }
    let old = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation;
    let agent = &object.spec.agent_ref.name;
    let wanted = status::not_from_store(&old, generation, agent, ctx.clock.now());
    if patch::status_patch(&old, &wanted).is_some() {
        apply::write_status(ctx, object, &wanted).await?;
    }
    Ok(Done::Settled)
}

fn new_task(object: &AgentTask, namespace_uid: &str, now: jiff::Timestamp) -> NewTask {
    let spec = &object.spec;
    let created = object
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or(now, |time| time.0);
    NewTask {
        object: TaskObject {
            namespace: object.namespace().unwrap_or_default(),
            namespace_uid: namespace_uid.to_owned(),
            name: object.name_any(),
            uid: object.uid(),
            spec_hash: spec_hash(object),
        },
        session: SessionKey {
            namespace_uid: namespace_uid.to_owned(),
            agent: spec.agent_ref.name.clone(),
            subject: Subject {
                kind: spec.subject.kind.as_str().to_owned(),
                name: spec.subject.name.clone(),
            },
        },
        priority: spec.priority,
        policy: match spec.session.policy {
            SessionPolicy::Resume => protocol::SessionPolicy::Resume,
            SessionPolicy::Require => protocol::SessionPolicy::Require,
            SessionPolicy::Fresh => protocol::SessionPolicy::Fresh,
        },
        created_at: created,
        deadline_seconds: spec
            .deadline_seconds
            .and_then(|seconds| u32::try_from(seconds).ok()),
        suspended: spec.desired_state == DesiredState::Suspend,
        prompt: None,
        fire_at: spec
            .start_after
            .as_ref()
            .map(|time| time.0)
            .filter(|at| *at > now),
    }
}

/// The hash of what cannot change in a spec: by it the same task is known when it is created again.
fn spec_hash(object: &AgentTask) -> String {
    let spec = &object.spec;
    let mut fixed = serde_json::json!([
        spec.agent_ref.name,
        spec.subject.kind.as_str(),
        spec.subject.name,
        spec.prompt,
        spec.session,
        spec.deadline_seconds,
    ]);
    // Only where it is set: what was entered before there was such a thing keeps its hash.
    if let (Some(fixed), Some(from)) = (fixed.as_array_mut(), &spec.prompt_from) {
        fixed.push(serde_json::json!(from));
    }
    if let (Some(fixed), Some(at)) = (fixed.as_array_mut(), &spec.start_after) {
        fixed.push(serde_json::json!({"startAfter": at}));
    }
    hex::encode(Sha256::digest(fixed.to_string().as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wake::{Access, AgentFacts};

    use super::*;

    /// The Agent `mine`, which is ada's, and `open`.
    struct Agents {
        strict: bool,
    }

    impl Directory for Agents {
        fn agent(&self, name: &str) -> Option<AgentFacts> {
            let access = match name {
                "mine" => Some(Access {
                    owner: Some("ada".to_owned()),
                    groups: vec!["dev".to_owned()],
                    ..Access::default()
                }),
                "open" => None,
                _ => return None,
            };
            Some(AgentFacts {
                display_name: name.to_owned(),
                access,
            })
        }

        fn requires_originator(&self) -> bool {
            self.strict
        }
    }

    #[test]
    fn who_asks_with_kubectl_needs_the_agents_leave_as_well() {
        let task = |agent: &str, by: serde_json::Value| -> AgentTask {
            serde_json::from_value(json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask", "metadata": {"name": "a"},
                "spec": {
                    "agentRef": {"name": agent}, "subject": {"kind": "Key", "name": "x"}, "prompt": "p",
                    "requestedBy": by,
                },
            }))
            .unwrap()
        };
        let (nobody, ada) = (json!(null), json!({"user": "ada", "groups": []}));
        let (eve, dora) = (
            json!({"user": "eve", "groups": ["ops"]}),
            json!({"user": "dora", "groups": ["dev"]}),
        );
        for (agent, by, strict, wanted) in [
            ("open", &nobody, false, true),
            ("open", &nobody, true, false),
            ("open", &eve, true, true),
            ("mine", &nobody, false, false),
            ("mine", &eve, false, false),
            ("mine", &ada, false, true),
            ("mine", &dora, true, true),
            // It may come later.
            ("gone", &eve, false, true),
        ] {
            let task = task(agent, by.clone());
            assert_eq!(
                may_ask(&Agents { strict }, &task),
                wanted,
                "{agent} {by} {strict}"
            );
        }
    }
}
