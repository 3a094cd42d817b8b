//! Bad input, one byte too many, nothing at all: each gets its exact answer, and nothing else happens.

use anyhow::{Result, bail, ensure};
use crds::AgentTask;
use e2e::objects::{at, text};
use e2e::script::Script;
use e2e::wait::USUAL;
use e2e::{Workspace, objects, on_apiserver, store, story};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Resource, ResourceExt as _};
use protocol::EventBody;
use protocol::limits::PROMPT_BYTES;
use serde_json::{Value, json};

/// A task like any other, for one thing to be wrong with.
fn good() -> objects::Draft<AgentTask> {
    objects::task("bad", "bad", &Script::new())
}

/// What the apiserver answers to an object of the kind of a task, sent as it stands.
async fn answer(workspace: &Workspace, object: &Value) -> Result<String> {
    let kind = GroupVersionKind::gvk("mooring.dev", "v1alpha1", "AgentTask");
    let resource = ApiResource::from_gvk_with_plural(&kind, &AgentTask::plural(&()));
    let api: Api<DynamicObject> = Api::namespaced_with(
        workspace.cluster.client.clone(),
        &workspace.namespace,
        &resource,
    );
    match api
        .create(
            &PostParams::default(),
            &serde_json::from_value(object.clone())?,
        )
        .await
    {
        Err(kube::Error::Api(status)) => Ok(format!("{} {}", status.code, status.message)),
        Ok(made) => {
            api.delete(&made.name_any(), &DeleteParams::default())
                .await?;
            Ok("accepted".to_owned())
        }
        Err(error) => bail!(error),
    }
}

#[tokio::test]
async fn the_apiserver_refuses_what_is_not_a_task() -> Result<()> {
    on_apiserver("bad-spec", async |workspace| {
        // Text of two bytes a character: the limit counts bytes, not characters.
        let long = "é".repeat(PROMPT_BYTES / 2);
        let cases = [
            (
                "a prompt of the greatest length",
                good().set("/spec/prompt", long.as_str()),
            ),
            (
                "a prompt of one byte more",
                good().set("/spec/prompt", format!("{long}.")),
            ),
            ("an empty prompt", good().set("/spec/prompt", "")),
            ("an empty subject", good().set("/spec/subject/name", "")),
            ("an empty Agent", good().set("/spec/agentRef/name", "")),
            ("no prompt", good().set("/spec/prompt", Value::Null)),
            (
                "a subject of another kind",
                good().set("/spec/subject/kind", "Mail"),
            ),
            (
                "an issue without a cause",
                good().set("/spec/subject", json!({"kind": "Issue", "name": "TEAM-1"})),
            ),
            ("another policy", good().set("/spec/session/policy", "Fork")),
            ("no time at all", good().set("/spec/deadlineSeconds", 0)),
            ("an empty spec", good().set("/spec", json!({}))),
        ];
        let mut table = String::new();
        for (what, draft) in cases {
            table += &format!("{what}\n    {}\n", answer(workspace, draft.value()).await?);
        }
        // The apiserver repeats the value.
        let table = table.replace(&long, "…");
        insta::assert_snapshot!("refused_by_the_apiserver", table);
        Ok(())
    })
    .await
}

/// What a task says that cannot be taken in, once it says it.
async fn refused(workspace: &Workspace, name: &str) -> Result<String> {
    let is_refused = |task: &AgentTask| {
        objects::condition(task, "Accepted").is_some_and(|(status, _)| status == "False")
    };
    let task = workspace
        .task(name, "is not accepted", USUAL, is_refused)
        .await?;
    let conditions = at(&task, "/status/conditions");
    let mut conditions = conditions.as_array().into_iter().flatten();
    let accepted = conditions.find(|condition| condition["type"] == "Accepted");
    let accepted = accepted.cloned().unwrap_or_default();
    Ok(format!(
        "{}: {}",
        accepted["reason"].as_str().unwrap_or_default(),
        accepted["message"].as_str().unwrap_or_default()
    ))
}

#[tokio::test]
async fn dangling_references_wait_and_say_for_what() -> Result<()> {
    story("bad-ref", async |workspace| {
        workspace
            .create_object(&objects::agent("homeless", "no-such-runtime"))
            .await?;
        let to = |name: &str, agent: &str| {
            objects::task(name, name, &Script::new())
                .set("/spec/agentRef/name", agent)
                .set("/spec/deadlineSeconds", 5)
        };
        workspace
            .create_object(&to("no-agent", "no-such-agent"))
            .await?;
        workspace
            .create_object(&to("no-runtime", "homeless"))
            .await?;
        let table = format!(
            "an Agent that does not exist\n    {}\na Runtime that does not exist\n    {}\n",
            refused(workspace, "no-agent").await?,
            refused(workspace, "no-runtime").await?,
        );
        insta::assert_snapshot!("dangling_references", table);
        for name in ["no-agent", "no-runtime"] {
            let over = workspace.finished(name).await?;
            assert_eq!(text(&over, "/status/failure/class")?, "DeadlineExceeded");
        }
        Ok(())
    })
    .await
}

async fn label(workspace: &Workspace, value: Option<&str>) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(workspace.cluster.client.clone());
    let label = json!({"metadata": {"labels": {crds::labels::WORKSPACE: value}}});
    let parameters = PatchParams::default();
    namespaces
        .patch(&workspace.namespace, &parameters, &Patch::Merge(label))
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_namespace_that_loses_its_label_ends_what_runs_and_begins_nothing() -> Result<()> {
    story("bad-ns", async |workspace| {
        workspace.prepare().await?;
        let image = &workspace.cluster.settings.images.agent_fake;
        let full = objects::runtime("full", image).set("/spec/capacity/maxPods", 0);
        workspace
            .prepare_with(&full, &objects::agent("full", "full"))
            .await?;
        let waits = objects::task("waits", "waits", &Script::new());
        workspace
            .create_object(&waits.set("/spec/agentRef/name", "full"))
            .await?;
        workspace
            .start("runs", "runs", &Script::new().sleep(2000))
            .await?;
        workspace.running("runs").await?;

        label(workspace, None).await?;
        insta::assert_snapshot!("no_workspace", refused(workspace, "waits").await?);
        let since = workspace.cluster.audit().mark()?;
        workspace.start("new", "new", &Script::new()).await?;
        let done = workspace.finished("runs").await?;
        ensure!(objects::is_true(&done, "Succeeded"), "{:?}", done.status);
        let new: AgentTask = workspace.api().get("new").await?;
        ensure!(new.status.is_none(), "it was touched: {:?}", new.status);
        let touched = workspace
            .cluster
            .audit()
            .of_user(e2e::operator::USER, since)?
            .into_iter()
            .filter(|entry| entry.verb == "create" && entry.resource() != "events")
            .map(|entry| entry.shown());
        assert_eq!(touched.collect::<Vec<_>>(), Vec::<String>::new());

        label(workspace, Some("enabled")).await?;
        let done = workspace.finished("new").await?;
        ensure!(objects::is_true(&done, "Succeeded"), "{:?}", done.status);
        workspace
            .patch_task("waits", json!({"desiredState": "Cancel"}))
            .await?;
        workspace.finished("waits").await.map(drop)
    })
    .await
}

/// How a run of a script ended: class and message, or the answer.
async fn ending(workspace: &Workspace, name: &str, script: &Script) -> Result<(AgentTask, String)> {
    let task = workspace.run(name, name, script).await?;
    let told = match text(&task, "/status/failure/class") {
        Ok(class) => format!("{class}: {}", text(&task, "/status/failure/message")?),
        Err(_) => format!(
            "succeeded: {}",
            text(&task, "/status/result/summary").unwrap_or_default()
        ),
    };
    Ok((task, told))
}

#[tokio::test]
async fn output_that_is_no_output_is_survived_and_named() -> Result<()> {
    story("bad-output", async |workspace| {
        workspace.prepare().await?;
        let cases = [
            (
                "bytes that are no text from a tool",
                "tool-bytes",
                Script::new()
                    .run(r"printf '\377\376'; echo end")
                    .answer("Done."),
            ),
            (
                "bytes that are no text from the CLI",
                "cli-bytes",
                Script::new().write_bytes("fffe0a").answer("Done."),
            ),
            (
                "a line of 50 MB from the CLI",
                "long-line",
                Script::new().write_line(50_000_000).answer("Done."),
            ),
            ("an empty answer", "empty", Script::new().answer("")),
            (
                "a tool without output",
                "silent",
                Script::new().run("true").answer("Done."),
            ),
        ];
        let endings = cases
            .iter()
            .map(|(_, name, script)| ending(workspace, name, script));
        let endings = try_join_all(endings).await?;
        shows_what_could_be_read(workspace, &endings[0].0).await?;
        let lines = cases.iter().zip(&endings);
        let table: String = lines
            .map(|((what, ..), (_, told))| format!("{what}\n    {told}\n"))
            .collect();
        insta::assert_snapshot!("bad_output", table);
        Ok(())
    })
    .await
}

async fn shows_what_could_be_read(workspace: &Workspace, task: &AgentTask) -> Result<()> {
    let id = store::task_id(&text(task, "/status/taskId")?)?;
    let timeline = workspace.store().await?.timeline(id).await?;
    let shown = timeline.iter().any(|stored| {
        matches!(&stored.event.body, EventBody::ToolResult { output, .. } if output.contains("end"))
    });
    ensure!(
        shown,
        "what could be read is not in the timeline: {timeline:?}"
    );
    Ok(())
}
