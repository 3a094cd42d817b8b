//! The conversation comes back, with the real Claude Code: a stand-in of our own would prove nothing about user ids,
//! home, a read-only root, or how it finds its sessions. Its model plays a script, in a pod of its own.

use anyhow::{Result, ensure};
use e2e::model::{Model, holds};
use e2e::objects::{at, text};
use e2e::script::Script;
use e2e::{Workspace, objects, story};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use serde_json::{Value, json};

/// What the agent's skill says that it is good for.
const SKILL: &str = "How to speak with people politely, 7c41d0.";

/// The Runtime of the real CLI: it may connect to its model and to nothing else.
fn runtime(image: &str, model: &Model) -> objects::Draft<crds::Runtime> {
    objects::runtime("claude", image)
        .set("/spec/pod/resources/limits/memory", "1Gi")
        .set("/spec/workdir/size", "256Mi")
        .set("/spec/network/allow", model.peers())
        .set(
            "/spec/pod/env",
            json!([
                {"name": "ANTHROPIC_BASE_URL", "value": model.url()},
                {"name": "ANTHROPIC_API_KEY", "value": "scripted"},
            ]),
        )
}

/// A Skill, and the ConfigMap that it is made of.
async fn give_skill(workspace: &Workspace) -> Result<()> {
    let text = format!("---\nname: manners\ndescription: {SKILL}\n---\nSay please.\n");
    let files: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "manners"}, "data": {"SKILL.md": text},
    }))?;
    let skill: crds::Skill = serde_json::from_value(json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Skill", "metadata": {"name": "manners"},
        "spec": {"description": "How we speak.", "files": [{"configMap": {"name": "manners"}}]},
    }))?;
    let post = PostParams::default();
    workspace.api::<ConfigMap>().create(&post, &files).await?;
    workspace.api::<crds::Skill>().create(&post, &skill).await?;
    Ok(())
}

#[tokio::test]
async fn claude_code_goes_on_with_its_conversation_in_a_new_pod() -> Result<()> {
    story("claude", async |workspace| {
        let images = &workspace.cluster.settings.images;
        let (Some(claude), Some(model)) = (&images.agent_claude, &images.scripted_model) else {
            println!("skipped: no image of Claude Code or of its scripted model");
            return Ok(());
        };
        let scenarios: Value = serde_json::from_str(include_str!("scenarios.json"))?;
        let model = Box::pin(Model::start(workspace, model, &scenarios)).await?;
        give_skill(workspace).await?;
        workspace
            .prepare_with(
                &runtime(claude, &model),
                &objects::agent(objects::AGENT, "claude")
                    .set("/spec/skills", json!([{"name": "manners"}])),
            )
            .await?;
        let word = "w4f1b7c09e2";
        let task = |name: &str, prompt: &str| {
            objects::task(name, "claude", &Script::new()).set("/spec/prompt", prompt)
        };

        let first = task(
            "first",
            &format!("[scenario:note] Remember the word {word}."),
        );
        let first = workspace.run_task(&first).await?;
        ensure!(objects::is_true(&first, "Succeeded"), "{:?}", first.status);
        assert_eq!(text(&first, "/status/result/summary")?, "Noted.");
        let before = model.requests().await?;
        ensure!(holds(&before, word), "the model never got the prompt");
        ensure!(
            holds(&before, SKILL),
            "the model never heard of the agent's skill"
        );

        let second = workspace
            .run_task(&task(
                "second",
                "[scenario:shell] Where are you, and what was the word?",
            ))
            .await?;
        ensure!(
            objects::is_true(&second, "Succeeded"),
            "{:?}",
            second.status
        );
        assert_eq!(
            text(&second, "/status/result/summary")?,
            "That was the place."
        );
        let asked = model.requests().await?.split_off(before.len());
        ensure!(
            holds(&asked, word),
            "the earlier turn is not in what the model was asked: the conversation did not go on"
        );
        ensure!(
            holds(&asked, "/workspace/work"),
            "the tool did not run in the working directory"
        );

        assert_eq!(
            workspace.conversation_of(&second).await?,
            workspace.conversation_of(&first).await?
        );
        assert_ne!(
            at(&first, "/status/attempts/0/podUid"),
            at(&second, "/status/attempts/0/podUid")
        );
        for part in ["volume", "workdir", "session", "provider"] {
            assert_eq!(
                text(&second, &format!("/status/resumed/{part}/answer"))?,
                "Yes",
                "{part}"
            );
        }
        ensure!(
            !at(&second, "/status/usage").is_null(),
            "nothing is known of what it cost"
        );
        model.stop(workspace).await
    })
    .await
}
