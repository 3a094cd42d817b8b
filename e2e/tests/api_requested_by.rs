//! Who made an AgentTask is written into it by a real apiserver, whatever it says itself, and to apply it again
//! changes nothing.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use e2e::cluster::run;
use e2e::settings::checkout;
use e2e::{Workspace, on_apiserver, wait};
use serde_json::{Value, json};

const USER: &str = "ada";
const GROUP: &str = "dev";
/// The apiserver takes a moment until it acts by a new policy.
const SETTLE: Duration = Duration::from_secs(45);

#[tokio::test]
async fn who_asked_for_a_task_is_written_in() -> Result<()> {
    on_apiserver("requested-by", async |workspace| {
        stand(workspace).await?;
        allow(workspace).await?;
        wait::polled("the policy is in force".to_owned(), SETTLE, async || {
            let said = create(workspace, "probe", &json!({}), &["--dry-run=server"]).await?;
            Ok(said.contains("requestedBy").then_some(()))
        })
        .await?;
        let wanted = json!({"user": USER, "groups": [GROUP, "system:authenticated"]});
        let forged = json!({"requestedBy": {"user": "bob", "groups": ["system:masters"]}});
        for (name, more) in [("honest", &json!({})), ("forged", &forged)] {
            create(workspace, name, more, &[]).await?;
            ensure!(requester(workspace, name).await? == wanted, "{name}");
        }
        let file = workspace.file("again.yaml", &task("honest", &json!({})).to_string())?;
        // By the administrator, and from Git; neither says who asked.
        for arguments in [
            ["replace", "--filename", &file],
            ["apply", "--filename", &file],
            ["diff", "--filename", &file],
        ] {
            let mut kubectl = workspace.kubectl();
            kubectl.args(arguments);
            run(kubectl)
                .await
                .with_context(|| arguments[0].to_owned())?;
            ensure!(
                requester(workspace, "honest").await? == wanted,
                "{arguments:?}"
            );
        }
        let mut kubectl = workspace.kubectl();
        let change = json!({"spec": {"requestedBy": {"user": "bob"}}}).to_string();
        kubectl.args([
            "patch",
            "agenttask",
            "honest",
            "--type=merge",
            "--patch",
            &change,
        ]);
        let refused = run(kubectl).await.err().context("it was changed")?;
        ensure!(
            format!("{refused:#}").contains("cannot change"),
            "{refused:#}"
        );
        Ok(())
    })
    .await
}

/// Makes policy and binding as the chart does, for this namespace alone.
async fn stand(workspace: &Workspace) -> Result<()> {
    let path = checkout().join("charts/mooring/files/requested-by.yaml");
    let mut spec: Value = serde_yaml::from_str(&std::fs::read_to_string(path)?)?;
    spec["matchConstraints"] = json!({
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": workspace.namespace}},
        "resourceRules": [{
            "apiGroups": [crds::GROUP], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
            "resources": ["agenttasks"],
        }],
    });
    let name = format!("{}-requested-by", workspace.namespace);
    let mut kubectl = workspace.kubectl();
    kubectl.args([
        "get",
        "namespace",
        &workspace.namespace,
        "--output=jsonpath={.metadata.uid}",
    ]);
    let metadata = json!({
        "name": name,
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "Namespace", "name": workspace.namespace, "uid": run(kubectl).await?,
        }],
    });
    let api = "admissionregistration.k8s.io/v1";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        {"apiVersion": api, "kind": "MutatingAdmissionPolicyBinding", "metadata": metadata, "spec": {"policyName": name}},
    ]});
    let file = workspace.file("policy.json", &list.to_string())?;
    let mut kubectl = workspace.kubectl();
    kubectl.args(["create", "--filename", &file]);
    run(kubectl).await.map(drop)
}

/// Lets ada's group make tasks here.
async fn allow(workspace: &Workspace) -> Result<()> {
    for arguments in [
        vec![
            "create",
            "role",
            "tasks",
            "--verb=create,get",
            "--resource=agenttasks.mooring.dev",
        ],
        vec![
            "create",
            "rolebinding",
            "tasks",
            "--role=tasks",
            "--group=dev",
        ],
    ] {
        let mut kubectl = workspace.kubectl();
        kubectl.args(arguments);
        run(kubectl).await?;
    }
    Ok(())
}

fn task(name: &str, more: &Value) -> Value {
    let mut spec = json!({
        "agentRef": {"name": "reviewer"}, "subject": {"kind": "Key", "name": name}, "prompt": "Say hello.",
    });
    if let Some(requester) = more.get("requestedBy") {
        spec["requestedBy"] = requester.clone();
    }
    json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask", "metadata": {"name": name}, "spec": spec,
    })
}

/// Makes a task as ada; what the apiserver answers.
async fn create(
    workspace: &Workspace,
    name: &str,
    more: &Value,
    arguments: &[&str],
) -> Result<String> {
    let file = workspace.file("task.json", &task(name, more).to_string())?;
    let mut kubectl = workspace.kubectl();
    kubectl.args(["create", "--output=json", "--filename", &file]);
    kubectl.args([&format!("--as={USER}"), &format!("--as-group={GROUP}")]);
    kubectl.args(arguments);
    run(kubectl).await
}

async fn requester(workspace: &Workspace, name: &str) -> Result<Value> {
    let task = workspace.api::<AgentTask>().get(name).await?;
    Ok(serde_json::to_value(task.spec.requested_by)?)
}
