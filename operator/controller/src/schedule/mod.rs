//! Schedules: observe, decide, and begin each of their times once.
//!
//! The store takes a time in the transaction that makes its issue, or that remembers the name of its AgentTask;
//! that object is made afterwards, under a name that follows from schedule and time, by whichever pass finds it
//! missing. So a crash anywhere neither loses a time nor begins it twice.

mod apply;
pub mod decide;
mod observe;
mod status;
pub mod times;

use crds::AgentSchedule;
use kube::ResourceExt as _;
use store::{TaskRow, WorkspaceRef};

use crate::catalog::Catalog;
use crate::context::{Context, Key};
use crate::error::Error;
use crate::work::Done;

pub(crate) use apply::recipient;

/// Steps of one pass at most; a schedule that still wants more gets another pass.
const STEPS: usize = 8;

/// The key of a schedule.
#[must_use]
pub fn key(schedule: &AgentSchedule) -> Key {
    Key::Schedule {
        namespace: schedule.namespace().unwrap_or_default(),
        name: schedule.name_any(),
    }
}

/// One pass of a schedule.
///
/// # Errors
/// What could not be read or written; another pass starts from nothing.
pub async fn pass(ctx: &Context, namespace: &str, name: &str) -> Result<Done, Error> {
    let catalog = Catalog::new(ctx.caches.clone());
    let Some(namespace_uid) = catalog.workspace_uid(namespace) else {
        return Ok(Done::Settled);
    };
    if ctx.caches.schedules.is_unreadable(namespace, name) {
        return Ok(Done::Settled);
    }
    let Some(mut schedule) = ctx.caches.schedules.get(namespace, name) else {
        ctx.store.forget_schedule(&namespace_uid, name).await?;
        return Ok(Done::Settled);
    };
    if schedule.metadata.deletion_timestamp.is_some() {
        return Ok(Done::Settled);
    }
    let workspace = WorkspaceRef {
        namespace: namespace.to_owned(),
        namespace_uid,
    };
    let mut told = status::Told::default();
    for _ in 0..STEPS {
        let now = ctx.clock.now();
        let seen = observe::observe(ctx, &schedule, &workspace, now).await?;
        let Some(step) = decide::step(&seen.facts, now) else {
            if status::write(ctx, &schedule, &seen, &told, now).await? {
                // Only what the status names is heard of when it ends: it is seen once more, now that it is named.
                schedule = ctx
                    .caches
                    .schedules
                    .get(namespace, name)
                    .unwrap_or(schedule);
                continue;
            }
            return Ok(Done::LookAgain(decide::look_again(&seen.facts, now)));
        };
        match apply::step(ctx, &schedule, &seen, step, now).await? {
            apply::Next::Again => {}
            apply::Next::Missed(at) => told.missed = Some(at),
            apply::Next::Refused(why) => {
                told.refused = Some(why);
                status::write(ctx, &schedule, &seen, &told, now).await?;
                return Ok(Done::LookAgain(decide::look_again(&seen.facts, now)));
            }
        }
    }
    Ok(Done::LookAgain(std::time::Duration::from_millis(100)))
}

/// A task is over: the schedule that waits for it, if there is one, is looked at.
pub(crate) fn task_ended(ctx: &Context, row: &TaskRow, issue: Option<&str>) {
    for schedule in ctx.caches.schedules.in_namespace(&row.object.namespace) {
        let active = schedule.status.iter().flat_map(|status| &status.active);
        let mut of_task = active.filter(|one| match (&one.task, &one.issue) {
            (Some(task), _) => *task == row.object.name,
            (None, one) => one.as_deref().is_some_and(|key| Some(key) == issue),
        });
        if of_task.next().is_some() {
            ctx.queue.add(key(&schedule));
        }
    }
}

/// Every schedule of a namespace is looked at: somebody who could do its work came or went.
pub(crate) fn look_at_all(ctx: &Context, namespace: &str) {
    for schedule in ctx.caches.schedules.in_namespace(namespace) {
        ctx.queue.add(key(&schedule));
    }
}
