//! The story: a word is told to an agent, its pod goes away, and a new pod on the same volume still knows it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use cluster::images::Image;
use serde_json::Value;

use super::Teller;
use super::api::{Api, Copy};
use super::model;
use super::objects::{Objects, condition, is_owned_by, text};

/// What one task leaves behind for the next to be compared with.
struct Told {
    pod_uid: String,
    claim: String,
    claim_uid: String,
    summary: String,
}

/// Applies the example objects and runs both tasks. Gives back the word that the agent knows by now.
pub(super) fn tell(
    teller: &Teller,
    objects: &Objects<'_>,
    checkout: &Path,
    images: &[(&str, Image)],
    key: Option<&model::Key>,
) -> Result<String> {
    let examples = checkout.join("e2e/demo");
    let image = |wanted: &str| {
        let found = images.iter().find(|(name, _)| *name == wanted);
        found
            .map(|(_, image)| image.reference.clone())
            .with_context(|| format!("no image {wanted}"))
    };
    let (claude, model) = (image("agentClaude")?, image("scriptedModel")?);
    let word = word()?;
    let example = |file: &str| -> Result<String> {
        let path = examples.join(file);
        let yaml = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(yaml
            .replace("${AGENT_IMAGE}", &claude)
            .replace("${WORD}", &word))
    };

    teller.title("A workspace, a Runtime and an Agent (e2e/demo/*.yaml)")?;
    objects.apply(&example("workspace.yaml")?)?;
    let allow = model::provide(teller, objects, &examples, &model, key)?;
    objects.apply(&example("agent.yaml")?.replace("${ALLOW}", &allow))?;
    teller.tell("applied")?;

    teller.title("A first task: remember a word")?;
    teller.add(&format!("the word, made just now: {word}"))?;
    let first = task(teller, objects, &example("remember.yaml")?)?;

    teller.title("A second task on the same subject: which word?")?;
    let second = task(teller, objects, &example("recall.yaml")?)?;

    teller.title("What this shows")?;
    compare(teller, &first, &second, &word)?;
    Ok(word)
}

/// Creates a task and tells everything that happens until nothing of it is left but its volume.
fn task(teller: &Teller, objects: &Objects<'_>, yaml: &str) -> Result<Told> {
    let task = objects.create(yaml)?;
    let (name, uid) = (text(&task, "/metadata/name"), text(&task, "/metadata/uid"));
    teller.tell(&format!("AgentTask {name} is created"))?;

    let secret = objects.until("the task's Secret is there", |objects| {
        let found = objects
            .list("secrets")?
            .into_iter()
            .find(|secret| is_owned_by(secret, uid));
        found.map_or_else(|| not_ended(objects, name), |secret| Ok(Some(secret)))
    })?;
    let secret = text(&secret, "/metadata/name");
    teller.tell(&format!("Secret {secret} holds its token"))?;
    let copy = Copy::of(objects, secret)?;

    let pod_name = objects.until("the task has a pod", |objects| {
        let task = objects
            .find("agenttask", name)?
            .context("the task is gone")?;
        Ok(Some(text(&task, "/status/podName").to_owned()).filter(|pod| !pod.is_empty()))
    })?;
    let pod = objects.until("the pod is there", |objects| objects.find("pod", &pod_name))?;
    let api = Api::of(objects, &pod, &copy)?;
    let claim = claim_of(&pod)?;
    let claim_object = objects
        .find("pvc", &claim)?
        .context("the volume claim is there")?;
    teller.tell(&format!("Pod {pod_name} on volume claim {claim}"))?;

    objects.until("the agent runs", |objects| {
        let running = objects.find("pod", &pod_name)?.is_none_or(|pod| {
            pod.pointer("/status/containerStatuses/0/state/waiting")
                .is_none()
                && pod.pointer("/status/containerStatuses/0/state").is_some()
        });
        Ok(running.then_some(()))
    })?;
    teller.tell("the agent runs; its conversation, as kubectl logs shows it:")?;
    let alive = api.whoami(&copy)?;
    conversation(teller, objects, &pod_name)?;

    let ended = objects.until("the task is finished", |objects| {
        let task = objects
            .find("agenttask", name)?
            .context("the task is gone")?;
        Ok(Some(task).filter(|task| condition(task, "Finished").0 == "True"))
    })?;
    outcome(teller, &ended)?;
    let dead = api.whoami(&copy)?;
    teller.tell(&format!(
        "a kept copy of the token: {alive} while the task ran, {dead} now"
    ))?;
    objects.until("the Secret is gone", |objects| {
        Ok(objects.find("secret", secret)?.is_none().then_some(()))
    })?;
    teller.tell(&format!("Secret {secret} is gone"))?;
    objects.until("the pod is gone", |objects| {
        Ok(objects.find("pod", &pod_name)?.is_none().then_some(()))
    })?;
    teller.tell(&format!("Pod {pod_name} is gone; the volume stays"))?;
    if dead != "401" {
        bail!("the token of a finished task must be refused with 401, not answered with {dead}");
    }
    Ok(Told {
        pod_uid: text(&pod, "/metadata/uid").to_owned(),
        claim_uid: text(&claim_object, "/metadata/uid").to_owned(),
        claim,
        summary: text(&ended, "/status/result/summary").to_owned(),
    })
}

/// A task that ended before it had what we wait for is a failure that says why.
fn not_ended<T>(objects: &Objects<'_>, name: &str) -> Result<Option<T>> {
    let task = objects
        .find("agenttask", name)?
        .context("the task is gone")?;
    if condition(&task, "Finished").0 == "True" {
        bail!(
            "the task ended too early: {}",
            text(&task, "/status/failure/message")
        );
    }
    Ok(None)
}

fn claim_of(pod: &Value) -> Result<String> {
    let volumes = pod
        .pointer("/spec/volumes")
        .and_then(Value::as_array)
        .context("a pod has volumes")?;
    let claims = volumes
        .iter()
        .map(|volume| text(volume, "/persistentVolumeClaim/claimName"));
    claims
        .map(str::to_owned)
        .find(|claim| !claim.is_empty())
        .context("the pod has no volume claim")
}

/// Follows the pod's log to its end.
fn conversation(teller: &Teller, objects: &Objects<'_>, pod: &str) -> Result<()> {
    let mut follow = objects.kubectl();
    follow
        .args(["logs", "--follow", "--container=agent", pod])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut logs = follow
        .stderr(Stdio::null())
        .spawn()
        .context("follow the log")?;
    let output = logs.stdout.take().context("standard output was piped")?;
    for line in BufReader::new(output).lines() {
        teller.add(&format!("│ {}", line?))?;
    }
    // It may end because the pod was deleted in the meantime, which is how this story goes.
    logs.wait().map(drop).context("follow the log")
}

fn outcome(teller: &Teller, task: &Value) -> Result<()> {
    let (succeeded, reason) = condition(task, "Succeeded");
    teller.tell(&format!("finished: Succeeded={succeeded} ({reason})"))?;
    for part in ["volume", "workdir", "session", "provider"] {
        let found = task
            .pointer(&format!("/status/resumed/{part}"))
            .cloned()
            .unwrap_or_default();
        teller.add(&format!(
            "resumed {part:<9} {:<8} {}",
            text(&found, "/answer"),
            text(&found, "/evidence")
        ))?;
    }
    if succeeded != "True" {
        bail!("the task failed: {}", text(task, "/status/failure/message"));
    }
    Ok(())
}

fn compare(teller: &Teller, first: &Told, second: &Told, word: &str) -> Result<()> {
    let (first_pod, second_pod) = (&first.pod_uid, &second.pod_uid);
    teller.add(&format!("another pod:  {first_pod} → {second_pod}"))?;
    teller.add(&format!(
        "same volume:  {} ({})",
        second.claim, second.claim_uid
    ))?;
    teller.add(&format!("the answer:   {}", second.summary))?;
    if first_pod == second_pod {
        bail!("the second task ran in the pod of the first");
    }
    if first.claim_uid != second.claim_uid {
        bail!("the second task ran on another volume");
    }
    if !second.summary.contains(word) {
        bail!("the agent does not know the word any more");
    }
    Ok(())
}

/// A word that nobody can have written down before.
fn word() -> Result<String> {
    let random =
        fs::read_to_string("/proc/sys/kernel/random/uuid").context("read a random word")?;
    Ok(format!(
        "mooring-{}",
        random.trim().split('-').next().unwrap_or_default()
    ))
}
