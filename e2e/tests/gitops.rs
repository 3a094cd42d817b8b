//! Definitions that are kept in Git: what the operator adds to an object is never drift, before, during or after a run.

use anyhow::{Result, ensure};
use crds::{Agent, AgentTask, Runtime};
use e2e::cluster::run;
use e2e::script::Script;
use e2e::{Workspace, objects, story};

const TASK: &str = "from-git";

#[tokio::test]
async fn what_was_applied_shows_no_drift_after_its_run() -> Result<()> {
    for way in ["--server-side=false", "--server-side=true"] {
        story("gitops", async |workspace| {
            let (runtime, agent) = workspace.usual();
            let task = objects::task(TASK, "words", &Script::new().answer("Done."));
            let documents = [runtime.value(), agent.value(), task.value()];
            let documents: Vec<String> = documents.iter().map(ToString::to_string).collect();
            let file = workspace.file("git.yaml", &documents.join("\n---\n"))?;

            kubectl(workspace, &["apply", way, "--filename", &file]).await?;
            workspace.finished(TASK).await?;
            kubectl(workspace, &["diff", way, "--filename", &file]).await?;

            let before = generations(workspace).await?;
            let said = kubectl(workspace, &["apply", way, "--filename", &file]).await?;
            ensure!(
                !said.contains("configured"),
                "applying again changed something: {said}"
            );
            assert_eq!(generations(workspace).await?, before);
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// A generation rises when a spec changes, and only then.
async fn generations(workspace: &Workspace) -> Result<[Option<i64>; 3]> {
    let runtime = workspace.api::<Runtime>().get(objects::RUNTIME).await?;
    let agent = workspace.api::<Agent>().get(objects::AGENT).await?;
    let task = workspace.api::<AgentTask>().get(TASK).await?;
    Ok([
        runtime.metadata.generation,
        agent.metadata.generation,
        task.metadata.generation,
    ])
}

/// kubectl, which ends with an error when `diff` finds something.
async fn kubectl(workspace: &Workspace, arguments: &[&str]) -> Result<String> {
    let mut kubectl = workspace.kubectl();
    kubectl.args(arguments);
    run(kubectl).await
}
