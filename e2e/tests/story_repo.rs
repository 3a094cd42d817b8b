//! `moor repo checkout` in a pod: the repository comes from a server that wants a password, on a branch of the agent's own;
//! what is not pushed is there in the next pod; and the password lies nowhere on the volume.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use crds::AgentTask;
use crds::names::task_name;
use e2e::objects::text;
use e2e::script::Script;
use e2e::server::{Plan, Server};
use e2e::store::task_id;
use e2e::{Person, Workspace, objects, story};
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use protocol::board::{Posted, Project, SavedIssue, WakeVerdict};
use serde_json::json;

/// Nobody would guess it.
const PASSWORD: &str = "hunter3-of-the-git-server";

#[tokio::test]
async fn an_agent_works_on_a_branch_of_the_projects_repository() -> Result<()> {
    story("repo", async |workspace| {
        let Some(image) = &workspace.cluster.settings.images.git_server else {
            println!("skipped: no image of a git server");
            return Ok(());
        };
        let server = Box::pin(Server::start(workspace, &git_server(image))).await?;
        let secret: Secret = serde_json::from_value(json!({
            "metadata": {"name": "git-app"}, "type": "kubernetes.io/basic-auth",
            "stringData": {"username": "bot", "password": PASSWORD},
        }))?;
        let secrets = workspace.api::<Secret>();
        secrets.create(&PostParams::default(), &secret).await?;
        let (runtime, agent) = workspace.usual();
        let runtime = runtime.set("/spec/network/allow", server.peers()).set(
            // The certificate is the server's own.
            "/spec/pod/env",
            json!([{"name": "GIT_SSL_NO_VERIFY", "value": "1"}]),
        );
        workspace.prepare_with(&runtime, &agent).await?;
        let ada = Person::with_role(workspace, "ada", "edit").await?;
        ada.login().await?;
        let repository = format!(
            "app=https://{}/app.git,branch=main,credentials=git-app",
            server.authority()
        );
        let _: Project = ada
            .ask(&["project", "create", "app", "--title", "The app", "--repository", &repository])
            .await?;
        let made: SavedIssue = ada
            .ask(&["issue", "create", "--title", "Say hello", "--project", "app"])
            .await?;
        let key = made.issue.key.to_string();

        let work = "set -e; at=$(moor repo checkout --quiet); cd $at; git branch --show-current; cat README; \
                    echo 'Hello.' >> README; git commit --quiet --all --message=Hello; git push --quiet origin HEAD; \
                    git ls-remote origin \"$(git branch --show-current)\"; echo 'Not committed.' >> README";
        let first = ask(workspace, &ada, &key, &Script::new().run(work)).await?;
        let said = timeline(workspace, &first).await?;
        ensure!(said.contains("The app."), "{said}");
        ensure!(said.contains("refs/heads/agent/worker/"), "nothing was pushed: {said}");

        let again = "set -e; moor repo checkout; cd $(moor repo checkout --quiet); git log --format=%s; cat README";
        let second = ask(workspace, &ada, &key, &Script::new().run(again)).await?;
        let said = timeline(workspace, &second).await?;
        for word in ["1 uncommitted changes", "Hello", "Not committed."] {
            ensure!(said.contains(word), "{word} is gone: {said}");
        }

        let folder = workspace.folder_of(&second).await?;
        ensure!(folder.join("work").is_dir(), "no volume at {}", folder.display());
        let holder = holder(&folder, PASSWORD.as_bytes())?;
        ensure!(holder.is_none(), "the password lies in {holder:?}");
        server.stop(workspace).await
    })
    .await
}

fn git_server(image: &str) -> Plan<'_> {
    Plan {
        name: "git",
        image,
        port: 8443,
        args: &[],
        env: json!([{"name": "GIT_USER", "value": "bot"}, {"name": "GIT_PASSWORD", "value": PASSWORD}]),
        files: json!({}),
    }
}

/// Mentions the agent, and waits for the end of its task.
async fn ask(
    workspace: &Workspace,
    person: &Person,
    key: &str,
    script: &Script,
) -> Result<AgentTask> {
    let body = format!(
        "[Worker](mention://agent/worker) please:\n\n```\n{}\n```\n",
        script.prompt()
    );
    let posted: Posted = person
        .ask(&["comment", "add", key, "--body", &body])
        .await?;
    let [wake] = &posted.wakes[..] else {
        bail!("not one recipient: {:?}", posted.wakes)
    };
    let WakeVerdict::Queued { task: Some(id) } = &wake.verdict else {
        bail!("not queued: {:?}", wake.verdict)
    };
    let name = task_name(objects::AGENT, &id.to_string())?;
    let task = workspace.finished(name.as_str()).await?;
    ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
    Ok(task)
}

/// What the task said and did, as JSON.
async fn timeline(workspace: &Workspace, task: &AgentTask) -> Result<String> {
    let id = task_id(&text(task, "/status/taskId")?)?;
    let timeline = workspace.store().await?.timeline(id).await?;
    let bodies: Vec<_> = timeline.iter().map(|each| &each.event.body).collect();
    Ok(serde_json::to_string(&bodies)?)
}

/// The first file below a folder that holds these bytes.
fn holder(folder: &Path, bytes: &[u8]) -> Result<Option<std::path::PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        let found = if kind.is_dir() {
            holder(&entry.path(), bytes)?
        } else if kind.is_file() {
            let content = fs::read(entry.path())?;
            let holds = content.windows(bytes.len()).any(|window| window == bytes);
            holds.then(|| entry.path())
        } else {
            None
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
