//! Agents: their `Ready`, the end of their runs when they are deleted, and who waits for them.

use crds::conditions::{self as merge, Status, Wanted};
use crds::{Agent, AgentStatus, READY, agent_reason as reason, labels};
use jiff::Timestamp;
use kube::ResourceExt as _;
use protocol::TaskId;

use crate::catalog::{Catalog, can_run, is_usable, not_enforced};
use crate::context::Context;
use crate::error::Error;
use crate::kube_writes::KubePoint;
use crate::patch;
use crate::work::Done;

mod servers;

/// Ids in one page.
const PAGE: u32 = 500;

/// One pass of an Agent.
///
/// # Errors
/// [`Error::Store`], [`Error::Write`].
pub async fn pass(ctx: &Context, namespace: &str, name: &str) -> Result<Done, Error> {
    let catalog = Catalog::new(ctx.caches.clone());
    let agent = ctx.caches.agents.get(namespace, name);
    if let Some(agent) = &agent {
        for runtime in catalog.runtimes_of(namespace, agent) {
            ctx.claim_in(namespace, &runtime.name_any());
        }
    }
    if let Some(home) = ctx.caches.namespaces.get("", namespace) {
        look_at_tasks(ctx, &home.uid().unwrap_or_default(), name).await?;
    }
    let Some(agent) = agent else {
        return Ok(Done::Settled);
    };
    if catalog.workspace_uid(namespace).is_none() || agent.metadata.deletion_timestamp.is_some() {
        return Ok(Done::Settled);
    }
    let old = agent.status.clone().unwrap_or_default();
    let new = status(&catalog, &agent, &old, ctx.clock.now());
    if let Some(patch) = patch::status_patch(&old, &new) {
        let manager = labels::AGENT_MANAGER;
        let written = ctx
            .writes
            .patch_status::<Agent>(KubePoint::AgentStatus, manager, &agent.metadata, patch)
            .await;
        match written {
            Ok(written) => {
                ctx.caches.agents.observe(written);
            }
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Done::Settled)
}

/// Its runs end when it is gone; what waits for it says so.
async fn look_at_tasks(ctx: &Context, namespace_uid: &str, agent: &str) -> Result<(), Error> {
    let mut after: Option<TaskId> = None;
    loop {
        let page = ctx
            .store
            .active_of_agent(namespace_uid, agent, after, PAGE)
            .await?;
        page.iter().for_each(|task| ctx.look_at(*task));
        match page.last() {
            Some(last) => after = Some(*last),
            None => break,
        }
    }
    after = None;
    loop {
        let page = ctx
            .store
            .waiting_of_agent(namespace_uid, agent, after, PAGE)
            .await?;
        page.iter().for_each(|task| ctx.look_at(*task));
        match page.last() {
            Some(last) => after = Some(*last),
            None => return Ok(()),
        }
    }
}

fn status(catalog: &Catalog, agent: &Agent, old: &AgentStatus, now: Timestamp) -> AgentStatus {
    let generation = agent.metadata.generation;
    let conditions = merge::merge(
        &old.conditions,
        vec![ready(catalog, agent)],
        generation,
        now,
    );
    AgentStatus {
        observed_generation: generation,
        conditions,
    }
}

fn ready(catalog: &Catalog, agent: &Agent) -> Wanted {
    let want = |status, reason, message| Wanted {
        kind: READY,
        status,
        reason,
        message,
    };
    let namespace = agent.namespace().unwrap_or_default();
    let runtimes = catalog.runtimes_of(&namespace, agent);
    let names: Vec<_> = agent
        .spec
        .runtime_refs
        .iter()
        .map(|reference| reference.name.as_str())
        .collect();
    if runtimes.is_empty() {
        let message = format!(
            "None of its Runtimes exists: {}. Create one, or correct runtimeRefs.",
            names.join(", ")
        );
        return want(Status::False, reason::RUNTIME_NOT_FOUND, message);
    }
    let skills = agent.spec.skills.iter().map(|named| named.name.as_str());
    let missing: Vec<_> = skills
        .filter(|name| catalog.skill(&namespace, name).is_none())
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "Skills that it names do not exist: {}. Create them, or correct skills; until then its tasks fail.",
            missing.join(", ")
        );
        return want(Status::False, reason::SKILL_NOT_FOUND, message);
    }
    if let Some(message) = servers::not_taken(&agent.spec, &runtimes) {
        return want(Status::False, reason::MCP_NOT_SUPPORTED, message);
    }
    if runtimes.iter().any(|runtime| can_run(agent, runtime)) {
        return want(Status::True, reason::READY, String::new());
    }
    let loose: Vec<_> = runtimes
        .iter()
        .filter(|runtime| is_usable(runtime))
        .filter_map(|runtime| {
            let lacks = not_enforced(agent, runtime);
            let (name, provider) = (runtime.name_any(), runtime.spec.driver());
            (!lacks.is_empty())
                .then(|| format!("{name} ({provider}) not to {}", lacks.join(", not to ")))
        })
        .collect();
    if !loose.is_empty() {
        let message = format!(
            "It says which tools it may use, and the coding agent of none of its ready Runtimes can be held to that: {}. \
             Take that out of its tools, or choose another Runtime; its tasks wait until then.",
            loose.join("; ")
        );
        return want(Status::False, reason::TOOLS_NOT_ENFORCED, message);
    }
    let message = format!(
        "None of its Runtimes is ready: {}. Their own conditions say why.",
        names.join(", ")
    );
    want(Status::False, reason::RUNTIME_NOT_READY, message)
}
