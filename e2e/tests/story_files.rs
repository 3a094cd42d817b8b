//! A project says what its issues are about; files lie on an issue; an agent sees both, and what it logs in with it
//! does not let out.

use anyhow::{Result, ensure};
use crds::AgentTask;
use crds::names::task_name;
use e2e::objects::{at, text};
use e2e::script::Script;
use e2e::store::task_id;
use e2e::wait::Record;
use e2e::{Person, objects, story};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::PostParams;
use protocol::board::{Attachment, Page, Posted, Project, SavedIssue, WakeVerdict};
use serde_json::json;

/// Nobody would guess it.
const PASSWORD: &str = "hunter2-of-the-git-server";

#[tokio::test]
async fn an_agent_works_with_the_files_and_repositories_of_its_issue() -> Result<()> {
    story("files", async |workspace| {
        workspace.prepare().await?;
        let secret: Secret = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git-app"},
            "type": "kubernetes.io/basic-auth", "stringData": {"username": "bot", "password": PASSWORD},
        }))?;
        workspace
            .api::<Secret>()
            .create(&PostParams::default(), &secret)
            .await?;
        let pods: Record<Pod> = workspace.record().await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        ada.login().await?;
        let repository = "app=https://git.example.com/app.git,branch=main,credentials=git-app";
        let project: Project = ada
            .ask(&["project", "create", "app", "--title", "The app", "--repository", repository])
            .await?;
        assert_eq!(project.repositories.len(), 1);
        let created: SavedIssue = ada
            .ask(&["issue", "create", "--title", "Copy a file", "--project", "app"])
            .await?;
        let key = created.issue.key.to_string();
        let file = std::env::temp_dir().join(format!("{key}.txt"));
        std::fs::write(&file, "what is to be copied\n")?;
        let path = file.to_string_lossy().into_owned();
        let added: Attachment = ada.ask(&["attachment", "add", &key, &path]).await?;
        std::fs::remove_file(&file)?;

        let work = format!(
            "moor attachment get {id} copy.txt && moor attachment add {key} copy.txt --name copy.txt && \
             moor repo list --quiet && cat /run/secrets/git/git-app/password && moor whoami",
            id = added.id
        );
        let script = Script::new().run(&work).answer("Done.");
        let body = format!("[Worker](mention://agent/worker) please:\n\n```\n{}\n```\n", script.prompt());
        let posted: Posted = ada.ask(&["comment", "add", &key, "--body", &body]).await?;
        let [wake] = &posted.wakes[..] else {
            anyhow::bail!("not one recipient: {:?}", posted.wakes)
        };
        let WakeVerdict::Queued { task: Some(id) } = &wake.verdict else {
            anyhow::bail!("not queued: {:?}", wake.verdict)
        };
        let name = task_name(objects::AGENT, &id.to_string())?;
        let task: AgentTask = workspace.finished(name.as_str()).await?;
        ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);

        let page: Page<Attachment> = ada.ask(&["attachment", "list", &key]).await?;
        let shown: Vec<_> = page
            .items
            .iter()
            .map(|each| (each.name.as_str(), each.sha256.as_str(), each.author.id.as_str()))
            .collect();
        let [_, copy] = &shown[..] else {
            anyhow::bail!("not two files: {shown:?}")
        };
        assert_eq!(*copy, ("copy.txt", added.sha256.as_str(), objects::AGENT));

        let uid = text(&task, "/status/attempts/0/podUid")?;
        let seen = pods
            .first("the pod", e2e::wait::USUAL, |seen| {
                seen.object.metadata.uid.as_deref() == Some(&*uid)
            })
            .await?;
        let volumes = at(&seen.object, "/spec/volumes").to_string();
        ensure!(volumes.contains("git-app"), "{volumes}");

        // The agent read the password and printed it; nobody else sees it.
        let store = workspace.store().await?;
        let timeline = store.timeline(task_id(&text(&task, "/status/taskId")?)?).await?;
        let said = serde_json::to_string(&timeline.iter().map(|each| &each.event.body).collect::<Vec<_>>())?;
        ensure!(said.contains("[redacted]") && !said.contains(PASSWORD), "{said}");
        Ok(())
    })
    .await
}
