//! Making the objects of a claimed attempt.
//!
//! Each depends on the one before: policies, session, claim, Secret, pod. Every name is derived, so a pass that
//! follows a crash finds what was done.

use std::collections::BTreeSet;
use std::sync::Arc;

use crds::names::{claim_name, secret_name};
use crds::{Agent, AgentSession, AgentTask, Runtime, Skill, SubjectKind};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::ResourceExt as _;
use protocol::board::IssueKey;
use protocol::{FailureClass, Outcome};
use store::AttemptRow;

use super::build::{self, AttemptNames, Kin, PodParts, owner};
use super::observe::{Seen, is_pod_of};
use super::refusal;
use crate::catalog::Catalog;
use crate::context::Context;
use crate::error::Error;
use crate::events::Grade;
use crate::kube_writes::{KubePoint, Namespaced, WriteError};
use crate::{kube_reads, network};

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Brought {
    /// The pod is there.
    Up,
    /// Something has to go first; its going asks for another pass.
    Blocked,
    /// The attempt has failed.
    Failed(Outcome),
}

/// Why bringing up stops.
enum Stop {
    Blocked,
    Failed(Outcome),
    Error(Error),
}

impl From<WriteError> for Stop {
    fn from(error: WriteError) -> Self {
        match refusal::outcome(&error) {
            Some(outcome) => Self::Failed(outcome),
            None => Self::Error(error.into()),
        }
    }
}

impl From<store::Error> for Stop {
    fn from(error: store::Error) -> Self {
        Self::Error(error.into())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Brings the live attempt up.
///
/// # Errors
/// Those of reading and writing that another pass may not meet.
pub async fn bring_up(ctx: &Context, seen: &Seen, attempt: &AttemptRow) -> Result<Brought, Error> {
    match bring(ctx, seen, attempt).await {
        Ok(()) => Ok(Brought::Up),
        Err(Stop::Blocked) => Ok(Brought::Blocked),
        Err(Stop::Failed(outcome)) => Ok(Brought::Failed(outcome)),
        Err(Stop::Error(error)) => Err(error),
    }
}

async fn bring(ctx: &Context, seen: &Seen, attempt: &AttemptRow) -> Result<(), Stop> {
    let Some(task) = seen.object.get() else {
        return Err(Stop::Blocked);
    };
    let Some(runtime) = &seen.runtime else {
        let message = format!(
            "Runtime {} was deleted before the pod was made",
            attempt.runtime
        );
        return Err(Stop::Failed(Outcome::failed(
            FailureClass::ContainerConfigInvalid,
            message,
        )));
    };
    if let Some(pod) = &seen.pod {
        return in_the_way(ctx, seen, pod);
    }
    let kin = Kin {
        installation: ctx.settings.installation,
        namespace: seen.row.object.namespace.clone(),
        session: seen.session_name.clone(),
        agent: seen.row.agent.clone(),
    };
    network::ensure(ctx, runtime).await.map_err(Error::from)?;
    let session = session(ctx, seen, &kin, runtime).await?;
    let generation = claim(ctx, seen, &kin, &session).await?;
    let names = AttemptNames {
        attempt: attempt.id,
        secret: secret_name(&attempt.id.task.to_string(), attempt.id.number)
            .map_err(Error::from)?,
        claim: claim_name(&kin.session, generation),
    };
    secret(ctx, &kin, &names, task, attempt).await?;
    let Some(owner) = owner(session.as_ref()) else {
        return Err(Stop::Blocked);
    };
    let agent = Catalog::new(ctx.caches.clone()).agent(&kin.namespace, &kin.agent);
    let skills = skills_of(ctx, &kin, agent.as_deref());
    let git_secrets = git_secrets(ctx, seen).await?;
    let parts = PodParts {
        names: &names,
        runtime_name: &attempt.runtime,
        runtime: &runtime.spec,
        agent: agent.as_ref().map(|agent| &agent.spec),
        skills: &skills,
        git_secrets: &git_secrets,
        ids: session.spec.ids,
        owner,
        last_node: seen.session.last_node.as_deref(),
        install: &ctx.settings.install,
    };
    let pod = pod(ctx, seen, &build::pod(&kin, &parts), attempt).await?;
    ctx.store
        .record_pod(attempt.id, &pod.uid().unwrap_or_default(), None)
        .await?;
    Ok(())
}

/// With which Secrets the agent logs in to the repositories of its issue's project.
async fn git_secrets(ctx: &Context, seen: &Seen) -> Result<BTreeSet<String>, Stop> {
    let key = &seen.session.key;
    let issue: Option<IssueKey> = match SubjectKind::parse(&key.subject.kind) {
        Some(SubjectKind::Issue) => key.subject.name.parse().ok(),
        Some(SubjectKind::Key | SubjectKind::Chat | SubjectKind::QuickIssue) | None => None,
    };
    let Some(issue) = issue else {
        return Ok(BTreeSet::new());
    };
    let found = ctx
        .store
        .repositories_of_issue(&key.namespace_uid, issue.number);
    let secrets = found.await?.into_iter().filter_map(|each| each.credentials);
    Ok(secrets.collect())
}

/// The Skills of the agent as it is defined now. One that does not exist is missed by the runner, which can say so.
fn skills_of(ctx: &Context, kin: &Kin, agent: Option<&Agent>) -> Vec<Arc<Skill>> {
    let catalog = Catalog::new(ctx.caches.clone());
    agent.map_or_else(Vec::new, |agent| catalog.skills_of(&kin.namespace, agent))
}

/// Another attempt's pod, or a stranger, has the name: the fence. It has to go first.
fn in_the_way(ctx: &Context, seen: &Seen, pod: &Pod) -> Result<(), Stop> {
    let namespace = &seen.row.object.namespace;
    ctx.memory.block(namespace, &pod.name_any(), seen.row.id);
    Err(Stop::Blocked)
}

async fn session(
    ctx: &Context,
    seen: &Seen,
    kin: &Kin,
    runtime: &Runtime,
) -> Result<Arc<AgentSession>, Stop> {
    let subject = seen.subject();
    let found = match &seen.session_object {
        Some(found) => Arc::clone(found),
        None => {
            let wanted = build::session(kin, &subject, &runtime.spec);
            let created = ctx
                .writes
                .create(KubePoint::CreateSession, &kin.namespace, &wanted)
                .await;
            let session = match created {
                Ok(session) => session,
                Err(error) if error.is_already_exists() => {
                    read(ctx, &kin.namespace, kin.session.as_str()).await?
                }
                Err(error) => return Err(error.into()),
            };
            ctx.caches.sessions.observe(session)
        }
    };
    if found.metadata.deletion_timestamp.is_some() {
        return Err(Stop::Blocked);
    }
    if found.spec.agent_ref.name != kin.agent || found.spec.subject != subject {
        let message = format!(
            "AgentSession {} is of another agent or subject; it was not made by Mooring",
            kin.session
        );
        return Err(Stop::Failed(Outcome::failed(
            FailureClass::VolumeNotReady,
            message,
        )));
    }
    Ok(found)
}

/// The generation whose claim is there. A claim that was recorded and is gone makes a new generation: its
/// name is never used again, so that nothing can pass for the lost volume.
async fn claim(ctx: &Context, seen: &Seen, kin: &Kin, session: &AgentSession) -> Result<u32, Stop> {
    let known = &seen.session;
    if let Some(uid) = &known.claim_uid {
        let name = claim_name(&kin.session, known.claim_generation);
        if is_there(ctx, &kin.namespace, name.as_str(), uid).await? {
            // Recorded again for this attempt, as what its pod mounts.
            if seen
                .attempt()
                .is_some_and(|attempt| attempt.claim_uid.as_ref() != Some(uid))
            {
                ctx.store
                    .record_claim(known.id, known.claim_generation, uid)
                    .await?;
            }
            return Ok(known.claim_generation);
        }
        let note = format!(
            "Volume claim {name} of the session is gone; the task gets a new volume and is told."
        );
        if let Some(task) = seen.object.get() {
            ctx.events
                .record(task.as_ref(), Grade::Warning, "VolumeLost", note);
        }
    }
    let generation = ctx.store.next_generation(known.id).await?;
    let name = claim_name(&kin.session, generation);
    let wanted = build::claim(kin, &name, generation, &session.spec.volume);
    let claim: PersistentVolumeClaim = match ctx
        .writes
        .create(KubePoint::CreateClaim, &kin.namespace, &wanted)
        .await
    {
        Ok(claim) => claim,
        Err(error) if error.is_already_exists() => read(ctx, &kin.namespace, name.as_str()).await?,
        Err(error) => return Err(error.into()),
    };
    let claim = ctx.caches.claims.observe(claim);
    let uid = claim.uid().unwrap_or_default();
    ctx.store.record_claim(known.id, generation, &uid).await?;
    if claim.metadata.deletion_timestamp.is_some() {
        // Recorded, so that the next pass takes the next generation.
        return Err(Stop::Error(Error::Store(store::Error::Conflict {
            what: format!("volume claim {name} is being deleted"),
        })));
    }
    Ok(generation)
}

/// Whether the claim of this UID is there to stay. Before it is given up the apiserver is asked: a lost label
/// must not cost a conversation.
///
/// One whose deletion the watch has not told of yet is believed: to ask would cost each later turn a request, and what
/// is deleted between the answer and the pod would be believed all the same. Such a pod gets no node, so that its
/// attempt ends after `scheduleSeconds`, and the next turn has a new volume.
async fn is_there(ctx: &Context, namespace: &str, name: &str, uid: &str) -> Result<bool, Error> {
    let is_it = |claim: &PersistentVolumeClaim| {
        claim.uid().as_deref() == Some(uid) && claim.metadata.deletion_timestamp.is_none()
    };
    if ctx
        .caches
        .claims
        .get(namespace, name)
        .is_some_and(|claim| is_it(&claim))
    {
        return Ok(true);
    }
    let asked =
        kube_reads::get::<PersistentVolumeClaim>(&ctx.client, "a volume claim", namespace, name);
    Ok(asked.await?.is_some_and(|claim| is_it(&claim)))
}

async fn secret(
    ctx: &Context,
    kin: &Kin,
    names: &AttemptNames,
    task: &AgentTask,
    attempt: &AttemptRow,
) -> Result<(), Stop> {
    let Some(owner) = owner(task) else {
        return Err(Stop::Blocked);
    };
    let token = ctx.key.task_token(attempt.id, attempt.salt);
    let wanted = build::secret(kin, names, owner, &token, &ctx.settings.ca_pem);
    match ctx
        .writes
        .create(KubePoint::CreateSecret, &kin.namespace, &wanted)
        .await
    {
        Ok(_) => Ok(()),
        // The same bytes under the same name: made by an earlier pass.
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn pod(
    ctx: &Context,
    seen: &Seen,
    wanted: &Pod,
    attempt: &AttemptRow,
) -> Result<Arc<Pod>, Stop> {
    let namespace = &seen.row.object.namespace;
    match ctx
        .writes
        .create(KubePoint::CreatePod, namespace, wanted)
        .await
    {
        Ok(pod) => Ok(ctx.caches.pods.observe(pod)),
        Err(error) if error.is_already_exists() => {
            let there: Pod = read(ctx, namespace, &wanted.name_any()).await?;
            if is_pod_of(&there, attempt.id) {
                return Ok(ctx.caches.pods.observe(there));
            }
            in_the_way(ctx, seen, &there)?;
            Err(Stop::Blocked)
        }
        Err(error) => Err(error.into()),
    }
}

/// What is there under a name that was taken a moment ago.
async fn read<K: Namespaced>(ctx: &Context, namespace: &str, name: &str) -> Result<K, Error> {
    let what = "an object whose name was taken";
    kube_reads::get(&ctx.client, what, namespace, name)
        .await?
        .ok_or(Error::GoneAgain { what })
}
