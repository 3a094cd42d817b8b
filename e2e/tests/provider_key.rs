//! A provider's key, as `cargo demo --anthropic-key-file` gives it: in a Secret that the Runtime names. A made-up one, with a
//! scripted model in the provider's place. It reaches the provider, and is in nothing that people or other programs read, even
//! where the agent shows it.

use anyhow::{Context as _, Result, ensure};
use crds::{Agent, AgentSession, AgentTask, Runtime};
use e2e::model::Model;
use e2e::objects::text;
use e2e::script::Script;
use e2e::{Workspace, node, objects, store, story};
use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::{Event, Pod, Secret};
use kube::ResourceExt as _;
use kube::api::{ListParams, LogParams, PostParams};
use serde_json::{Value, json};

/// It looks like no key that is known by its form: only its value tells what it is.
const KEY: &str = "made-up-7f3a9c51e2b84d06";
/// The same in base64.
const ENCODED: &str = "bWFkZS11cC03ZjNhOWM1MWUyYjg0ZDA2";
/// Shows it in every way that comes to mind, and stays for a while.
const SHOWS: &str = "echo key=$ANTHROPIC_API_KEY; printf %s $ANTHROPIC_API_KEY | base64 -w0; echo; env; \
                     echo $ANTHROPIC_API_KEY >&2; sleep 4; echo shown";

fn runtime(image: &str, model: &Model) -> objects::Draft<Runtime> {
    objects::runtime("claude", image)
        .set("/spec/pod/resources/limits/memory", "1Gi")
        .set("/spec/workdir/size", "256Mi")
        .set("/spec/network/allow", model.peers())
        // As in e2e/demo/agent.yaml.
        .set(
            "/spec/pod/envFrom",
            json!([{"secretRef": {"name": "claude"}}]),
        )
}

fn is_clean(what: &str, text: &str) -> Result<()> {
    let shows = [KEY, ENCODED].iter().any(|key| text.contains(key));
    ensure!(!shows, "the key is in {what}");
    Ok(())
}

/// All objects of a kind, as JSON.
async fn all<K>(workspace: &Workspace) -> Result<String>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType: Default>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let list = workspace.api::<K>().list(&ListParams::default()).await?;
    Ok(serde_json::to_string(&list.items)?)
}

async fn nothing_shows_it(workspace: &Workspace, task: &AgentTask, pod: &Pod) -> Result<()> {
    is_clean("the pod", &serde_json::to_string(pod)?)?;
    is_clean("a task", &all::<AgentTask>(workspace).await?)?;
    is_clean("a session", &all::<AgentSession>(workspace).await?)?;
    is_clean("an Agent", &all::<Agent>(workspace).await?)?;
    is_clean("a Runtime", &all::<Runtime>(workspace).await?)?;
    is_clean("an event", &all::<Event>(workspace).await?)?;
    is_clean("the operator's log", &workspace.operator().log().await?)?;

    let id = store::task_id(&text(task, "/status/taskId")?)?;
    let events = workspace.store().await?.timeline(id).await?;
    let events: Vec<_> = events.into_iter().map(|stored| stored.event).collect();
    let timeline = serde_json::to_string(&events)?;
    is_clean("the timeline", &timeline)?;
    // It was shown, and taken out.
    ensure!(
        timeline.contains("key=[redacted]") && timeline.contains("shown"),
        "{timeline}"
    );

    let kept = workspace.folder_of(task).await?.join(".mooring");
    let mut folders = vec![kept];
    let mut raw = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path)?;
                is_clean(
                    &path.display().to_string(),
                    &String::from_utf8_lossy(&bytes),
                )?;
                raw += usize::from(path.parent().is_some_and(|at| at.ends_with("raw")));
            }
        }
    }
    ensure!(raw > 0, "nothing of the raw log was looked at");
    Ok(())
}

#[tokio::test]
async fn a_providers_key_reaches_the_provider_and_nobody_else() -> Result<()> {
    story("key", async |workspace| {
        let images = &workspace.cluster.settings.images;
        let (Some(claude), Some(model)) = (&images.agent_claude, &images.scripted_model) else {
            println!("skipped: no image of Claude Code or of its scripted model");
            return Ok(());
        };
        let scenarios = json!({"side_text": "Words", "shows": {"turns": [
            {"text": "I look.", "tools": [{"do": "shell", "command": SHOWS}], "usage": {"input": 20, "output": 9}},
            {"text": "Shown.", "usage": {"input": 24, "output": 5}},
        ]}});
        let model = Box::pin(Model::start(workspace, model, &scenarios)).await?;
        let secret: Secret = serde_json::from_value(json!({
            "metadata": {"name": "claude"},
            "stringData": {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model.url()},
        }))?;
        let secrets = workspace.api::<Secret>();
        secrets.create(&PostParams::default(), &secret).await?;
        workspace
            .prepare_with(&runtime(claude, &model), &objects::agent(objects::AGENT, "claude"))
            .await?;
        let task = objects::task("shows", "key", &Script::new())
            .set("/spec/prompt", "[scenario:shows] Which key is it?");
        workspace.create_object(&task).await?;
        let running = workspace.running("shows").await?;
        let pod = workspace.pod_of(&running).await?;
        let uid = pod.uid().context("an object has a UID")?;
        // While its tool runs: every process of the pod.
        let tool = |process: &node::Process| process.command.contains("sleep 4");
        node::process(&uid, "the tool", tool).await?;
        for process in node::processes(&uid)? {
            is_clean("a command line", &process.command)?;
        }
        // What the runner says until the pod's log is gone with it.
        let follow = LogParams { follow: true, ..LogParams::default() };
        let pods = workspace.api::<Pod>();
        let mut log = String::new();
        let mut lines = pods.log_stream(&pod.name_any(), &follow).await?;
        lines.read_to_string(&mut log).await?;
        ensure!(log.contains("Shown."), "its end is not in the log: {log}");
        is_clean("the runner's log", &log)?;

        let done = workspace.finished("shows").await?;
        ensure!(objects::is_true(&done, "Succeeded"), "{:?}", done.status);
        let asked = model.requests().await?;
        // The model's log masks it, and holds it only where it was sent.
        let sent = |request: &Value| request["headers"]["x-api-key"] == "<masked>";
        ensure!(asked.iter().any(sent), "the provider got no key: {asked:?}");
        nothing_shows_it(workspace, &done, &pod).await?;
        model.stop(workspace).await
    })
    .await
}
