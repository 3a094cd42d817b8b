//! What a pass of a schedule sees.

use std::time::Duration;

use crds::AgentSchedule;
use jiff::Timestamp;
use kube::ResourceExt as _;
use store::{Fired, Firing, ScheduleRef, ScheduleRow, WorkspaceRef};
use wake::Directory as _;

use super::apply;
use super::decide;
use super::times::{Fault, Times};
use crate::context::Context;
use crate::directory::Known;
use crate::error::Error;
use crate::task::status;

/// What a rule is while its schedule is suspended: no expression is like it.
const SUSPENDED: &str = "suspended";

/// A schedule as it stands.
pub(super) struct Seen {
    pub(super) on: ScheduleRef,
    pub(super) facts: decide::Seen,
    /// Why it has no times.
    pub(super) fault: Option<Fault>,
    /// Whoever is to do it, where it is not there.
    pub(super) missing: Option<String>,
}

/// Looks. What was begun and is over is taken out of the store on the way, and what has no object yet gets it.
pub(super) async fn observe(
    ctx: &Context,
    schedule: &AgentSchedule,
    workspace: &WorkspaceRef,
    now: Timestamp,
) -> Result<Seen, Error> {
    let spec = &schedule.spec;
    let on = ScheduleRef {
        uid: schedule.uid().unwrap_or_default(),
        name: schedule.name_any(),
        workspace: workspace.clone(),
    };
    let (times, fault) = match Times::parse(&spec.schedule, &spec.time_zone) {
        Ok(times) => (Some(times), None),
        Err(fault) => (None, Some(fault)),
    };
    let rule = match spec.suspend {
        true => SUSPENDED.to_owned(),
        false => format!("{} {}", spec.schedule, spec.time_zone),
    };
    let row = ctx.store.schedule(&on.uid).await?;
    let row = match row {
        Some(row) => Some(going_on(ctx, schedule, &on, row).await?),
        None => None,
    };
    let missing = missing(ctx, schedule);
    let created = schedule.metadata.creation_timestamp.as_ref();
    let facts = decide::Seen {
        rule,
        times: times.filter(|_| !spec.suspend),
        row,
        created: created.map_or(now, |created| created.0),
        policy: spec.concurrency_policy,
        deadline: spec
            .starting_deadline_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(Duration::from_secs),
        can_begin: missing.is_none(),
    };
    Ok(Seen {
        on,
        facts,
        fault,
        missing,
    })
}

/// The row with those of its firings that really go on.
async fn going_on(
    ctx: &Context,
    schedule: &AgentSchedule,
    on: &ScheduleRef,
    mut row: ScheduleRow,
) -> Result<ScheduleRow, Error> {
    let mut going = Vec::new();
    for firing in row.going {
        if is_over(ctx, schedule, on, &firing).await? {
            ctx.store.end_firing(on, firing.at).await?;
        } else {
            going.push(firing);
        }
    }
    row.going = going;
    Ok(row)
}

async fn is_over(
    ctx: &Context,
    schedule: &AgentSchedule,
    on: &ScheduleRef,
    firing: &Firing,
) -> Result<bool, Error> {
    match &firing.what {
        Fired::Issue(issue, _) => Ok(ctx.store.open_tasks_of_issue(*issue).await?.is_empty()),
        Fired::Task { name, made: false } => {
            // What is to be run may have been taken out of the spec meanwhile.
            let Some(run) = &schedule.spec.run else {
                return Ok(true);
            };
            apply::make_task(ctx, on, run, (name, firing.at)).await?;
            ctx.store.fired_task_made(on, firing.at).await?;
            Ok(false)
        }
        Fired::Task { name, made: true } => {
            let object = ctx.caches.tasks.get(&on.workspace.namespace, name);
            Ok(object.is_none_or(|task| task.status.as_ref().is_some_and(status::shows_end)))
        }
    }
}

/// The agent that is to do it, where there is none.
fn missing(ctx: &Context, schedule: &AgentSchedule) -> Option<String> {
    let spec = &schedule.spec;
    let namespace = schedule.namespace().unwrap_or_default();
    let known = Known::new(&ctx.caches, &namespace);
    if let Some(run) = &spec.run {
        let name = &run.agent_ref.name;
        let facts = known.agent(name);
        // Its AgentTask would else be there for nothing, and hold back all times after it.
        let by = wake::Principal::Mooring;
        return if facts.is_none() {
            Some(format!("Agent {name}"))
        } else if known.requires_originator() || !wake::may_wake(facts.as_ref(), &by) {
            Some(format!("Agent {name} that a schedule may wake"))
        } else {
            None
        };
    }
    let assignee = spec.create_issue.as_ref()?.assignee.as_ref()?;
    known.missing(assignee)
}
