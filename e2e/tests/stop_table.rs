//! Five cells of the table state × what stops it: each ends as it should, within one second plus the grace period.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use crds::{Agent, AgentTask};
use e2e::objects::{at, condition, text};
use e2e::script::Script;
use e2e::wait::{Record, USUAL};
use e2e::{Workspace, node, objects, store, story};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt as _;
use serde_json::json;

/// `graceSeconds` of the usual Runtime, and one second.
const LIMIT: Duration = Duration::from_secs(2 + 1);
/// From the kubelet's removal of a pod's last process to its object's end; the machine has two cores.
const REMOVAL: Duration = Duration::from_secs(2);

/// Long enough for a pod to start while others do.
const DEADLINE: Duration = Duration::from_secs(30);

fn long() -> Script {
    Script::new().sleep(120_000)
}

/// An agent that does not want to go, with a child that has left its process group.
fn stubborn() -> Script {
    Script::new()
        .background("sleep 300")
        .ignore_term()
        .sleep(120_000)
}

fn verdict(task: &AgentTask) -> Option<String> {
    condition(task, "Succeeded").map(|(_, reason)| reason)
}

/// Fails unless the task has no live token, and its Secret and pod are gone in time.
async fn nothing_is_left(
    workspace: &Workspace,
    watched: &(Record<Secret>, Record<Pod>),
    task: &AgentTask,
    stopped: Instant,
) -> Result<()> {
    let id = store::task_id(&text(task, "/status/taskId")?)?;
    assert_eq!(
        workspace.store().await?.tokens(id).await?,
        0,
        "its token lives"
    );
    let uid = task.uid().context("an object has a UID")?;
    let secret = watched
        .0
        .first("the Secret is gone", USUAL, |seen| {
            seen.gone && e2e::token::is_owned_by(&seen.object, &uid)
        })
        .await?;
    let label = Some(id.to_string());
    let of_task = |pod: &Pod| pod.labels().get(crds::labels::TASK_ID).cloned() == label;
    let pod = watched
        .1
        .first("the pod is gone", USUAL, |seen| {
            seen.gone && of_task(&seen.object)
        })
        .await?;
    for (what, gone, limit) in [
        ("Secret", secret.at, LIMIT),
        ("pod", pod.at, LIMIT + REMOVAL),
    ] {
        let took = gone.saturating_duration_since(stopped);
        ensure!(
            took <= limit,
            "{}: its {what} is gone after {took:?}",
            task.name_any()
        );
    }
    Ok(())
}

async fn records(workspace: &Workspace) -> Result<(Record<Secret>, Record<Pod>)> {
    Ok((workspace.record().await?, workspace.record().await?))
}

async fn queued_cancelled(workspace: &Workspace) -> Result<()> {
    let draft = objects::task("queued", "queued", &long()).set("/spec/agentRef/name", "full");
    workspace.create_object(&draft).await?;
    workspace
        .task("queued", "waits", USUAL, |task| {
            at(task, "/status/waiting/limit") == "Runtime"
        })
        .await?;
    let stopped = Instant::now();
    workspace
        .patch_task("queued", json!({"desiredState": "Cancel"}))
        .await?;
    let task = workspace.finished("queued").await?;
    ensure!(
        stopped.elapsed() <= Duration::from_secs(1),
        "took {:?}",
        stopped.elapsed()
    );
    assert_eq!(verdict(&task).as_deref(), Some("Cancelled"));
    assert_eq!(
        at(&task, "/status/podName"),
        serde_json::Value::Null,
        "it never had a pod"
    );
    Ok(())
}

/// A pod that no node takes stays in the state `claimed` for as long as we like.
async fn claimed_cancelled(workspace: &Workspace) -> Result<()> {
    let watched = records(workspace).await?;
    let draft = objects::task("claimed", "claimed", &long()).set("/spec/agentRef/name", "homeless");
    workspace.create_object(&draft).await?;
    watched
        .1
        .first("its pod", USUAL, |seen| {
            seen.object.name_any().starts_with("homeless-")
        })
        .await?;
    let stopped = Instant::now();
    workspace
        .patch_task("claimed", json!({"desiredState": "Cancel"}))
        .await?;
    let task = workspace.finished("claimed").await?;
    assert_eq!(verdict(&task).as_deref(), Some("Cancelled"));
    nothing_is_left(workspace, &watched, &task, stopped).await
}

async fn running_suspended(workspace: &Workspace) -> Result<()> {
    let watched = records(workspace).await?;
    workspace
        .start("suspended", "suspended", &stubborn())
        .await?;
    let running = workspace.running("suspended").await?;
    let pod = workspace.pod_of(&running).await?.uid().unwrap_or_default();
    let stopped = Instant::now();
    workspace
        .patch_task("suspended", json!({"desiredState": "Suspend"}))
        .await?;
    let task = workspace
        .task("suspended", "is put aside", USUAL, |task| {
            verdict(task).as_deref() == Some("Suspended")
        })
        .await?;
    ensure!(
        !objects::is_true(&task, "Finished"),
        "a task that is put aside is not over"
    );
    nothing_is_left(workspace, &watched, &task, stopped).await?;
    node::nothing_runs(&pod, Duration::from_secs(1)).await?;

    workspace
        .patch_task("suspended", json!({"desiredState": "Run"}))
        .await?;
    let again = workspace.task("suspended", "runs again", USUAL, |task| {
        at(task, "/status/attempt") == 2 && verdict(task).as_deref() == Some("Running")
    });
    again.await?;
    workspace
        .patch_task("suspended", json!({"desiredState": "Cancel"}))
        .await?;
    workspace.finished("suspended").await.map(drop)
}

async fn running_past_its_deadline(workspace: &Workspace) -> Result<()> {
    let watched = records(workspace).await?;
    let tasks: Record<AgentTask> = workspace.record().await?;
    let draft =
        objects::task("late", "late", &long()).set("/spec/deadlineSeconds", DEADLINE.as_secs());
    let created = workspace.create_object(&draft).await?;
    let deadline = Instant::now() + DEADLINE;
    workspace.running("late").await?;
    let over = tasks
        .first("it is over", USUAL, |seen| {
            seen.object.uid() == created.uid() && objects::is_true(&seen.object, "Finished")
        })
        .await?;
    // The creation time of an object has whole seconds, so the deadline may come up to one earlier.
    ensure!(
        over.at + Duration::from_secs(1) >= deadline,
        "it was ended before its deadline"
    );
    assert_eq!(verdict(&over.object).as_deref(), Some("DeadlineExceeded"));
    nothing_is_left(workspace, &watched, &over.object, deadline).await
}

async fn running_without_its_agent(workspace: &Workspace) -> Result<()> {
    let watched = records(workspace).await?;
    let of_agent =
        |name, subject| objects::task(name, subject, &long()).set("/spec/agentRef/name", "leaver");
    workspace
        .create_object(&of_agent("orphan", "orphan"))
        .await?;
    workspace.running("orphan").await?;
    // The Agent takes one task at a time, so this one waits, and goes on waiting.
    workspace.create_object(&of_agent("heir", "heir")).await?;
    workspace
        .task("heir", "waits", USUAL, |task| {
            at(task, "/status/waiting/limit") == "Agent"
        })
        .await?;
    let stopped = Instant::now();
    workspace.delete_object::<Agent>("leaver").await?;
    let task = workspace.finished("orphan").await?;
    assert_eq!(verdict(&task).as_deref(), Some("AgentDeleted"));
    nothing_is_left(workspace, &watched, &task, stopped).await?;
    workspace
        .task("heir", "waits for its Agent", USUAL, |task| {
            condition(task, "Accepted") == Some(("False".to_owned(), "AgentNotFound".to_owned()))
        })
        .await?;
    workspace
        .patch_task("heir", json!({"desiredState": "Cancel"}))
        .await?;
    workspace.finished("heir").await.map(drop)
}

#[tokio::test]
async fn every_stop_is_over_within_a_second_and_the_grace_period() -> Result<()> {
    story("stop", async |workspace| {
        workspace.prepare().await?;
        let image = &workspace.cluster.settings.images.agent_fake;
        let homeless =
            objects::runtime("homeless", image).set("/spec/pod/nodeSelector/nowhere", "true");
        workspace
            .prepare_with(&homeless, &objects::agent("homeless", "homeless"))
            .await?;
        let full = objects::runtime("full", image).set("/spec/capacity/maxPods", 0);
        workspace
            .prepare_with(&full, &objects::agent("full", "full"))
            .await?;
        let leaver = objects::agent("leaver", objects::RUNTIME).set("/spec/maxConcurrentTasks", 1);
        workspace.create_object::<Agent>(&leaver).await?;
        tokio::try_join!(
            queued_cancelled(workspace),
            claimed_cancelled(workspace),
            running_suspended(workspace),
            running_past_its_deadline(workspace),
            running_without_its_agent(workspace),
        )?;
        Ok(())
    })
    .await
}
