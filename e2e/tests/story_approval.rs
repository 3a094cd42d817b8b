//! An agent asks before it uses a tool: a person sees it, decides after the operator was killed, and that is what happens.

use anyhow::{Result, bail, ensure};
use crds::names::task_name;
use crds::{Agent, AgentTask};
use e2e::objects::{is_true, text};
use e2e::script::Script;
use e2e::wait::USUAL;
use e2e::{Person, Workspace, objects, story, wait};
use protocol::TaskId;
use protocol::board::{
    Approval, ApprovalState, InboxEntry, InboxKind, Page, Posted, SavedIssue, WakeVerdict,
};
use serde_json::json;

/// Wakes the worker on a new issue with a script; the task.
async fn woken(ada: &Person, title: &str, script: &Script) -> Result<TaskId> {
    let created: SavedIssue = ada.ask(&["issue", "create", "--title", title]).await?;
    let key = created.issue.key.to_string();
    let body = format!(
        "[Worker](mention://agent/worker)\n\n```\n{}\n```\n",
        script.prompt()
    );
    let posted: Posted = ada.ask(&["comment", "add", &key, "--body", &body]).await?;
    match posted.wakes.first().map(|wake| &wake.verdict) {
        Some(WakeVerdict::Queued { task: Some(task) }) => Ok(*task),
        other => bail!("not queued: {other:?}"),
    }
}

/// Waits until the task says that it waits for somebody.
async fn waits(workspace: &Workspace, task: TaskId) -> Result<AgentTask> {
    let name = task_name(objects::AGENT, &task.to_string())?;
    workspace
        .task(name.as_str(), "waits for a human", USUAL, |task| {
            is_true(task, "WaitingForHuman")
        })
        .await
}

async fn finished(workspace: &Workspace, task: TaskId) -> Result<AgentTask> {
    let name = task_name(objects::AGENT, &task.to_string())?;
    workspace.finished(name.as_str()).await
}

/// The one that waits.
async fn pending(person: &Person) -> Result<Approval> {
    let page: Page<Approval> = person.ask(&["approval", "list"]).await?;
    let [one] = &page.items[..] else {
        bail!("not one approval: {:?}", page.items)
    };
    Ok(one.clone())
}

#[tokio::test]
async fn a_tool_waits_for_a_person() -> Result<()> {
    story("approval", async |workspace| {
        let (runtime, agent) = workspace.usual();
        let agent = agent.set("/spec/tools", json!({"requireApproval": ["Bash(touch:*)"]}));
        workspace.prepare_with(&runtime, &agent).await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        let eve = Person::with_role(workspace, "eve", "view").await?;
        ada.login().await?;
        eve.login().await?;

        let script = Script::new().run("touch approved; ls").answer("Done.");
        let task = woken(&ada, "Touch it", &script).await?;
        let seen = waits(workspace, task).await?;
        ensure!(
            format!("{:?}", seen.status).contains("ApprovalPending"),
            "{:?}",
            seen.status
        );
        let asked = pending(&ada).await?;
        assert_eq!(
            (asked.tool.as_str(), asked.state, asked.task),
            ("Bash", ApprovalState::Pending, task)
        );
        assert_eq!(asked.input["command"], "touch approved; ls");
        let inbox: Page<InboxEntry> = ada.ask(&["inbox", "list"]).await?;
        ensure!(
            inbox
                .items
                .iter()
                .any(|entry| entry.kind == InboxKind::Approval && entry.approval == Some(asked.id)),
            "{:?}",
            inbox.items
        );
        let id = asked.id.to_string();
        ensure!(
            eve.moor(&["approval", "approve", &id]).await.is_err(),
            "who may only look decided"
        );

        // The question lies in the store, and the answer does.
        workspace.operator().kill().await?;
        workspace.operator().ready().await?;
        let decided: Approval = ada
            .ask(&["approval", "approve", &id, "--reason", "go on"])
            .await?;
        assert_eq!(
            (decided.state, decided.by.as_deref()),
            (ApprovalState::Approved, Some("ada"))
        );
        let over = finished(workspace, task).await?;
        ensure!(is_true(&over, "Succeeded"), "{:?}", over.status);
        ensure!(!is_true(&over, "WaitingForHuman"), "{:?}", over.status);
        let said = ada.moor(&["task", "logs", &task.to_string()]).await?;
        ensure!(said.contains("approved by ada: go on"), "{said}");
        ensure!(
            ada.moor(&["approval", "deny", &id]).await.is_err(),
            "a second decision was taken"
        );

        let script = Script::new().run("touch denied; ls").answer("Done.");
        let task = woken(&ada, "Touch nothing", &script).await?;
        waits(workspace, task).await?;
        let id = pending(&ada).await?.id.to_string();
        ada.moor(&["approval", "deny", &id]).await?;
        let over = finished(workspace, task).await?;
        let said = ada.moor(&["task", "logs", &task.to_string()]).await?;
        ensure!(said.contains("denied by ada"), "{said}");
        let folder = workspace.folder_of(&over).await?;
        ensure!(
            !folder.join("work/denied").exists(),
            "it was touched all the same"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_agent_that_cannot_be_held_to_its_tools_waits() -> Result<()> {
    story("approval-loose", async |workspace| {
        let (runtime, agent) = workspace.usual();
        let runtime = runtime.set("/spec/provider", "acp");
        let agent = agent.set("/spec/tools", json!({"deny": ["Bash"]}));
        workspace.create_object(&runtime).await?;
        workspace.create_object(&agent).await?;
        let refused = wait::object(
            &workspace.api::<Agent>(),
            objects::AGENT,
            "says why",
            USUAL,
            |seen: Option<&Agent>| {
                let seen = seen?;
                let (_, reason) = objects::condition(seen, "Ready")?;
                (reason == "ToolsNotEnforced")
                    .then(|| text(seen, "/status/conditions/0/message").unwrap_or_default())
            },
        )
        .await?;
        ensure!(refused.contains("(acp)"), "{refused}");
        Ok(())
    })
    .await
}
