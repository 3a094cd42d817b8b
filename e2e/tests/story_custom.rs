//! A program that is known by no name: its Runtime says which protocol it speaks, and its conversation goes on as any
//! other's.

use anyhow::{Result, ensure};
use crds::{AgentSession, Runtime};
use e2e::objects::{condition, is_true, text};
use e2e::script::Script;
use e2e::wait::{self, USUAL};
use e2e::{objects, story};
use serde_json::json;

#[tokio::test]
async fn a_program_that_is_known_by_no_name_is_driven_by_its_family() -> Result<()> {
    story("custom", async |workspace| {
        let fake = &workspace.cluster.settings.images.agent_fake;
        let runtime = objects::runtime("house", fake)
            .set("/spec/provider", "custom")
            .set("/spec/family", "StreamJson")
            .set("/spec/command", json!(["fake-agent"]));
        workspace
            .prepare_with(&runtime, &objects::agent(objects::AGENT, "house"))
            .await?;
        wait::object(
            &workspace.api(),
            "house",
            "its program is found",
            USUAL,
            |found: Option<&Runtime>| {
                let found = found.filter(|found| text(*found, "/status/cli/finding").is_ok())?;
                let (_, said) = condition(found, "Ready")?;
                (said == "Ready").then_some(())
            },
        )
        .await?;

        let first = Script::new().remember("lantern").answer("Noted.");
        let first = workspace.run("first", "words", &first).await?;
        ensure!(is_true(&first, "Succeeded"), "{:?}", first.status);
        let conversation = workspace.conversation_of(&first).await?;
        let session = workspace
            .api::<AgentSession>()
            .get(&text(&first, "/status/sessionName")?)
            .await?;
        let provider = text(&session, "/status/providerSession/provider")?;
        assert_eq!(provider, "custom-stream-json");

        let second = Script::new().run("echo scripted-42").recall();
        let second = workspace.run("second", "words", &second).await?;
        ensure!(is_true(&second, "Succeeded"), "{:?}", second.status);
        assert_eq!(text(&second, "/status/result/summary")?, "lantern");
        let again = workspace.conversation_of(&second).await?;
        assert_eq!(again, conversation, "another conversation");
        Ok(())
    })
    .await
}
