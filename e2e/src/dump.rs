//! What was to be seen when a story failed, in a folder.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use crds::AgentTask;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{ListParams, LogParams};

use crate::cluster::run;
use crate::settings::checkout;
use crate::workspace::Workspace;
use crate::{objects, store};

const KINDS: &str = "runtimes,agents,agentquotas,agenttasks,agentsessions,pods,persistentvolumeclaims,networkpolicies,resourcequotas";

/// Writes everything and says where. A part that cannot be had is replaced by the reason: the test has failed already.
#[expect(
    clippy::print_stderr,
    reason = "whoever looks at a failed test needs the path"
)]
pub(crate) async fn write(workspace: &Workspace) {
    let folder = checkout().join("target/e2e").join(&workspace.namespace);
    if let Err(error) = write_all(workspace, &folder).await {
        eprintln!("some of what was to be seen could not be written: {error:#}");
    }
    eprintln!(
        "the namespace {} is left as it was; what was seen is in {}",
        workspace.namespace,
        folder.display()
    );
}

async fn write_all(workspace: &Workspace, folder: &Path) -> Result<()> {
    tokio::fs::create_dir_all(folder).await?;
    let put = async |name: &str, text: Result<String>| {
        let text = text.unwrap_or_else(|error| format!("{error:#}"));
        tokio::fs::write(folder.join(name), text).await
    };
    put(
        "objects.yaml",
        run(kubectl(workspace, &["get", KINDS, "--output=yaml"])).await,
    )
    .await?;
    put(
        "secrets.txt",
        run(kubectl(workspace, &["get", "secrets"])).await,
    )
    .await?;
    put(
        "events.txt",
        run(kubectl(
            workspace,
            &["get", "events", "--sort-by=.lastTimestamp"],
        ))
        .await,
    )
    .await?;
    put("operator.log", workspace.operator().log().await).await?;
    for pod in workspace.api::<Pod>().list(&ListParams::default()).await? {
        let log = workspace
            .api::<Pod>()
            .logs(&pod.name_any(), &LogParams::default())
            .await;
        put(
            &format!("pod-{}.log", pod.name_any()),
            log.map_err(Into::into),
        )
        .await?;
    }
    for task in workspace
        .api::<AgentTask>()
        .list(&ListParams::default())
        .await?
    {
        put(
            &format!("timeline-{}.txt", task.name_any()),
            timeline(workspace, &task).await,
        )
        .await?;
    }
    Ok(())
}

fn kubectl(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.cluster.kubectl();
    command
        .args(["--namespace", &workspace.namespace])
        .args(arguments);
    command
}

async fn timeline(workspace: &Workspace, task: &AgentTask) -> Result<String> {
    let id = store::task_id(&objects::text(task, "/status/taskId")?)?;
    let events = workspace.store().await?.timeline(id).await?;
    events
        .iter()
        .map(|stored| {
            let event = serde_json::to_string(&stored.event)?;
            Ok(format!(
                "{} attempt {}: {event}\n",
                stored.position, stored.attempt
            ))
        })
        .collect()
}
