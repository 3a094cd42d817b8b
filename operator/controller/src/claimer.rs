//! Claiming: from a lane, a Runtime with the agents that may use it, to the attempts that now hold sessions.
//!
//! A lane is looked at when something could have changed for it: a task was queued, a place was given back,
//! an Agent, Runtime or namespace changed. There is a slow safety look beside that.

use std::time::Duration;

use crds::{Agent, Runtime};
use kube::ResourceExt as _;
use store::{Lane, LaneAgent};

use crate::catalog::{Catalog, is_usable};
use crate::context::{Context, LaneKey};
use crate::error::Error;
use crate::work::Done;

/// The slow look, for what no signal told.
const SAFETY_LOOK: Duration = Duration::from_secs(90);
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
        provider: runtime.spec.provider.as_str().to_owned(),
        max_pods: u32::try_from(runtime.spec.capacity.max_pods).unwrap_or(0),
        agents: agents.iter().map(|agent| lane_agent(agent)).collect(),
    })
}

fn lane_agent(agent: &Agent) -> LaneAgent {
    let max_concurrent = u32::try_from(agent.spec.max_concurrent_tasks).unwrap_or(0);
    LaneAgent {
        name: agent.name_any(),
        max_concurrent,
    }
}

/// One pass of a lane: claims until there is nothing to claim.
///
/// # Errors
/// [`Error::Store`].
pub async fn pass(ctx: &Context, key: &LaneKey) -> Result<Done, Error> {
    let Some(runtime) = ctx.caches.runtimes.get(&key.namespace, &key.runtime) else {
        return Ok(Done::Settled);
    };
    let Some(mut lane) = lane(ctx, &runtime) else {
        return Ok(Done::Settled);
    };
    let everyone = std::mem::take(&mut lane.agents);
    for agent in everyone {
        if is_its_turn(ctx, key, &agent).await? {
            lane.agents.push(agent);
        }
    }
    if lane.agents.is_empty() {
        return Ok(Done::Settled);
    }
    for _ in 0..CLAIMS {
        let now = ctx.clock.now();
        let Some(claimed) = ctx.store.claim_next(&lane, &ctx.key, now).await? else {
            overflow(ctx, key);
            return Ok(if does_someone_wait(ctx, &lane).await? {
                Done::LookAgain(SAFETY_LOOK)
            } else {
                Done::Settled
            });
        };
        tracing::debug!(attempt = %claimed.attempt, runtime = %claimed.runtime, "claimed");
        ctx.look_at(claimed.attempt.task);
    }
    ctx.queue.add(crate::context::Key::Lane(key.clone()));
    Ok(Done::Settled)
}

/// Whether tasks wait that may go to this lane.
async fn does_someone_wait(ctx: &Context, lane: &Lane) -> Result<bool, Error> {
    for agent in &lane.agents {
        let first = ctx
            .store
            .waiting_of_agent(&lane.namespace_uid, &agent.name, None, 1);
        if !first.await?.is_empty() {
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

/// What found no room here may find some in the next Runtime of its agent.
fn overflow(ctx: &Context, key: &LaneKey) {
    let catalog = Catalog::new(ctx.caches.clone());
    for agent in catalog.agents_of(&key.namespace, &key.runtime) {
        let runtimes = catalog.runtimes_of(&key.namespace, &agent);
        let next = runtimes
            .iter()
            .skip_while(|runtime| runtime.name_any() != key.runtime)
            .nth(1);
        if let Some(next) = next {
            ctx.claim_in(&key.namespace, &next.name_any());
        }
    }
}
