//! Applying, diffing and waiting, as people and their tools do it.

use anyhow::{Context as _, Result, ensure};
use crds::{AgentTask, Runtime};
use e2e::cluster::run;
use e2e::{Workspace, on_apiserver, wait};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;

const EXAMPLES: &str = include_str!("data/examples.yaml");
/// More than many a tool allows, less than what client-side apply can keep in its annotation.
const LONG_PROMPT: usize = 40_000;

#[tokio::test]
async fn server_side_apply_shows_no_drift() -> Result<()> {
    on_apiserver("ssa", async |workspace| {
        let file = workspace.file("ssa.yaml", EXAMPLES)?;
        let apply = ["apply", "--server-side", "--filename", &file];
        kubectl(workspace, &apply).await?;
        let before = versions(workspace).await?;
        kubectl(workspace, &apply).await?;
        assert_eq!(
            versions(workspace).await?,
            before,
            "applying twice wrote twice"
        );
        kubectl(workspace, &["diff", "--server-side", "--filename", &file]).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn client_side_apply_of_a_long_prompt_shows_no_drift() -> Result<()> {
    on_apiserver("csa", async |workspace| {
        let prompt = "Größe! ".repeat(LONG_PROMPT / "Größe! ".len());
        let examples = EXAMPLES.replace("Say hello.", &prompt);
        ensure!(
            examples.len() > LONG_PROMPT,
            "the prompt is not in the file"
        );
        let file = workspace.file("csa.yaml", &examples)?;
        kubectl(workspace, &["apply", "--filename", &file]).await?;
        let before = versions(workspace).await?;
        kubectl(workspace, &["apply", "--filename", &file]).await?;
        assert_eq!(
            versions(workspace).await?,
            before,
            "applying twice wrote twice"
        );
        kubectl(workspace, &["diff", "--filename", &file]).await?;
        let task: AgentTask = workspace.api().get("hello").await?;
        assert_eq!(task.spec.prompt.as_deref(), Some(prompt.trim_end()));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_diff_shows_a_change_and_only_that() -> Result<()> {
    on_apiserver("diff", async |workspace| {
        let file = workspace.file("diff.yaml", EXAMPLES)?;
        kubectl(workspace, &["apply", "--filename", &file]).await?;
        let file = workspace.file(
            "diff.yaml",
            &EXAMPLES.replace("size: 1Gi}\n  timeouts", "size: 2Gi}\n  timeouts"),
        )?;
        let mut diff = workspace.kubectl();
        diff.args(["diff", "--filename", &file]);
        let output = tokio::process::Command::from(diff).output().await?;
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stdout)?;
        let changed: Vec<&str> = said
            .lines()
            .filter(|line| {
                line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
            })
            .filter(|line| !line.contains("generation:"))
            .collect();
        assert_eq!(changed, ["-    size: 1Gi", "+    size: 2Gi"], "{said}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn defaults_are_those_of_the_types() -> Result<()> {
    on_apiserver("defaults", async |workspace| {
        let file = workspace.file("defaults.yaml", EXAMPLES)?;
        kubectl(workspace, &["apply", "--filename", &file]).await?;
        let runtime: Runtime = workspace.api().get("claude").await?;
        // What the apiserver has filled in is what serde would fill in: nothing but what was typed is left to compare.
        let typed: serde_yaml::Value = serde_yaml::from_str(EXAMPLES.split("---").next().context("a document")?)?;
        let local: Runtime = serde_yaml::from_value(typed)?;
        assert_eq!(runtime.spec, local.spec);
        let mut stored = serde_json::to_value(workspace.api::<AgentTask>().get("hello").await?)?;
        // What Mooring's policy adds where it is installed is no default.
        if let Some(spec) = stored["spec"].as_object_mut() {
            spec.remove("requestedBy");
        }
        assert_eq!(
            stored["spec"],
            json!({
                "agentRef": {"name": "reviewer"}, "subject": {"kind": "Key", "name": "hello"}, "prompt": "Say hello.",
                "session": {"policy": "Resume"}, "priority": 0, "desiredState": "Run",
            })
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_misspelt_field_is_refused() -> Result<()> {
    on_apiserver("strict", async |workspace| {
        let file = workspace.file(
            "strict.yaml",
            &EXAMPLES.replace("desiredState:", "desiredstate:"),
        )?;
        let refused = kubectl(workspace, &["apply", "--server-side", "--filename", &file]).await;
        let said = format!("{:#}", refused.err().context("it was accepted")?);
        ensure!(
            said.contains(".spec.desiredstate: field not declared in schema"),
            "{said}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn kubectl_waits_for_the_end_of_a_task() -> Result<()> {
    on_apiserver("wait", async |workspace| {
        let file = workspace.file("wait.yaml", EXAMPLES)?;
        kubectl(workspace, &["apply", "--filename", &file]).await?;
        let waiting = tokio::spawn({
            let mut kubectl = workspace.kubectl();
            kubectl.args(["wait", "agenttask/hello", "--for=condition=Finished", "--timeout=30s"]);
            run(kubectl)
        });
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({
                "type": kind, "status": status, "reason": reason, "message": "", "observedGeneration": 1,
                "lastTransitionTime": wait::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            })
        };
        let status = json!({
            "status": {
                "observedGeneration": 1,
                "conditions": [condition("Finished", "True", "Finished"), condition("Succeeded", "True", "Succeeded")],
                "podName": "reviewer-hello-bcdfghjklm",
            },
            "spec": {"priority": 7},
        });
        let tasks = workspace.api::<AgentTask>();
        let task = tasks.patch_status("hello", &PatchParams::default(), &Patch::Merge(&status)).await?;
        assert_eq!(task.spec.priority, 0, "a write of status must not change the spec");
        let said = waiting.await??;
        assert_eq!(said.trim(), "agenttask.mooring.dev/hello condition met");
        let said = kubectl(workspace, &["get", "at", "hello", "--no-headers"]).await?;
        ensure!(said.contains("Succeeded") && said.contains("reviewer-hello-bcdfghjklm"), "{said}");
        Ok(())
    })
    .await
}

/// Resource versions of everything that was applied.
async fn versions(workspace: &Workspace) -> Result<Vec<String>> {
    let tasks = workspace
        .api::<AgentTask>()
        .list(&Default::default())
        .await?;
    let runtimes = workspace.api::<Runtime>().list(&Default::default()).await?;
    let tasks = tasks.iter().map(|task| task.resource_version());
    let all = tasks.chain(runtimes.iter().map(|runtime| runtime.resource_version()));
    let all: Vec<String> = all.flatten().collect();
    assert_eq!(all.len(), 3);
    Ok(all)
}

async fn kubectl(workspace: &Workspace, arguments: &[&str]) -> Result<String> {
    let mut kubectl = workspace.kubectl();
    kubectl.args(arguments);
    run(kubectl).await
}
