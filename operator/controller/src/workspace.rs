//! Namespaces: when one becomes a workspace, loses its label, or is deleted.

use kube::ResourceExt as _;
use protocol::TaskId;

use crate::catalog::{Standing, standing};
use crate::context::{Context, Key};
use crate::error::Error;
use crate::schedule;
use crate::watch::object_key;
use crate::webhook;
use crate::work::Done;

/// Ids in one page.
const PAGE: u32 = 500;

/// One pass of a namespace: everything in it is looked at again.
///
/// # Errors
/// [`Error::Store`].
pub async fn pass(ctx: &Context, name: &str) -> Result<Done, Error> {
    let home = ctx.caches.namespaces.get("", name);
    if home
        .as_ref()
        .is_some_and(|home| standing(home) == Standing::Workspace)
    {
        for task in ctx.caches.tasks.in_namespace(name) {
            ctx.queue.add(object_key(&task));
        }
        for runtime in ctx.caches.runtimes.in_namespace(name) {
            ctx.queue.add(Key::Runtime {
                namespace: name.to_owned(),
                name: runtime.name_any(),
            });
        }
        for agent in ctx.caches.agents.in_namespace(name) {
            ctx.queue.add(Key::Agent {
                namespace: name.to_owned(),
                name: agent.name_any(),
            });
        }
        for team in ctx.caches.teams.in_namespace(name) {
            ctx.queue.add(Key::Team {
                namespace: name.to_owned(),
                name: team.name_any(),
            });
        }
    }
    schedule::look_at_all(ctx, name);
    webhook::look_at_all(ctx, name);
    match home.and_then(|home| home.uid()) {
        Some(uid) => open_tasks(ctx, &uid).await?,
        // It is gone, and its UID with it; what is open of it is among everything that is open.
        None => ctx.queue.add(Key::Resync),
    }
    Ok(Done::Settled)
}

async fn open_tasks(ctx: &Context, namespace_uid: &str) -> Result<(), Error> {
    let mut after: Option<TaskId> = None;
    loop {
        let page = ctx
            .store
            .open_of_namespace(namespace_uid, after, PAGE)
            .await?;
        page.iter().for_each(|task| ctx.look_at(*task));
        match page.last() {
            Some(last) => after = Some(*last),
            None => return Ok(()),
        }
    }
}

/// Looks at everything that is open in the store: at the start, and when changes were missed.
///
/// # Errors
/// [`Error::Store`].
pub async fn resync(ctx: &Context) -> Result<Done, Error> {
    ctx.queue.add(Key::Deliveries);
    let mut after: Option<TaskId> = None;
    loop {
        let page = ctx.store.open_tasks(after, PAGE).await?;
        page.iter().for_each(|task| ctx.look_at(*task));
        match page.last() {
            Some(last) => after = Some(*last),
            None => return Ok(Done::Settled),
        }
    }
}
