//! The operator is killed in the middle of a task's life: the task ends right, with one pod per attempt.

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use e2e::audit::{Entry, Mark};
use e2e::objects::{at, condition};
use e2e::script::Script;
use e2e::wait::{Record, USUAL};
use e2e::{Workspace, story, token};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt as _;

/// Fails unless the task succeeded in its first attempt, with one pod made for it.
async fn ended_right(workspace: &Workspace, task: &AgentTask, since: Mark) -> Result<()> {
    let done = workspace.finished(&task.name_any()).await?;
    assert_eq!(
        condition(&done, "Succeeded"),
        Some(("True".to_owned(), "Succeeded".to_owned()))
    );
    assert_eq!(at(&done, "/status/attempt"), 1, "it was tried again");
    let made = workspace
        .cluster
        .audit()
        .of_namespace(&workspace.namespace, since)?;
    let made: Vec<_> = made
        .iter()
        .filter(|entry| is_pod_made(entry))
        .map(Entry::shown)
        .collect();
    ensure!(
        made.len() == 1,
        "not one pod per attempt:\n{}",
        made.join("\n")
    );
    Ok(())
}

fn is_pod_made(entry: &Entry) -> bool {
    entry.is_done() && entry.verb == "create" && entry.resource() == "pods"
}

#[tokio::test]
async fn killed_between_the_secret_and_the_pod() -> Result<()> {
    story("killed", async |workspace| {
        workspace.prepare().await?;
        let since = workspace.cluster.audit().mark()?;
        let secrets: Record<Secret> = workspace.record().await?;
        let task = workspace
            .start("task", "killed", &Script::new().sleep(1000).answer("Done."))
            .await?;
        // The Secret comes before the pod; whether the pod is made before the blow falls is left to chance.
        token::secret_of(&secrets, &task.uid().context("an object has a UID")?).await?;
        workspace.operator().kill().await?;
        workspace.operator().ready().await?;
        ended_right(workspace, &task, since).await
    })
    .await
}

#[tokio::test]
async fn killed_when_the_turn_is_over() -> Result<()> {
    story("killed-end", async |workspace| {
        workspace.prepare().await?;
        let since = workspace.cluster.audit().mark()?;
        let secrets: Record<Secret> = workspace.record().await?;
        let pods: Record<Pod> = workspace.record().await?;
        let task = workspace.start("task", "killed", &Script::new().sleep(500).answer("Done.")).await?;
        let uid = task.uid().context("an object has a UID")?;
        // The first trace of the verdict, in the middle of clearing away: the Secret goes, or the pod does.
        tokio::select! {
            gone = secrets.first("the Secret goes", USUAL, |seen| seen.gone && token::is_owned_by(&seen.object, &uid)) => gone.map(drop)?,
            gone = pods.first("the pod goes", USUAL, |seen| seen.gone || seen.object.metadata.deletion_timestamp.is_some()) => gone.map(drop)?,
        }
        workspace.operator().kill().await?;
        workspace.operator().ready().await?;
        ended_right(workspace, &task, since).await?;
        pods.first("the pod is gone", USUAL, |seen| seen.gone).await?;
        Ok(())
    })
    .await
}
