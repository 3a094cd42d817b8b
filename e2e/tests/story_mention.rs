//! Someone writes a comment that mentions an agent; it wakes in a pod, reads the issue itself, answers in the thread;
//! the next comment resumes it in a new pod with what is new and nothing else.

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use crds::names::task_name;
use e2e::objects::{at, text};
use e2e::script::{Script, shell};
use e2e::{Person, Workspace, objects, story};
use protocol::TaskId;
use protocol::board::{AuthorKind, Comment, Page, Posted, SavedIssue, WakeVerdict};

const HELPER: &str = "helper";
const WORKER: &str = "[Worker](mention://agent/worker)";

/// A comment that wakes the worker, with what the stand-in is to do. In code, where nobody is mentioned.
fn mention(script: &Script) -> String {
    format!("{WORKER} please:\n\n```\n{}\n```\n", script.prompt())
}

fn queued(posted: &Posted) -> Result<TaskId> {
    let [wake] = &posted.wakes[..] else {
        anyhow::bail!("not one recipient: {:?}", posted.wakes)
    };
    match &wake.verdict {
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

#[tokio::test]
async fn a_mention_wakes_an_agent_that_answers_in_the_thread() -> Result<()> {
    story("mention", async |workspace| {
        workspace.prepare().await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        ada.login().await?;
        let secret_place = "the description that no package holds";
        let created: SavedIssue = ada
            .ask(&[
                "issue",
                "create",
                "--title",
                "Fix the leak",
                "--description",
                secret_place,
            ])
            .await?;
        let key = created.issue.key.to_string();

        let first = Script::new()
            .remember("porpoise")
            .run(&format!(
                "moor issue get {key} && moor comment add {key} --body 'Found it.'"
            ))
            .answer("Done.");
        let posted: Posted = ada
            .ask(&["comment", "add", &key, "--body", &mention(&first)])
            .await?;
        let task = finished(workspace, queued(&posted)?).await?;
        ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
        let pod = text(&task, "/status/attempts/0/podUid")?;

        let answers = thread(&ada, &key, &posted.comment).await?;
        let [_, answer] = &answers[..] else {
            anyhow::bail!("not one answer: {answers:?}")
        };
        assert_eq!(
            (
                answer.author.kind,
                answer.author.id.as_str(),
                answer.body.as_str()
            ),
            (AuthorKind::Agent, objects::AGENT, "Found it.")
        );
        assert_eq!(
            answer.task.context("of no task")?.to_string(),
            text(&task, "/status/taskId")?
        );

        let second = Script::new().recall();
        let posted: Posted = ada
            .ask(&[
                "comment",
                "add",
                &key,
                "--parent",
                &posted.comment.id.to_string(),
                "--body",
                &mention(&second),
            ])
            .await?;
        let task = finished(workspace, queued(&posted)?).await?;
        ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
        assert_ne!(
            text(&task, "/status/attempts/0/podUid")?,
            pod,
            "not another pod"
        );
        assert_eq!(at(&task, "/status/resumed/session/answer"), "Yes");
        ensure!(
            text(&task, "/status/result/summary")?.contains("porpoise"),
            "it has forgotten"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_agent_that_is_mentioned_by_another_answers_it() -> Result<()> {
    story("delegate", async |workspace| {
        workspace.prepare().await?;
        workspace
            .create_object(&objects::agent(HELPER, objects::RUNTIME))
            .await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        ada.login().await?;
        let created: SavedIssue = ada
            .ask(&["issue", "create", "--title", "Ask a colleague"])
            .await?;
        let key = created.issue.key.to_string();
        let tasks = workspace.record::<AgentTask>().await?;

        let answer = Script::new().run(&format!("moor comment add {key} --body 'It is blue.'"));
        let question = format!(
            "[Helper](mention://agent/{HELPER}) which colour?\n\n{}",
            answer.prompt()
        );
        let ask = Script::new().run(&format!(
            "moor comment add {key} --body {}",
            shell(&question)
        ));
        let posted: Posted = ada
            .ask(&["comment", "add", &key, "--body", &mention(&ask)])
            .await?;
        let first = finished(workspace, queued(&posted)?).await?;
        ensure!(objects::is_true(&first, "Succeeded"), "{:?}", first.status);
        let helped = tasks.over_of(HELPER, 1).await?;
        assert_eq!(at(&helped, "/spec/cause/kind"), "Comment");

        // The colleague's answer is in the thread in which it was asked; whose wish it was is the person.
        let comments = thread(&ada, &key, &posted.comment).await?;
        let said: Vec<(&str, &str)> = comments[1..]
            .iter()
            .map(|comment| {
                (
                    comment.author.id.as_str(),
                    comment.body.lines().next().unwrap_or_default(),
                )
            })
            .collect();
        let asked = "[Helper](mention://agent/helper) which colour?";
        assert_eq!(said, [(objects::AGENT, asked), (HELPER, "It is blue.")]);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_last_part_that_is_done_wakes_who_has_the_whole() -> Result<()> {
    story("children", async |workspace| {
        workspace.prepare().await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        ada.login().await?;
        let tasks = workspace.record::<AgentTask>().await?;
        let whole: SavedIssue = ada
            .ask(&[
                "issue",
                "create",
                "--title",
                "Build a boat",
                "--assignee",
                objects::AGENT,
            ])
            .await?;
        let key = whole.issue.key.to_string();
        let given = tasks.over_of(objects::AGENT, 1).await?;
        assert_eq!(at(&given, "/spec/cause/kind"), "Assignment");

        let mut parts = Vec::new();
        for title in ["The hull", "The sail"] {
            let part: SavedIssue = ada
                .ask(&["issue", "create", "--title", title, "--parent", &key])
                .await?;
            parts.push(part.issue.key.to_string());
        }
        let [hull, sail] = &parts[..] else {
            anyhow::bail!("two parts")
        };
        let saved: SavedIssue = ada.ask(&["issue", "status", hull, "done"]).await?;
        ensure!(saved.wakes.is_empty(), "woken too early: {:?}", saved.wakes);
        let saved: SavedIssue = ada.ask(&["issue", "status", sail, "done"]).await?;
        ensure!(saved.wakes.len() == 1, "not woken: {:?}", saved.wakes);
        let woken = tasks.over_of(objects::AGENT, 2).await?;
        assert_eq!(
            (
                at(&woken, "/spec/cause/kind"),
                at(&woken, "/spec/cause/issue")
            ),
            ("Children".into(), key.into())
        );
        Ok(())
    })
    .await
}

async fn thread(person: &Person, key: &str, root: &Comment) -> Result<Vec<Comment>> {
    let page: Page<Comment> = person
        .ask(&["comment", "list", key, "--thread", &root.id.to_string()])
        .await?;
    Ok(page.items)
}
