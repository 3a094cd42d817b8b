//! Measures what `operator/docs/figures.md` shows, on the running cluster, and prints it as Markdown.
//!
//! `cargo run -p e2e --bin figures`

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use e2e::audit::Entry;
use e2e::node::{self, Process};
use e2e::script::Script;
use e2e::wait::{Record, USUAL};
use e2e::{Cluster, Workspace, install, objects, operator};
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod, Secret};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

/// Runs of each kind; the middle one is shown.
const RUNS: usize = 5;
/// Long enough for a process to be looked at.
const WORK: u64 = 700;

#[tokio::main]
async fn main() -> Result<()> {
    let cluster = Cluster::connect().await?;
    Box::pin(install::ensure(&cluster)).await?;
    let workspace = Workspace::create(&cluster, "figures").await?;
    let table = Box::pin(measure(&workspace)).await;
    let removed = workspace.delete().await;
    std::io::stdout()
        .write_all(table?.as_bytes())
        .context("print the figures")?;
    removed
}

async fn measure(workspace: &Workspace) -> Result<String> {
    workspace.prepare().await?;
    let pods: Record<Pod> = workspace.record().await?;
    // The first pod of a namespace waits for its network policies; that is not what is measured.
    let sample = task_started(workspace, &pods, "warm", "warm").await?;
    let mut ours = Starts::default();
    let mut by_hand = Starts::default();
    let audit = workspace.cluster.audit();
    let mark = audit.mark()?;
    for run in 0..RUNS {
        let subject = format!("subject-{run}");
        ours.first.push(
            task_started(workspace, &pods, &format!("first-{run}"), &subject)
                .await?
                .took,
        );
        ours.existing.push(
            task_started(workspace, &pods, &format!("second-{run}"), &subject)
                .await?
                .took,
        );
    }
    let writes: Vec<Entry> = audit
        .of_user(operator::USER, mark)?
        .into_iter()
        .filter(Entry::is_write)
        .collect();
    for run in 0..RUNS {
        let claim = format!("by-hand-{run}");
        by_hand
            .first
            .push(pod_started(workspace, &sample.pod, &claim, true).await?);
        by_hand
            .existing
            .push(pod_started(workspace, &sample.pod, &claim, false).await?);
    }
    let mut text = String::from(
        "| created → process started | Mooring | same pod by hand | difference |\n| --- | --- | --- | --- |\n",
    );
    for (name, ours, by_hand) in [
        ("first volume", ours.first, by_hand.first),
        ("existing volume", ours.existing, by_hand.existing),
    ] {
        let (ours, by_hand) = (middle(ours), middle(by_hand));
        let difference = i128::try_from(ours.as_millis())? - i128::try_from(by_hand.as_millis())?;
        text += &format!(
            "| {name} | {} ms | {} ms | {difference:+} ms |\n",
            ours.as_millis(),
            by_hand.as_millis()
        );
    }
    text += &shown_writes(&writes, 2 * RUNS)?;
    text += &shown_memory(workspace, &sample).await?;
    text += &shown_sizes(workspace).await?;
    Ok(text)
}

#[derive(Default)]
struct Starts {
    first: Vec<Duration>,
    existing: Vec<Duration>,
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A task whose agent's process was seen.
struct Started {
    took: Duration,
    pod: Pod,
    runner_memory: String,
}

/// Runs a task to its end; `took` is from before its creation to the start of the agent's process.
async fn task_started(
    workspace: &Workspace,
    pods: &Record<Pod>,
    name: &str,
    subject: &str,
) -> Result<Started> {
    let draft =
        objects::task(name, subject, &Script::new().sleep(WORK).answer("Done.")).object()?;
    let created = uptime()?;
    let task: AgentTask = workspace
        .api()
        .create(&PostParams::default(), &draft)
        .await?;
    let since = Instant::now();
    let pod = pods
        .first("the task's pod", USUAL, |seen| {
            !seen.gone && seen.at >= since
        })
        .await?
        .object;
    let uid = pod.uid().context("a pod has a UID")?;
    let cli = node::process(&uid, "the agent's process", |process| {
        process.inner_id != 1 && process.command.contains("claude")
    })
    .await?;
    let took = start_of(&cli)?.saturating_sub(created);
    let runner = node::process(&uid, "the runner", |process| process.inner_id == 1).await?;
    let runner_memory = memory(&runner)?;
    let done = workspace.finished(&task.name_any()).await?;
    ensure!(objects::is_true(&done, "Succeeded"), "{:?}", done.status);
    workspace.gone::<Pod>(&pod.name_any(), USUAL).await?;
    Ok(Started {
        took,
        pod,
        runner_memory,
    })
}

/// Makes the same pod by hand, with a program that only waits in place of the runner.
async fn pod_started(
    workspace: &Workspace,
    sample: &Pod,
    claim: &str,
    first: bool,
) -> Result<Duration> {
    let mut pod = serde_json::to_value(sample)?;
    pod["metadata"] = json!({"name": "by-hand", "labels": {}});
    pod["status"] = Value::Null;
    pod["spec"]["nodeName"] = Value::Null;
    pod["spec"]["containers"][0]["command"] = json!(["sleep", "60"]);
    pod["spec"]["containers"][0]["args"] = Value::Null;
    pod["spec"]["terminationGracePeriodSeconds"] = json!(1);
    for volume in pod["spec"]["volumes"].as_array_mut().into_iter().flatten() {
        if volume["persistentVolumeClaim"].is_object() {
            volume["persistentVolumeClaim"]["claimName"] = json!(claim);
        }
        if volume["secret"].is_object() {
            volume["secret"]["secretName"] = json!("by-hand");
        }
    }
    let pod: Pod = serde_json::from_value(pod)?;
    let created = uptime()?;
    if first {
        workspace
            .api()
            .create(&PostParams::default(), &claim_by_hand(claim)?)
            .await?;
    }
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": "by-hand"}, "stringData": {"token": "none", "ca.crt": "none"}, "immutable": true,
    }))?;
    workspace
        .api::<Secret>()
        .create(&PostParams::default(), &secret)
        .await?;
    let made: Pod = workspace.api().create(&PostParams::default(), &pod).await?;
    let uid = made.uid().context("a pod has a UID")?;
    let process = node::process(&uid, "its process", |process| {
        process.command.starts_with("sleep")
    })
    .await?;
    let took = start_of(&process)?.saturating_sub(created);
    // Not by force: the next pod would wait for a volume that the kubelet still has to let go.
    let now = DeleteParams::default();
    workspace.api::<Pod>().delete("by-hand", &now).await?;
    workspace.gone::<Pod>("by-hand", USUAL).await?;
    workspace.delete_object::<Secret>("by-hand").await?;
    node::nothing_runs(&uid, USUAL).await?;
    Ok(took)
}

fn claim_by_hand(name: &str) -> Result<PersistentVolumeClaim> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "storageClassName": "local-path",
            "accessModes": ["ReadWriteOncePod"],
            "resources": {"requests": {"storage": "64Mi"}},
        },
    }))?)
}

/// The kernel's clock, in whose terms it says when a process started.
fn uptime() -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/uptime")?;
    let seconds: f64 = text
        .split_whitespace()
        .next()
        .context("an uptime")?
        .parse()?;
    Ok(Duration::from_secs_f64(seconds))
}

/// When a process started, in hundredths of a second.
fn start_of(process: &Process) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id))?;
    // The name in parentheses may hold anything; the 22nd field is the 20th after it.
    let fields = stat.rsplit_once(')').context("a stat line")?.1;
    let ticks: u64 = fields
        .split_whitespace()
        .nth(19)
        .context("a start time")?
        .parse()?;
    Ok(Duration::from_millis(ticks * 10))
}

fn memory(process: &Process) -> Result<String> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id))?;
    let field = |name: &str| -> Result<f64> {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .with_context(|| name.to_owned())?;
        Ok(line
            .split_whitespace()
            .next()
            .context("a number")?
            .parse::<f64>()?
            / 1024.0)
    };
    Ok(format!(
        "{:.1} MiB (most so far {:.1})",
        field("VmRSS:")?,
        field("VmHWM:")?
    ))
}

fn shown_writes(writes: &[Entry], tasks: usize) -> Result<String> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for write in writes {
        *counts
            .entry((write.resource(), write.verb.clone()))
            .or_default() += 1;
    }
    let per_task = |count: usize| -> Result<f64> {
        Ok(f64::from(u32::try_from(count)?) / f64::from(u32::try_from(tasks)?))
    };
    let mut text = format!(
        "\n| writes per task ({tasks} tasks, half of them with a new session) | |\n| --- | --- |\n"
    );
    for ((resource, verb), count) in counts {
        text += &format!("| {verb} {resource} | {:.2} |\n", per_task(count)?);
    }
    Ok(text + &format!("| all | {:.2} |\n", per_task(writes.len())?))
}

async fn shown_memory(workspace: &Workspace, sample: &Started) -> Result<String> {
    let uid = workspace
        .operator()
        .pod()
        .await?
        .uid()
        .context("a pod has a UID")?;
    let operator = node::process(&uid, "the operator", |_| true).await?;
    Ok(format!(
        "\n| memory | resident |\n| --- | --- |\n| operator | {} |\n| runner, during a turn | {} |\n",
        memory(&operator)?,
        sample.runner_memory
    ))
}

async fn shown_sizes(workspace: &Workspace) -> Result<String> {
    let mut text = String::from("\n| size | |\n| --- | --- |\n");
    let programs = &workspace.cluster.settings.programs;
    for path in [&programs.operator, &programs.runner, &programs.moor]
        .into_iter()
        .flatten()
    {
        text += &format!(
            "| program {} | {} |\n",
            file_name(path),
            mib(std::fs::metadata(path)?.len())
        );
    }
    let nodes = Api::<Node>::all(workspace.cluster.client.clone())
        .list(&ListParams::default())
        .await?;
    let images = &workspace.cluster.settings.images;
    let ours = [
        Some(&images.operator),
        Some(&images.runner),
        Some(&images.agent_fake),
        images.agent_claude.as_ref(),
        images.agent_codex.as_ref(),
        images.agent_pi.as_ref(),
        images.agent_acp.as_ref(),
        images.cli_claude.as_ref(),
    ];
    for reference in ours.into_iter().flatten() {
        let known = nodes.items.iter().flat_map(|node| {
            node.status
                .iter()
                .flat_map(|status| status.images.iter().flatten())
        });
        let size = known
            .into_iter()
            .find(|image| image.names.iter().flatten().any(|name| name == reference));
        let size = size
            .and_then(|image| image.size_bytes)
            .and_then(|bytes| u64::try_from(bytes).ok());
        let name = reference
            .rsplit('/')
            .next()
            .and_then(|name| name.split(':').next())
            .unwrap_or(reference);
        text += &format!(
            "| image {name}, compressed as the node has it | {} |\n",
            size.map_or("unknown".to_owned(), mib)
        );
    }
    Ok(text)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn mib(bytes: u64) -> String {
    format!(
        "{}.{} MiB",
        bytes / 1_048_576,
        bytes % 1_048_576 * 10 / 1_048_576
    )
}
