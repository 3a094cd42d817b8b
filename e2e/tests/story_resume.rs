//! The conversation comes back: a second task on the same subject runs in a new pod on the same volume, and goes on
//! where the first stopped. And when it cannot come back, that is said and not faked.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use e2e::objects::{at, condition, text};
use e2e::script::Script;
use e2e::{Workspace, objects, store, story};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt as _;
use protocol::{EventBody, paths};

/// A word that nobody could guess.
fn word() -> Result<String> {
    let mut bytes = [0; 8];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(format!("w{}", hex::encode(bytes)))
}

fn remember(word: &str) -> Script {
    Script::new().remember(word).answer("Noted.")
}

fn succeeded(task: &AgentTask) -> Result<()> {
    let verdict = condition(task, "Succeeded");
    ensure!(
        verdict == Some(("True".to_owned(), "Succeeded".to_owned())),
        "{verdict:?}: {:?}",
        task.status
            .as_ref()
            .and_then(|status| status.failure.as_ref())
    );
    Ok(())
}

fn summary(task: &AgentTask) -> String {
    text(task, "/status/result/summary").unwrap_or_default()
}

/// The answer about one part of `status.resumed`; each must say what it rests on.
fn resumed(task: &AgentTask, part: &str) -> Result<String> {
    let evidence = text(task, &format!("/status/resumed/{part}/evidence"))?;
    ensure!(!evidence.is_empty(), "{part} has no evidence");
    text(task, &format!("/status/resumed/{part}/answer"))
}

fn pod_uid(task: &AgentTask) -> Result<String> {
    text(task, "/status/attempts/0/podUid")
}

#[tokio::test]
async fn a_second_task_goes_on_with_the_conversation() -> Result<()> {
    story("resume", async |workspace| {
        workspace.prepare().await?;
        let word = word()?;
        let first = workspace.run("first", "words", &remember(&word)).await?;
        succeeded(&first)?;
        ensure!(!summary(&first).contains(&word), "the first answer gives the word away");
        let claim = workspace.claim_of(&first).await?.uid();
        let conversation = workspace.conversation_of(&first).await?;
        only_the_conversation_holds(&word, &workspace.folder_of(&first).await?)?;

        // What the pod is given is shown before the agent recalls: environment, mounted files of ours, its own prompt.
        let second = Script::new()
            .run("env; cat /run/secrets/mooring/* /workspace/work/* /opt/mooring/etc/* 2>/dev/null; moor task get")
            .recall();
        let second = workspace.run("second", "words", &second).await?;
        succeeded(&second)?;
        ensure!(summary(&second).contains(&word), "it does not know the word: {}", summary(&second));
        assert_ne!(pod_uid(&second)?, pod_uid(&first)?, "not another pod");
        assert_eq!(workspace.claim_of(&second).await?.uid(), claim, "not the same volume");
        assert_eq!(workspace.conversation_of(&second).await?, conversation, "not the same conversation");
        for part in ["volume", "workdir", "session", "provider"] {
            assert_eq!(resumed(&second, part)?, "Yes", "{part}");
        }

        let id = store::task_id(&text(&second, "/status/taskId")?)?;
        let shown: Vec<String> = workspace
            .store()
            .await?
            .timeline(id)
            .await?
            .into_iter()
            .filter_map(|stored| match stored.event.body {
                EventBody::ToolResult { output, .. } => Some(output),
                EventBody::Text { .. }
                | EventBody::Thinking { .. }
                | EventBody::ToolUse { .. }
                | EventBody::Status { .. }
                | EventBody::Error { .. }
                | EventBody::Log { .. } => None,
            })
            .collect();
        ensure!(shown.iter().any(|output| output.contains(paths::ENV_API)), "the environment was not shown: {shown:?}");
        ensure!(!shown.iter().any(|output| output.contains(&word)), "the pod was told the word: {shown:?}");
        ensure!(
            !shown.iter().any(|output| output.contains("mrt_")),
            "the timeline holds the token: {shown:?}"
        );
        Ok(())
    })
    .await
}

/// Fails when a file outside of the CLI's own store holds the word: then recalling it would prove nothing.
fn only_the_conversation_holds(word: &str, volume: &Path) -> Result<()> {
    let mut folders = vec![volume.to_owned()];
    let mut in_home = false;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_type()?.is_file()
                && contains(&fs::read(entry.path())?, word.as_bytes())
            {
                let inside = entry.path().strip_prefix(volume)?.to_owned();
                ensure!(
                    inside.starts_with("home"),
                    "the word stands in {}",
                    inside.display()
                );
                in_home = true;
            }
        }
    }
    ensure!(in_home, "the conversation is not on the volume");
    Ok(())
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

#[tokio::test]
async fn what_cannot_come_back_is_said() -> Result<()> {
    story("noresume", async |workspace| {
        workspace.prepare().await?;
        tokio::try_join!(
            fresh(workspace),
            wiped(workspace),
            lost(workspace),
            required(workspace)
        )?;
        Ok(())
    })
    .await
}

async fn fresh(workspace: &Workspace) -> Result<()> {
    let word = word()?;
    let first = workspace.run("fresh-1", "fresh", &remember(&word)).await?;
    succeeded(&first)?;
    let before = workspace.conversation_of(&first).await?;
    let draft = objects::task("fresh-2", "fresh", &Script::new().recall())
        .set("/spec/session/policy", "Fresh");
    let second = workspace.run_task(&draft).await?;
    succeeded(&second)?;
    ensure!(
        !summary(&second).contains(&word),
        "a fresh conversation knows the word"
    );
    assert_ne!(workspace.conversation_of(&second).await?, before);
    assert_eq!(resumed(&second, "volume")?, "Yes", "the files stay");
    Ok(())
}

async fn wiped(workspace: &Workspace) -> Result<()> {
    let word = word()?;
    let first = workspace.run("wiped-1", "wiped", &remember(&word)).await?;
    succeeded(&first)?;
    let home = workspace.folder_of(&first).await?.join("home");
    for entry in fs::read_dir(&home)? {
        let path = entry?.path();
        if path.is_dir() {
            fs::remove_dir_all(path)?
        } else {
            fs::remove_file(path)?
        }
    }
    let required = objects::task("wiped-2", "wiped", &Script::new().recall())
        .set("/spec/session/policy", "Require");
    let required = workspace.run_task(&required).await?;
    assert_eq!(
        text(&required, "/status/failure/class")?,
        "SessionUnavailable"
    );
    assert_eq!(resumed(&required, "session")?, "No");

    let third = workspace
        .run("wiped-3", "wiped", &Script::new().recall())
        .await?;
    succeeded(&third)?;
    ensure!(
        !summary(&third).contains(&word),
        "it knows the word from elsewhere"
    );
    assert_eq!(resumed(&third, "volume")?, "Yes");
    assert_eq!(resumed(&third, "session")?, "No");
    Ok(())
}

async fn lose_claim(workspace: &Workspace, first: &AgentTask) -> Result<()> {
    let claim = workspace.claim_of(first).await?.name_any();
    workspace
        .delete_object::<PersistentVolumeClaim>(&claim)
        .await?;
    workspace
        .gone::<PersistentVolumeClaim>(&claim, e2e::wait::USUAL)
        .await
}

async fn lost(workspace: &Workspace) -> Result<()> {
    let word = word()?;
    let first = workspace.run("lost-1", "lost", &remember(&word)).await?;
    succeeded(&first)?;
    let claim = workspace.claim_of(&first).await?.uid();
    lose_claim(workspace, &first).await?;
    let second = workspace
        .run("lost-2", "lost", &Script::new().recall())
        .await?;
    succeeded(&second)?;
    ensure!(
        !summary(&second).contains(&word),
        "it knows the word from elsewhere"
    );
    assert_eq!(resumed(&second, "volume")?, "No");
    assert_ne!(workspace.claim_of(&second).await?.uid(), claim);
    Ok(())
}

async fn required(workspace: &Workspace) -> Result<()> {
    let first = workspace
        .run("required-1", "required", &remember("nothing"))
        .await?;
    succeeded(&first)?;
    lose_claim(workspace, &first).await?;
    let draft = objects::task("required-2", "required", &Script::new().recall())
        .set("/spec/session/policy", "Require");
    let second = workspace.run_task(&draft).await?;
    assert_eq!(
        condition(&second, "Succeeded"),
        Some(("False".to_owned(), "SessionUnavailable".to_owned()))
    );
    assert_eq!(at(&second, "/status/failure/class"), "SessionUnavailable");
    assert_eq!(resumed(&second, "volume")?, "No");
    Ok(())
}
