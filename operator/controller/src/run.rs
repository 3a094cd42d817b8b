//! Starts the watches and the workers, and stops them in order.

use std::time::Duration;

use store::Change;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::context::{Context, Key};
use crate::error::{Error, Retry};
use crate::work::Done;
use crate::{
    agent, claimer, quota, runtime, schedule, task, team, turns, watch, webhook, workspace,
};

/// Passes at the same time. More of them make a small control plane slower, not faster.
const WORKERS: usize = 12;
/// How often it is looked whether keys were dropped for lack of room, and whether the store is still there.
const HOUSEKEEPING: Duration = Duration::from_secs(5);

/// Runs until `shutdown`; a pass that has begun is finished, no other begins.
///
/// The caller is the leader: with SQLite because it has the store open.
///
/// # Errors
/// When a watch or a worker ends without being asked to.
pub async fn run(ctx: Context, shutdown: CancellationToken) -> Result<(), RunError> {
    let mut watches = watch::start(&ctx);
    // Heard from before the first look, so that nothing falls between the two.
    let changes = ctx.store.changes();
    tokio::select! {
        () = ctx.caches.ready() => {}
        () = shutdown.cancelled() => return Ok(()),
        ended = watches.join_next() => return Err(RunError::ended("a watch", ended)),
    }
    tracing::info!("everything is listed; passes begin");
    ctx.queue.add(Key::Resync);
    let mut others = JoinSet::new();
    others.spawn(follow_store(ctx.clone(), changes));
    others.spawn(housekeeping(ctx.clone()));
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        workers.spawn(work(ctx.clone(), shutdown.clone()));
    }
    let result = tokio::select! {
        // In this order: workers end because of the shutdown.
        biased;
        () = shutdown.cancelled() => Ok(()),
        ended = watches.join_next() => Err(RunError::ended("a watch", ended)),
        ended = others.join_next() => Err(RunError::ended("a listener", ended)),
        ended = workers.join_next() => Err(RunError::ended("a worker", ended)),
    };
    shutdown.cancel();
    while workers.join_next().await.is_some() {}
    if result.is_ok() {
        tracing::info!("the last pass is over");
    }
    result
}

/// Something ended that should not.
#[derive(Debug, thiserror::Error)]
#[error("{what} ended")]
pub struct RunError {
    what: &'static str,
    #[source]
    cause: Option<tokio::task::JoinError>,
}

impl RunError {
    fn ended(what: &'static str, how: Option<Result<(), tokio::task::JoinError>>) -> Self {
        Self {
            what,
            cause: how.and_then(Result::err),
        }
    }
}

async fn follow_store(ctx: Context, mut changes: store::Changes) {
    while let Some(change) = changes.next().await {
        match change {
            Change::Task(task) => ctx.look_at(task),
            Change::Deliveries => ctx.queue.add(Key::Deliveries),
            Change::Resync => ctx.queue.add(Key::Resync),
        }
    }
}

async fn housekeeping(ctx: Context) {
    loop {
        tokio::time::sleep(HOUSEKEEPING).await;
        if let Err(error @ store::Error::Lost { .. }) = ctx.store.check().await {
            ctx.read_only.set(error.to_string());
        }
        if ctx.queue.take_overflow() {
            tracing::warn!("more keys than the queue holds; everything is looked at again");
            ctx.queue.add(Key::Resync);
            for task in ctx.caches.tasks.all() {
                ctx.queue.add(watch::object_key(&task));
            }
        }
    }
}

async fn work(ctx: Context, shutdown: CancellationToken) {
    loop {
        let key = tokio::select! {
            () = shutdown.cancelled() => return,
            key = ctx.queue.next() => key,
        };
        // In its own task: a pass that panics is a bug, but not the end of all passes. In a set, so that it
        // ends with its worker.
        let mut pass = JoinSet::new();
        pass.spawn({
            let (ctx, key) = (ctx.clone(), key.clone());
            async move { look(&ctx, &key).await }
        });
        let done = match pass.join_next().await {
            Some(Ok(done)) => done,
            Some(Err(error)) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(?key, error, "a pass did not end");
                Done::Failed
            }
            None => Done::Failed,
        };
        ctx.queue.done(&key, done);
    }
}

/// One pass of a key.
async fn look(ctx: &Context, key: &Key) -> Done {
    if ctx.read_only.why().is_some() {
        return Done::Settled;
    }
    if let Err(error) = ctx.store.check().await {
        return failed(ctx, key, &error.into());
    }
    let done = match key {
        Key::Object {
            namespace,
            name,
            uid,
        } => task::intake::pass(ctx, namespace, name, uid).await,
        Key::Task(task) => task::pass(ctx, *task).await,
        Key::Lane(lane) => claimer::pass(ctx, lane).await,
        Key::Runtime { namespace, name } => runtime::pass(ctx, namespace, name).await,
        Key::Agent { namespace, name } => agent::pass(ctx, namespace, name).await,
        Key::Team { namespace, name } => team::pass(ctx, namespace, name).await,
        Key::Turns => turns::pass(ctx).await,
        Key::Quota(namespace) => quota::pass(ctx, namespace).await,
        Key::Schedule { namespace, name } => schedule::pass(ctx, namespace, name).await,
        Key::Webhook { namespace, name } => webhook::pass(ctx, namespace, name).await,
        Key::Deliveries => webhook::deliver(ctx).await,
        Key::Namespace(name) => workspace::pass(ctx, name).await,
        Key::Resync => workspace::resync(ctx).await,
    };
    done.unwrap_or_else(|error| failed(ctx, key, &error))
}

fn failed(ctx: &Context, key: &Key, error: &Error) -> Done {
    if let Error::Store(store::Error::Lost { .. }) = error {
        ctx.read_only.set(error.to_string());
        return Done::Settled;
    }
    let shown: &dyn std::error::Error = error;
    tracing::warn!(
        ?key,
        reason = error.reason(),
        error = shown,
        "a pass failed"
    );
    match error.retry() {
        Retry::Never | Retry::WhenChanged => Done::Settled,
        Retry::WithBackoff => Done::Failed,
    }
}
