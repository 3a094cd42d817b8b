//! A Runtime says what its program is, before any task runs: its version, or what is wrong with it and what to do. And a
//! program that comes as an image of its own works in an image that has none.

use anyhow::{Result, ensure};
use crds::Runtime;
use e2e::model::Model;
use e2e::objects::{Draft, at, condition, text};
use e2e::script::Script;
use e2e::wait::{self, USUAL};
use e2e::{Workspace, objects, story};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

/// A Debian without anything of an agent in it; every node has it.
const PLAIN: &str = "localhost/mooring/base:dev";

/// Waits until a Runtime is said to be ready, or not, for this reason.
async fn says(workspace: &Workspace, name: &str, reason: &str) -> Result<Runtime> {
    let what = format!("says {reason}");
    wait::object(
        &workspace.api(),
        name,
        &what,
        USUAL,
        |found: Option<&Runtime>| {
            let found = found?;
            let (_, said) = condition(found, "Ready")?;
            let is_known = !at(found, "/status/cli/finding").is_null();
            (is_known && said == reason).then(|| found.clone())
        },
    )
    .await
}

#[tokio::test]
async fn a_runtime_says_which_program_it_has_or_what_is_wrong() -> Result<()> {
    story("probe", async |workspace| {
        let fake = &workspace.cluster.settings.images.agent_fake;
        let with =
            |name: &str, path: &str, value: Value| objects::runtime(name, fake).set(path, value);
        let cases: [(Draft<Runtime>, &str, &str); 5] = [
            (
                with("missing", "/spec/command", json!(["no-such-agent"])),
                "CliMissing",
                "kubectl patch runtime missing",
            ),
            (
                with("rights", "/spec/command", json!(["/etc/hostname"])),
                "CliNotExecutable",
                "chmod 755",
            ),
            (
                with("old", "/spec/command", json!(["/bin/echo", "1.9.9"])),
                "CliTooOld",
                "npm install --global @anthropic-ai/claude-code@",
            ),
            (
                with("broken", "/spec/command", json!(["/bin/false"])),
                "CliFailed",
                "kubectl run try",
            ),
            (
                with(
                    "nowhere",
                    "/spec/image",
                    json!("localhost/mooring/nobody:1"),
                )
                .set("/spec/imagePullPolicy", "Never"),
                "ImagePullFailed",
                "kubectl edit runtime nowhere",
            ),
        ];
        for (runtime, _, _) in &cases {
            workspace.create_object(runtime).await?;
        }
        for (runtime, reason, remedy) in &cases {
            let name = text(runtime.value(), "/metadata/name")?;
            let found = says(workspace, &name, reason).await?;
            let message = text(&found, "/status/cli/message")?;
            ensure!(message.contains(remedy), "{name}: {message}");
        }

        // A task of one that cannot work waits, and goes on when it can.
        workspace
            .create_object(&objects::agent(objects::AGENT, "missing"))
            .await?;
        let waiting = workspace
            .start("waits", "waits", &Script::new().answer("Done."))
            .await?;
        let name = waiting.metadata.name.unwrap_or_default();
        workspace
            .task(&name, "waits for a Runtime", USUAL, |task| {
                at(task, "/status/conditions")
                    .to_string()
                    .contains("NotReady")
            })
            .await?;
        let patch = Patch::Merge(json!({"spec": {"command": []}}));
        let runtimes = workspace.api::<Runtime>();
        runtimes
            .patch("missing", &PatchParams::default(), &patch)
            .await?;
        let ended = workspace.finished(&name).await?;
        ensure!(objects::is_true(&ended, "Succeeded"), "{:?}", ended.status);
        let ready = says(workspace, "missing", "Ready").await?;
        ensure!(!text(&ready, "/status/cli/imageID")?.is_empty());

        // Nothing is left of those that asked, and they were behind a wall.
        let component = ListParams::default().labels("app.kubernetes.io/component=probe");
        let pods = workspace.api::<Pod>();
        for pod in pods.list(&component).await? {
            let name = pod.metadata.name.unwrap_or_default();
            workspace.gone::<Pod>(&name, USUAL).await?;
        }
        let wall = workspace
            .api::<NetworkPolicy>()
            .get("mooring-probe")
            .await?;
        ensure!(at(&wall, "/spec/egress").is_null(), "something is open");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_program_that_is_mounted_works_in_an_image_that_has_none() -> Result<()> {
    story("cliimage", async |workspace| {
        let images = &workspace.cluster.settings.images;
        let (Some(cli), Some(model)) = (&images.cli_claude, &images.scripted_model) else {
            println!("skipped: no image of Claude Code alone or of its scripted model");
            return Ok(());
        };
        let scenarios = json!({"default": {"turns": [{"text": "I am here."}]}});
        let model = Box::pin(Model::start(workspace, model, &scenarios)).await?;
        let runtime = objects::runtime("plain", PLAIN)
            .set(
                "/spec/cliImage",
                json!({"image": cli, "imagePullPolicy": "IfNotPresent"}),
            )
            .set("/spec/pod/resources/limits/memory", "1Gi")
            .set("/spec/workdir/size", "256Mi")
            .set("/spec/network/allow", model.peers())
            .set(
                "/spec/pod/env",
                json!([
                    {"name": "ANTHROPIC_BASE_URL", "value": model.url()},
                    {"name": "ANTHROPIC_API_KEY", "value": "scripted"},
                    {"name": "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "value": "1"},
                ]),
            );
        workspace
            .prepare_with(&runtime, &objects::agent(objects::AGENT, "plain"))
            .await?;
        let runtime = says(workspace, "plain", "Ready").await?;
        let version = text(&runtime, "/status/cli/version")?;
        ensure!(version.starts_with("2."), "{version}");
        for list in ["models", "thinkingLevels"] {
            let named = at(&runtime, &format!("/status/cli/{list}"));
            let names = named.as_array().map_or(0, Vec::len);
            ensure!(names > 1, "{list}: {:?}", runtime.status);
        }
        let task =
            objects::task("here", "here", &Script::new()).set("/spec/prompt", "Are you there?");
        let task = workspace.run_task(&task).await?;
        ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
        assert_eq!(text(&task, "/status/result/summary")?, "I am here.");
        model.stop(workspace).await
    })
    .await
}
