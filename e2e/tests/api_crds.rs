//! The custom resources as people meet them: accepted as we wrote them, explained, listed, selected.

use anyhow::{Context as _, Result, ensure};
use e2e::cluster::run;
use e2e::{Workspace, on_apiserver};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

const EXAMPLES: &str = include_str!("data/examples.yaml");

#[tokio::test]
async fn definitions_are_accepted_as_they_are() -> Result<()> {
    on_apiserver("crds", async |workspace| {
        let stored = Api::<CustomResourceDefinition>::all(workspace.cluster.client.clone());
        for ours in crds::all() {
            let theirs = stored.get(&ours.name_any()).await?;
            let status = theirs.status.context("a status")?;
            let faults = status.conditions.iter().flatten().filter(|condition| {
                let good = ["Established", "NamesAccepted"].contains(&condition.type_.as_str());
                good != (condition.status == "True")
            });
            assert_eq!(faults.count(), 0, "{:?}", status.conditions);
            let (ours, theirs) = (json(&ours.spec)?, json(&theirs.spec)?);
            let versions = (&ours["versions"], &theirs["versions"]);
            let difference = difference("", versions.0, versions.1);
            ensure!(difference.is_none(), "stored otherwise: {difference:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn kubectl_explains_every_field() -> Result<()> {
    on_apiserver("explain", async |workspace| {
        for definition in crds::all() {
            let resource = definition.spec.names.plural.clone();
            let said = kubectl(workspace, &["explain", "--recursive", &resource]).await?;
            // Nothing becomes of these that could be said.
            let kind = definition.spec.names.kind.as_str();
            let has_status = !matches!(kind, "LoginRequest" | "Skill");
            ensure!(
                said.contains("spec\t<") && said.contains("status\t<") == has_status,
                "{said}"
            );
        }
        let said = kubectl(workspace, &["explain", "agenttask.spec.session.policy"]).await?;
        ensure!(
            said.contains("Resume (go on, else start fresh and say so)"),
            "{said}"
        );
        ensure!(said.contains("ENUM:") && said.contains("Require"), "{said}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn lists_answer_what_people_ask() -> Result<()> {
    on_apiserver("columns", async |workspace| {
        apply(workspace).await?;
        let waiting = json!({
            "conditions": [condition("Succeeded", "Unknown", "Queued")],
            "waiting": {"limit": "Agent", "message": "6 of 6 tasks run.", "since": "2026-01-01T00:00:00Z"},
        });
        say(workspace, "hello", &waiting).await?;
        let failed = json!({
            "conditions": [condition("Succeeded", "False", "OOMKilled"), condition("Finished", "True", "Finished")],
            "podName": "reviewer-hello-bcdfghjklm",
        });
        say(workspace, "put-aside", &failed).await?;
        let mut shown = String::new();
        for name in ["rt", "ag", "at", "as"] {
            let said = kubectl(workspace, &["get", name]).await?;
            shown.push_str(&without_ages(&said));
        }
        let all = kubectl(workspace, &["get", "mooring", "--output=name"]).await?;
        shown.push_str(&all);
        insta::assert_snapshot!(shown);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn tasks_are_selected_by_agent_subject_and_state() -> Result<()> {
    on_apiserver("select", async |workspace| {
        apply(workspace).await?;
        let cases = [
            (
                "agenttasks",
                "spec.agentRef.name=reviewer",
                vec!["hello", "put-aside"],
            ),
            ("agenttasks", "spec.subject.name=other", vec!["put-aside"]),
            ("agenttasks", "spec.desiredState=Suspend", vec!["put-aside"]),
            ("agenttasks", "spec.agentRef.name=nobody", vec![]),
            (
                "agentsessions",
                "spec.subject.name=hello",
                vec!["reviewer-hello-bcdfghjklm"],
            ),
            ("agentsessions", "spec.agentRef.name=nobody", vec![]),
            ("runtimes", "spec.provider=claude", vec!["claude"]),
            ("runtimes", "spec.provider=codex", vec![]),
        ];
        for (resource, selector, wanted) in cases {
            let template = "--output=jsonpath={.items[*].metadata.name}";
            let said = kubectl(
                workspace,
                &["get", resource, "--field-selector", selector, template],
            )
            .await?;
            assert_eq!(
                said.split_whitespace().collect::<Vec<_>>(),
                wanted,
                "{selector}"
            );
        }
        Ok(())
    })
    .await
}

fn json(value: &impl serde::Serialize) -> Result<Value> {
    Ok(serde_json::to_value(value)?)
}

/// Where `theirs` lacks something of `ours` or has it otherwise. What they add (defaults) does not count.
fn difference(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(fields), Value::Object(_)) => fields
            .iter()
            .find_map(|(name, field)| difference(&format!("{path}/{name}"), field, &theirs[name])),
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => items
            .iter()
            .zip(others)
            .enumerate()
            .find_map(|(index, (item, other))| difference(&format!("{path}/{index}"), item, other)),
        _ if ours == theirs => None,
        _ => Some(format!("{path}: {ours} became {theirs}")),
    }
}

async fn apply(workspace: &Workspace) -> Result<()> {
    let file = workspace.file("examples.yaml", EXAMPLES)?;
    kubectl(workspace, &["apply", "--server-side", "--filename", &file]).await?;
    Ok(())
}

/// Writes a task's status, as the operator would.
async fn say(workspace: &Workspace, task: &str, status: &Value) -> Result<()> {
    let patch = Patch::Merge(json!({"status": status}));
    let tasks = workspace.api::<crds::AgentTask>();
    tasks
        .patch_status(task, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

async fn kubectl(workspace: &Workspace, arguments: &[&str]) -> Result<String> {
    let mut kubectl = workspace.kubectl();
    kubectl.args(arguments);
    run(kubectl).await
}

/// Ages differ from run to run.
fn without_ages(table: &str) -> String {
    let age = table
        .lines()
        .next()
        .and_then(|head| head.rfind("AGE"))
        .unwrap_or(table.len());
    table
        .lines()
        .map(|line| format!("{}\n", line.get(..age).unwrap_or(line).trim_end()))
        .collect()
}
