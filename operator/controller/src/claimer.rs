//! Claiming: from a lane, a Runtime with the agents that may use it, to the attempts that now hold sessions.
//!
//! A lane is looked at when something could have changed for it: a task was queued, a place was given back,
//! an Agent, Runtime or namespace changed. There is a slow safety look beside that.

use std::time::Duration;

use crds::{Agent, Runtime};
use kube::ResourceExt as _;
use store::{Claimed, Lane, LaneAgent, Share};

use crate::catalog::{Catalog, is_enforced, is_usable};
use crate::context::{Context, Key, LaneKey};
use crate::error::Error;
use crate::work::Done;
use crate::{quota, turns};

/// The slow look, for what no signal told.
pub(crate) const SAFETY_LOOK: Duration = Duration::from_secs(90);
/// Claims of one pass; then others get their turn.
const CLAIMS: usize = 64;

/// The lane of a Runtime, with every agent that may use it; `None` when nothing may be claimed there.
#[must_use]
pub fn lane(ctx: &Context, runtime: &Runtime) -> Option<Lane> {
    let namespace = runtime.namespace()?;
    let catalog = Catalog::new(ctx.caches.clone());
    let namespace_uid = catalog.workspace_uid(&namespace)?;
    if !is_usable(runtime) {
        return None;
    }
    let agents = catalog.agents_of(&namespace, &runtime.name_any());
    Some(Lane {
        namespace_uid,
        runtime: runtime.name_any(),
        provider: runtime.spec.driver().to_owned(),
        max_pods: u32::try_from(runtime.spec.capacity.max_pods).unwrap_or(0),
        agents: (agents.iter())
            .filter(|agent| is_enforced(agent, runtime))
            .map(|agent| lane_agent(agent))
            .collect(),
        share: share(ctx, &namespace),
    })
}

/// What the workspace of a lane may have.
fn share(ctx: &Context, namespace: &str) -> Share {
    let found = Catalog::new(ctx.caches.clone()).quota(namespace);
    quota::share(found.as_deref(), ctx.settings.max_pods)
}

/// Whether the lanes of a namespace share something, with each other or with those of other workspaces.
pub(crate) fn is_shared(ctx: &Context, namespace: &str) -> bool {
    let Share {
        max_concurrent,
        runs_per_hour,
        max_pods,
        weight: _,
    } = share(ctx, namespace);
    max_concurrent.is_some() || runs_per_hour.is_some() || max_pods.is_some()
}

fn lane_agent(agent: &Agent) -> LaneAgent {
    let max_concurrent = u32::try_from(agent.spec.max_concurrent_tasks).unwrap_or(0);
    LaneAgent {
        name: agent.name_any(),
        max_concurrent,
    }
}

/// A lane with the agents whose tasks may go there now; `None` where there are none.
pub(crate) async fn lane_in_turn(ctx: &Context, key: &LaneKey) -> Result<Option<Lane>, Error> {
    let Some(runtime) = ctx.caches.runtimes.get(&key.namespace, &key.runtime) else {
        return Ok(None);
    };
    let Some(mut lane) = lane(ctx, &runtime) else {
        return Ok(None);
    };
    let everyone = std::mem::take(&mut lane.agents);
    for agent in everyone {
        if is_its_turn(ctx, key, &agent).await? {
            lane.agents.push(agent);
        }
    }
    Ok((!lane.agents.is_empty()).then_some(lane))
}

/// One pass of a lane: claims until there is nothing to claim. A lane that shares something asks for its turn.
///
/// # Errors
/// [`Error::Store`].
pub async fn pass(ctx: &Context, key: &LaneKey) -> Result<Done, Error> {
    if is_shared(ctx, &key.namespace) {
        turns::ask(ctx, key);
        return Ok(Done::Settled);
    }
    let Some(lane) = lane_in_turn(ctx, key).await? else {
        return Ok(Done::Settled);
    };
    for _ in 0..CLAIMS {
        let now = ctx.clock.now();
        let Some(claimed) = ctx.store.claim_next(&lane, &ctx.key, now).await? else {
            return Ok(if has_left(ctx, key, &lane).await? {
                Done::LookAgain(SAFETY_LOOK)
            } else {
                Done::Settled
            });
        };
        self::claimed(ctx, &claimed);
    }
    ctx.queue.add(Key::Lane(key.clone()));
    Ok(Done::Settled)
}

/// Something was claimed.
pub(crate) fn claimed(ctx: &Context, claimed: &Claimed) {
    tracing::debug!(attempt = %claimed.attempt, runtime = %claimed.runtime, "claimed");
    ctx.look_at(claimed.attempt.task);
}

/// There is nothing to claim in a lane: what found no room there may find some elsewhere. True when something waits
/// all the same, so that it has to be looked at again after [`SAFETY_LOOK`].
pub(crate) async fn has_left(ctx: &Context, key: &LaneKey, lane: &Lane) -> Result<bool, Error> {
    overflow(ctx, key, lane).await?;
    does_someone_wait(ctx, lane).await
}

/// Whether tasks wait that may go to this lane.
async fn does_someone_wait(ctx: &Context, lane: &Lane) -> Result<bool, Error> {
    for agent in &lane.agents {
        let waits = ctx.store.does_agent_wait(&lane.namespace_uid, &agent.name);
        if waits.await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an agent's tasks may go to this lane: the first of its Runtimes with room wins, so those before
/// this one must be unusable or full.
async fn is_its_turn(ctx: &Context, key: &LaneKey, agent: &LaneAgent) -> Result<bool, Error> {
    let catalog = Catalog::new(ctx.caches.clone());
    let Some(definition) = catalog.agent(&key.namespace, &agent.name) else {
        return Ok(false);
    };
    let earlier = catalog.runtimes_of(&key.namespace, &definition);
    let earlier = earlier
        .iter()
        .take_while(|runtime| runtime.name_any() != key.runtime);
    for runtime in earlier {
        let Some(lane) = lane(ctx, runtime) else {
            continue;
        };
        if !ctx.store.is_runtime_full(&lane).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What found no room here may find some in the next Runtime of its agent. Where neither has any there is nothing
/// to look for: two agents that name two Runtimes the other way round would have these ask each other for ever.
async fn overflow(ctx: &Context, key: &LaneKey, full: &Lane) -> Result<(), Error> {
    if !ctx.store.is_runtime_full(full).await? {
        return Ok(());
    }
    let catalog = Catalog::new(ctx.caches.clone());
    for agent in catalog.agents_of(&key.namespace, &key.runtime) {
        let runtimes = catalog.runtimes_of(&key.namespace, &agent);
        let next = runtimes
            .iter()
            .skip_while(|runtime| runtime.name_any() != key.runtime)
            .nth(1);
        let Some(next) = next else {
            continue;
        };
        if let Some(other) = lane(ctx, next)
            && !ctx.store.is_runtime_full(&other).await?
        {
            ctx.claim_in(&key.namespace, &next.name_any());
        }
    }
    Ok(())
}
