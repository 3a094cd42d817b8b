//! A person writes to an agent alone: the answer is the last text of its run, the next message resumes it in a new
//! pod, and nobody else reads along. A sentence becomes an issue, or comes back.

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use crds::names::task_name;
use e2e::objects::{at, text};
use e2e::script::Script;
use e2e::{Person, Workspace, objects, story};
use protocol::TaskId;
use protocol::board::{
    ChatMessage, ChatMessageKind, ChatSent, InboxEntry, InboxKind, Issue, Page, QuickIssue,
    SavedIssue, WakeVerdict,
};

fn queued(sent: &ChatSent) -> Result<TaskId> {
    match &sent.wake.verdict {
        WakeVerdict::Queued { task: Some(task) } => Ok(*task),
        verdict @ (WakeVerdict::Queued { task: None }
        | WakeVerdict::Coalesced { .. }
        | WakeVerdict::Deferred { .. }
        | WakeVerdict::Steered { .. }
        | WakeVerdict::Blocked { .. }) => anyhow::bail!("not queued: {verdict:?}"),
    }
}

/// The AgentTask of the worker's task, once it is over.
async fn finished(workspace: &Workspace, id: TaskId) -> Result<AgentTask> {
    let name = task_name(objects::AGENT, &id.to_string())?;
    workspace.finished(name.as_str()).await
}

async fn newest(person: &Person, chat: &str) -> Result<ChatMessage> {
    let page: Page<ChatMessage> = person.ask(&["chat", "show", chat]).await?;
    page.items.into_iter().next().context("no message")
}

#[tokio::test]
async fn a_chat_goes_on_in_a_new_pod_and_is_seen_by_nobody_else() -> Result<()> {
    story("chat", async |workspace| {
        workspace.prepare().await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        let eve = Person::with_role(workspace, "eve", "admin").await?;
        for person in [&ada, &eve] {
            person.login().await?;
        }
        let hidden: SavedIssue = ada.ask(&["issue", "create", "--title", "Hidden"]).await?;
        let key = hidden.issue.key.to_string();

        let first = Script::new()
            .remember("porpoise")
            .run(&format!(
                "moor chat show; moor issue get {key}; echo ended with $?"
            ))
            .answer("It is a boat.");
        let sent: ChatSent = ada
            .ask(&[
                "chat",
                "start",
                "--agent",
                objects::AGENT,
                "--body",
                &first.prompt(),
            ])
            .await?;
        let chat = sent.chat.id.to_string();
        let id = queued(&sent)?;
        let task = finished(workspace, id).await?;
        ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
        assert_eq!(at(&task, "/spec/cause/kind"), "Chat");
        // The object shows that it ran, and not what was said.
        ensure!(at(&task, "/status/result").is_null(), "{:?}", task.status);
        let pod = text(&task, "/status/attempts/0/podUid")?;
        let answer = newest(&ada, &chat).await?;
        assert_eq!(
            (answer.kind, answer.body.as_str(), answer.task),
            (ChatMessageKind::Message, "It is a boat.", Some(id))
        );
        let happened = ada.moor(&["task", "logs", &id.to_string()]).await?;
        ensure!(
            happened.contains("ended with 5"),
            "it sees the issue: {happened}"
        );
        for asked in [
            vec!["chat", "show", &chat],
            vec!["task", "logs", &id.to_string()],
        ] {
            let refused = eve.moor(&asked).await;
            ensure!(refused.is_err(), "{asked:?}: {refused:?}");
        }

        let second = Script::new().recall();
        let sent: ChatSent = ada
            .ask(&["chat", "send", &chat, "--body", &second.prompt()])
            .await?;
        let task = finished(workspace, queued(&sent)?).await?;
        ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
        assert_ne!(
            text(&task, "/status/attempts/0/podUid")?,
            pod,
            "not another pod"
        );
        assert_eq!(at(&task, "/status/resumed/session/answer"), "Yes");
        let answer = newest(&ada, &chat).await?;
        ensure!(
            answer.body.contains("porpoise"),
            "it has forgotten: {answer:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_sentence_becomes_an_issue_or_comes_back() -> Result<()> {
    story("quick", async |workspace| {
        workspace.prepare().await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        ada.login().await?;
        let makes = Script::new()
            .run("moor issue create --title 'Close the roof' --description 'It is open.'");
        let asked: QuickIssue = ada
            .ask(&["issue", "quick", "--agent", objects::AGENT, &makes.prompt()])
            .await?;
        let task = finished(workspace, asked.task).await?;
        assert_eq!(at(&task, "/spec/cause/kind"), "QuickIssue");
        let id = asked.task.to_string();
        let made: QuickIssue = ada.ask(&["issue", "quick", "--task", &id]).await?;
        let key = made.issue.context("it has made no issue")?.to_string();
        let issue: Issue = ada.ask(&["issue", "get", &key]).await?;
        assert_eq!(
            (issue.title.as_str(), issue.creator.id.as_str()),
            ("Close the roof", objects::AGENT)
        );
        let told = inbox(&ada).await?;
        assert_eq!(
            (told[0].kind, told[0].issue.clone()),
            (InboxKind::IssueMade, Some(issue.key))
        );

        let makes_none = Script::new().answer("I would rather not.").prompt();
        let asked: QuickIssue = ada
            .ask(&["issue", "quick", "--agent", objects::AGENT, &makes_none])
            .await?;
        finished(workspace, asked.task).await?;
        let told = inbox(&ada).await?;
        assert_eq!(
            (told[0].kind, told[0].text.as_deref(), told[0].task),
            (
                InboxKind::Failure,
                Some(makes_none.as_str()),
                Some(asked.task)
            )
        );
        Ok(())
    })
    .await
}

async fn inbox(person: &Person) -> Result<Vec<InboxEntry>> {
    let page: Page<InboxEntry> = person.ask(&["inbox", "list"]).await?;
    Ok(page.items)
}
