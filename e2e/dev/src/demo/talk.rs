//! The second part of the story: a person writes a comment that mentions the agent, and it answers in the thread.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cluster::{Cluster, command};
use serde_json::Value;

use super::Teller;
use super::objects::{NAMESPACE, Objects, condition, text};

/// Who speaks.
const PERSON: &str = "ada";

/// `moor` on the laptop of a person.
pub(super) struct Person {
    moor: PathBuf,
    kubeconfig: PathBuf,
    config: PathBuf,
}

impl Person {
    pub(super) fn new(cluster: &Cluster, moor: PathBuf) -> Result<Self> {
        let kubeconfig = cluster.person(PERSON, &[])?;
        Ok(Self {
            config: kubeconfig.with_extension("config"),
            moor,
            kubeconfig,
        })
    }

    /// What is typed before `moor` works for the person, for those who want to go on by hand.
    pub(super) fn surroundings(&self) -> [String; 2] {
        [
            format!(
                "export KUBECONFIG={} XDG_CONFIG_HOME={}",
                self.kubeconfig.display(),
                self.config.display()
            ),
            format!(
                "alias moor='{} --workspace {NAMESPACE}'",
                self.moor.display()
            ),
        ]
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut moor = Command::new(&self.moor);
        moor.env("KUBECONFIG", &self.kubeconfig)
            .env("XDG_CONFIG_HOME", &self.config)
            .args(["--workspace", NAMESPACE])
            .args(arguments);
        command::capture(&mut moor)
    }

    /// The thread of an issue, as moor shows it.
    pub(super) fn show(&self, teller: &Teller, key: &str) -> Result<()> {
        teller.tell("the thread, as moor shows it:")?;
        for line in self.run(&["comment", "list", key])?.lines() {
            teller.add(&format!("│ {line}"))?;
        }
        Ok(())
    }

    pub(super) fn ask(&self, arguments: &[&str]) -> Result<Value> {
        let said = self.run(&[&["--output", "json"], arguments].concat())?;
        serde_json::from_str(&said).context("read the answer of moor")
    }
}

/// Logs in, makes an issue, mentions the agent, and asks again.
pub(super) fn tell(
    teller: &Teller,
    objects: &Objects<'_>,
    person: &Person,
    examples: &Path,
    word: &str,
) -> Result<()> {
    teller.title("A person: moor login with a kubeconfig, an issue, a mention")?;
    let example = |file: &str| {
        let path = examples.join(file);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    objects.apply(&example("person.yaml")?)?;
    person.run(&["login"])?;
    teller.tell(&format!(
        "{PERSON} is logged in; no cluster credential has left the machine"
    ))?;
    let made = person.ask(&["issue", "create", "--title", "The basement is wet"])?;
    let key = text(&made, "/issue/key").to_owned();
    teller.tell(&format!("issue {key} is made"))?;

    let mention = example("mention.md")?.replace("${ISSUE}", &key);
    let posted = person.ask(&[
        "comment",
        "add",
        &key,
        "--body",
        &mention.replace("${WORD}", word),
    ])?;
    let root = text(&posted, "/comment/id").to_owned();
    let first = follow(teller, objects, &posted)?;

    let reply = example("reply.md")?;
    let posted = person.ask(&["comment", "add", &key, "--parent", &root, "--body", &reply])?;
    let second = follow(teller, objects, &posted)?;

    person.show(teller, &key)?;
    let resumed = text(&second, "/status/resumed/session/answer");
    let summary = text(&second, "/status/result/summary");
    teller.add(&format!(
        "the conversation went on: {resumed}; the agent said: {summary}"
    ))?;
    if text(&first, "/status/attempts/0/podUid") == text(&second, "/status/attempts/0/podUid") {
        bail!("the second task ran in the pod of the first");
    }
    if !summary.contains(word) {
        bail!("the agent does not know the word any more");
    }
    Ok(())
}

/// Waits for the end of the task that a comment has queued.
pub(super) fn follow(teller: &Teller, objects: &Objects<'_>, posted: &Value) -> Result<Value> {
    let task = text(posted, "/wakes/0/task").to_owned();
    if task.is_empty() {
        bail!("the comment woke nobody: {}", posted["wakes"]);
    }
    teller.tell(&format!("the comment is stored and has queued task {task}"))?;
    let ended = objects.until("the task is finished", |objects| {
        let tasks = objects.list("agenttasks")?;
        let ours = tasks
            .into_iter()
            .find(|found| text(found, "/status/taskId") == task);
        Ok(ours.filter(|found| condition(found, "Finished").0 == "True"))
    })?;
    let (succeeded, reason) = condition(&ended, "Succeeded");
    let name = text(&ended, "/metadata/name");
    teller.tell(&format!(
        "AgentTask {name}: Succeeded={succeeded} ({reason})"
    ))?;
    if succeeded != "True" {
        bail!(
            "the task failed: {}",
            text(&ended, "/status/failure/message")
        );
    }
    Ok(ended)
}
