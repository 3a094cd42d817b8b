//! Someone mentions a team: its leader wakes, knows whom it leads, asks a member, and hears how that went, as leader.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use crds::{AgentTask, AgentTeam};
use e2e::objects::{at, draft};
use e2e::script::{Script, shell};
use e2e::wait::USUAL;
use e2e::{Person, objects, story, wait};
use protocol::board::{Comment, Page, Posted, RecipientKind, SavedIssue, TeamView};
use serde_json::json;

const HELPER: &str = "helper";
const TEAM: &str = "core";
/// What only a leader is told, and what only the roster says.
const LEADS: &str = "This run is for the team \\\"The Core\\\"";
const ROLE: &str = "finds out colours";

#[tokio::test]
async fn a_mention_of_a_team_wakes_its_leader_who_asks_a_member_and_hears_of_it() -> Result<()> {
    story("team", async |workspace| {
        workspace.prepare().await?;
        workspace
            .create_object(&objects::agent(HELPER, objects::RUNTIME))
            .await?;
        workspace
            .create_object(&draft::<AgentTeam>(json!({
                "apiVersion": "mooring.dev/v1alpha1",
                "kind": "AgentTeam",
                "metadata": {"name": TEAM},
                "spec": {
                    "displayName": "The Core",
                    "leader": objects::AGENT,
                    "members": [{"agent": HELPER, "role": ROLE}],
                    "instructions": "Ask before you guess.",
                },
            })))
            .await?;
        let is_ready = |team: Option<&AgentTeam>| team.filter(|team| objects::is_true(*team, "Ready")).cloned();
        wait::object(&workspace.api(), TEAM, "is ready", USUAL, is_ready).await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        ada.login().await?;
        let shown: TeamView = ada.ask(&["team", "get", TEAM]).await?;
        assert_eq!((shown.card.leader.as_str(), shown.members[0].role.as_str()), (objects::AGENT, ROLE));
        let created: SavedIssue = ada.ask(&["issue", "create", "--title", "Paint the boat"]).await?;
        let key = created.issue.key.to_string();
        let tasks = workspace.record::<AgentTask>().await?;

        let answer = Script::new().run(&format!("moor comment add {key} --body 'It is blue.'"));
        let question = format!("@{HELPER} which colour?\n\n{}", answer.prompt());
        // It asks only when it was told whom it leads. The brackets keep the words from finding themselves.
        let ask = Script::new().run(&format!(
            "grep -rq 'finds[ ]out colours' \"$HOME\" && moor team get {TEAM} && moor comment add {key} --body {}",
            shell(&question)
        ));
        let asking = format!("@{TEAM} please:\n\n```\n{}\n```\n", ask.prompt());
        let posted: Posted = ada.ask(&["comment", "add", &key, "--body", &asking]).await?;
        let [wake] = &posted.wakes[..] else {
            anyhow::bail!("not one recipient: {:?}", posted.wakes)
        };
        assert_eq!(
            (wake.recipient.kind, wake.recipient.id.as_str(), wake.executes.as_deref()),
            (RecipientKind::Team, TEAM, Some(objects::AGENT))
        );

        let led = tasks.over_of(objects::AGENT, 1).await?;
        ensure!(objects::is_true(&led, "Succeeded"), "{:?}", led.status);
        let helped = tasks.over_of(HELPER, 1).await?;
        ensure!(objects::is_true(&helped, "Succeeded"), "{:?}", helped.status);
        let back = tasks.over_of(objects::AGENT, 2).await?;
        assert_eq!(at(&back, "/spec/cause/kind"), "Comment");
        let thread = ["comment", "list", &key, "--thread", &posted.comment.id.to_string()];
        let said: Page<Comment> = ada.ask(&thread).await?;
        let said: Vec<(&str, &str)> = said.items[1..]
            .iter()
            .map(|comment| (comment.author.id.as_str(), comment.body.lines().next().unwrap_or_default()))
            .collect();
        assert_eq!(
            said,
            [
                (objects::AGENT, "[@Worker](mention://agent/helper) which colour?"),
                (HELPER, "It is blue."),
            ]
        );
        // Both times as leader; the member was told nothing of it.
        assert_eq!(times(&workspace.folder_of(&back).await?, LEADS)?, 2);
        assert_eq!(times(&workspace.folder_of(&helped).await?, LEADS)?, 0);
        Ok(())
    })
    .await
}

/// How often words stand in the conversations of a volume.
fn times(folder: &Path, words: &str) -> Result<usize> {
    let mut found = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "jsonl") {
                found += fs::read_to_string(path)?.matches(words).count();
            }
        }
    }
    Ok(found)
}
