//! One story from start to end: a namespace, a time limit, the checker, and on failure all that was to be seen.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use crate::cluster::Cluster;
use crate::workspace::Workspace;
use crate::{checker, dump, install, settings};

/// No story of one test takes longer than this unless it says so.
const LIMIT: Duration = Duration::from_secs(120);

/// Tells a story in a namespace of its own. Without a cluster it says that it was skipped, except in CI.
///
/// # Errors
/// Whatever the story, or the checker after it, says.
pub fn story<'a>(
    name: &'a str,
    tell: impl AsyncFnOnce(&Workspace) -> Result<()> + 'a,
) -> LocalBoxFuture<'a, Result<()>> {
    story_within(LIMIT, name, tell)
}

/// As [`story`], with a limit of its own.
///
/// # Errors
/// As [`story`].
pub fn story_within<'a>(
    limit: Duration,
    name: &'a str,
    tell: impl AsyncFnOnce(&Workspace) -> Result<()> + 'a,
) -> LocalBoxFuture<'a, Result<()>> {
    Box::pin(told(limit, name, tell))
}

async fn told(
    limit: Duration,
    name: &str,
    tell: impl AsyncFnOnce(&Workspace) -> Result<()>,
) -> Result<()> {
    let Some(cluster) = Box::pin(connect()).await? else {
        return Ok(());
    };
    Box::pin(install::ensure(&cluster)).await?;
    let workspace = Workspace::create(&cluster, name).await?;
    // A failed assertion is a panic; what it was about must be seen before the namespace could go.
    let told = AssertUnwindSafe(Box::pin(tell_and_check(limit, &workspace, tell)))
        .catch_unwind()
        .await;
    if !matches!(told, Ok(Ok(()))) {
        dump::write(&workspace).await;
    }
    match told {
        Ok(Ok(())) => workspace.delete().await,
        Ok(Err(error)) => Err(error),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Tells what the apiserver alone does: with the custom resources, in a namespace that the operator leaves alone.
///
/// # Errors
/// Whatever the story says.
pub async fn on_apiserver(
    name: &str,
    tell: impl AsyncFnOnce(&Workspace) -> Result<()>,
) -> Result<()> {
    let Some(cluster) = connect().await? else {
        return Ok(());
    };
    install::crds(&cluster).await?;
    let workspace = Workspace::untouched(&cluster, name).await?;
    match tokio::time::timeout(LIMIT, Box::pin(tell(&workspace))).await {
        Ok(told) => told?,
        Err(_) => bail!("the story was not over within {LIMIT:?}"),
    }
    workspace.delete().await
}

async fn tell_and_check(
    limit: Duration,
    workspace: &Workspace,
    tell: impl AsyncFnOnce(&Workspace) -> Result<()>,
) -> Result<()> {
    match tokio::time::timeout(limit, tell(workspace)).await {
        Ok(told) => told?,
        Err(_) => bail!("the story was not over within {limit:?}"),
    }
    checker::is_silent(&workspace.cluster)
        .await
        .context("after the story")
}

/// The cluster, or why there is none.
///
/// # Errors
/// In CI, when there is none.
#[expect(
    clippy::print_stderr,
    reason = "a test that was skipped says so where people look"
)]
async fn connect() -> Result<Option<Cluster>> {
    match Cluster::connect().await {
        Ok(cluster) => Ok(Some(cluster)),
        Err(error) if settings::is_ci() => Err(error),
        Err(error) => {
            eprintln!("skipped: {error:#}");
            Ok(None)
        }
    }
}
